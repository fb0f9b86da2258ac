"""Which files refer to which: a graph over names, and how much of an interest flows along it."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np

from agspec_tui.session.tags import Tags, stems

_N_ROUNDS = 30
_DAMPING = 0.6
"""Share of a file's weight that flows on to the files it refers to."""
_N_MOST_DEFINERS = 5
"""A name that more files define says nothing about any of them."""
_EMPTY = frozenset(
    stems(
        "a an and are as at be but by can do does each for from has have how if in into is it its "
        "more no not of on one only or should than that the then there they this to was what when "
        "which with would"
    )
)
"""Words that say nothing about a file."""


def flow(tags: Mapping[str, Tags], start: Mapping[str, float]) -> dict[str, float]:
    """How much of the weight given to some files reaches each one along references.

    Personalised PageRank (Page et al. 1999): a walk starts at a file by its weight in `start` and
    goes on, with probability 0.6, from a file to one that defines a name it uses.

    Args:
        tags: names of every file.
        start: weights of files where the walk begins; at least one above 0, else nothing flows.

    Returns:
        The share of each file; they add up to 1, or are all 0.
    """
    paths = list(tags)
    index = {path: number for number, path in enumerate(paths)}
    begin = np.array([max(0.0, start.get(path, 0.0)) for path in paths])
    if not begin.sum():
        return dict.fromkeys(paths, 0.0)
    begin /= begin.sum()
    sources, targets, weights = _edges(tags, index)
    total = np.bincount(sources, weights, len(paths))
    share = weights / total[sources] if len(weights) else weights
    rank = begin.copy()
    for _ in range(_N_ROUNDS):
        along = np.bincount(targets, rank[sources] * share, len(paths))
        lost = rank[total == 0].sum()
        rank = (1 - _DAMPING) * begin + _DAMPING * (along + lost * begin)
    return dict(zip(paths, rank.tolist(), strict=True))


def _edges(
    tags: Mapping[str, Tags], index: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Source, target and weight of each edge."""
    definers: dict[str, list[int]] = defaultdict(list)
    for path, found in tags.items():
        for name in found.defined:
            definers[name].append(index[path])
    edges: dict[tuple[int, int], float] = defaultdict(float)
    for path, found in tags.items():
        here = index[path]
        for name, n_uses in found.used.items():
            there = definers.get(name, ())
            if not there or len(there) > _N_MOST_DEFINERS or here in there or len(name) < 3:
                continue
            for target in there:
                edges[here, target] += math.sqrt(n_uses) / len(there)
    ends = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1], np.array(list(edges.values()))


def likeness(tags: Mapping[str, Tags], text: str) -> dict[str, float]:
    """How much each file is about a text: Okapi BM25 over words, with k1 = 1.2 and b = 0.75.

    Words of a path count as often as they would if the file said them three times.
    """
    wanted = set(stems(text)) - _EMPTY
    bags = {
        path: Counter(found.words) + Counter(dict.fromkeys(stems(path), 3))
        for path, found in tags.items()
    }
    n_words = {path: sum(bag.values()) for path, bag in bags.items()}
    mean = sum(n_words.values()) / max(1, len(bags))
    n_having = {word: sum(word in bag for bag in bags.values()) for word in wanted}
    rarity = {word: math.log((len(bags) + 1) / (n + 0.5)) for word, n in n_having.items() if n}
    return {
        path: sum(
            weight * bag[word] / (bag[word] + 1.2 * (0.25 + 0.75 * n_words[path] / mean))
            for word, weight in rarity.items()
        )
        for path, bag in bags.items()
    }
