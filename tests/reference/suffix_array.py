"""The slow twin of the suffix array: sorting by slices, every answer by looking at every suffix.

A text is a list of token ids; a negative id is a separator, which no match, group or copy holds.
"""

from collections.abc import Sequence

from tests.reference.automaton import copy, occurrences

MOST_MATCHED = 252
MOST_SHARED = 255


def order(text: Sequence[int]) -> list[int]:
    """Positions in the order of their suffixes, each read up to its first separator."""

    def key(start: int) -> list[tuple[int, int]]:
        symbols = []
        for position in range(start, len(text)):
            if text[position] < 0:
                return [*symbols, (0, position)]
            symbols.append((1, text[position]))
        return symbols

    return sorted(range(len(text)), key=key)


def shared(text: Sequence[int], positions: Sequence[int]) -> list[int]:
    """Leading tokens that each suffix has in common with the one before it, at most 255."""
    found = [0] * len(text)
    for i in range(1, len(text)):
        a, b, n = positions[i - 1], positions[i], 0
        while max(a, b) + n < len(text) and text[a + n] == text[b + n] and text[a + n] >= 0:
            n += 1
        found[i] = min(n, MOST_SHARED)
    return found


def match(text: Sequence[int], read: Sequence[int]) -> list[int]:
    """The longest suffix of the last 252 tokens read that occurs in the text."""
    for m in range(min(len(read), MOST_MATCHED), 0, -1):
        part = list(read[len(read) - m :])
        if occurrences(text, part):
            return part
    return []


def draft(text: Sequence[int], part: Sequence[int], k: int) -> tuple[list[int], int]:
    """Up to `k` tokens of the most frequent group of three behind `part`, and their position.

    Ties go to the largest position. Without a full group: the last occurrence that is followed by
    a token; ([], -1) if none is.
    """
    starts = [end + 1 for end in occurrences(text, part)]
    starts = [start for start in starts if start < len(text) and text[start] >= 0]
    groups: dict[tuple[int, ...], list[int]] = {}
    for start in starts:
        group = tuple(text[start : start + 3])
        if len(group) == 3 and min(group) >= 0:
            groups.setdefault(group, []).append(start)
    best = max(starts, default=-1)
    if groups:
        best = max(groups.values(), key=lambda found: (len(found), found[-1]))[-1]
    if best < 0 or k < 1:
        return [], -1
    return copy(text, best, k, self_reference=False), best
