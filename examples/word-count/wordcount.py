"""Count the words of a text."""

import re
from collections import Counter
from dataclasses import dataclass

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

STOP_WORDS = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "for", "in", "is", "it", "of", "on", "or",
     "that", "the", "to", "was", "with"}
)


@dataclass(frozen=True)
class Summary:
    """What a text is made of."""

    n_words: int
    n_different: int
    longest: str
    top: list[tuple[str, int]]


def words(text):
    """The words of a text, in order."""
    return [match.group() for match in WORD.finditer(text)]


def count(text, skip=frozenset()):
    """How often each word occurs in a text.

    Words in `skip` are left out.
    """
    counts = Counter()
    for word in words(text):
        if word.lower() in skip:
            continue
        counts[word] += 1
    return counts


def most_common(text, n=10):
    """The `n` most frequent words that are no stop words, with their counts.

    Words with equal counts come in alphabetical order.
    """
    counts = count(text, skip=STOP_WORDS)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ranked[:n]


def longest_word(text):
    """The longest word; the first of them if several are equally long."""
    return max(words(text), key=len, default="")


def summarise(text, n_top=3):
    """A summary of a text."""
    counts = count(text)
    return Summary(
        n_words=sum(counts.values()),
        n_different=len(counts),
        longest=longest_word(text),
        top=most_common(text, n_top),
    )


def report(text):
    """The summary as lines of text."""
    summary = summarise(text)
    lines = [
        f"words: {summary.n_words}",
        f"different: {summary.n_different}",
        f"longest: {summary.longest}",
    ]
    lines += [f"{n:5d}  {word}" for word, n in summary.top]
    return "\n".join(lines)
