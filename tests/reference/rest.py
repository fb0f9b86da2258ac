"""The slow twin of the baseline `rest`: counts every beginning of every continuation by hand."""

from collections import Counter
from collections.abc import Sequence

MOST_HITS = 5000


def span_of(documents: Sequence[Sequence[int]], context: Sequence[int]) -> int:
    """The first span of 16, 15, …, 2 tokens that occurs in a document; 0 if none does."""
    for n in range(min(16, len(context)), 1, -1):
        if continuations(documents, context[len(context) - n :]):
            return n
    return 0


def continuations(documents: Sequence[Sequence[int]], span: Sequence[int]) -> list[list[int]]:
    """Up to 10 tokens behind each hit, in suffix order; a document's end is less than any token.

    Equal ends are in the order of the documents.
    """
    n = len(span)
    found = [
        (list(document[start + n :]), number)
        for number, document in enumerate(documents)
        for start in range(len(document) - n + 1)
        if list(document[start : start + n]) == list(span)
    ]
    return [rest[:10] for rest, _ in sorted(found)[:MOST_HITS]]


def draft(documents: Sequence[Sequence[int]], context: Sequence[int]) -> list[int]:
    """The path of the tree by the most frequent next node."""
    n = span_of(documents, context)
    found = continuations(documents, context[len(context) - n :]) if n else []
    counts = Counter(tuple(each[:i]) for each in found for i in range(1, len(each) + 1))
    first = {
        node: min(i for i, each in enumerate(found) if tuple(each[: len(node)]) == node)
        for node in counts
    }
    ranked = sorted(counts, key=lambda node: (-counts[node], len(node), first[node]))[:64]
    while sum(len(set(node)) for node in ranked) > 64:
        most = max(len(set(node)) for node in ranked)
        ranked.remove([node for node in ranked if len(set(node)) == most][-1])
    path: tuple[int, ...] = ()
    while below := [node for node in ranked if len(node) == len(path) + 1 and node[:-1] == path]:
        path = min(below, key=lambda node: (-counts[node], first[node]))
    return list(path)
