"""The slow twin of the automaton: every answer by looking at every occurrence.

A text is a list of token ids; a negative id is a separator, which no match, group or copy holds.
"""

from collections.abc import Collection, Sequence


def occurrences(text: Sequence[int], part: Sequence[int]) -> list[int]:
    """End positions of a substring without separators, in order; none for the empty one."""
    m = len(part)
    if m == 0 or min(part) < 0:
        return []
    return [
        end for end in range(m - 1, len(text)) if list(text[end - m + 1 : end + 1]) == list(part)
    ]


def match_length(text: Sequence[int]) -> int:
    """Length of the longest suffix that also ends at an earlier position."""
    m = 0
    while m < len(text) and len(occurrences(text, text[len(text) - m - 1 :])) > 1:
        m += 1
    return m


def copy_start(text: Sequence[int]) -> int:
    """Start of the most frequent group of three behind that suffix, ties to the most recent.

    Without a full group: the most recent occurrence that is followed by a token; −1 if none is.
    """
    m = match_length(text)
    if m == 0:
        return -1
    starts = [end + 1 for end in occurrences(text, text[len(text) - m :])]
    starts = [start for start in starts if start < len(text) and text[start] >= 0]
    groups: dict[tuple[int, ...], list[int]] = {}
    for start in starts:
        group = tuple(text[start : start + 3])
        if len(group) == 3 and min(group) >= 0:
            groups.setdefault(group, []).append(start)
    if groups:
        return max(groups.values(), key=lambda found: (len(found), found[-1]))[-1]
    return max(starts, default=-1)


def match(text: Sequence[int]) -> tuple[int, int, int]:
    """Length of that suffix, its earlier occurrences, and those followed by the chosen group."""
    m = match_length(text)
    if m == 0:
        return 0, 0, 0
    suffix = list(text[len(text) - m :])
    start = copy_start(text)
    group = list(text[start : start + 3]) if start >= 0 else []
    full = len(group) == 3 and min(group) >= 0
    n_group = len(occurrences(text, suffix + group)) if full else 0
    return m, len(occurrences(text, suffix)) - 1, n_group


def copy(text: Sequence[int], start: int, k: int, *, self_reference: bool) -> list[int]:
    """Up to `k` tokens from `start` on; with self reference the text goes on with the copy."""
    copied: list[int] = []
    if start < 0:
        return copied
    while len(copied) < k:
        source = [*text, *copied] if self_reference else text
        position = start + len(copied)
        if position >= len(source) or source[position] < 0:
            break
        copied.append(source[position])
    return copied


def longest_known_suffix(documents: Sequence[Sequence[int]], read: Sequence[int]) -> list[int]:
    """The longest suffix of `read` that occurs in a document."""
    for m in range(len(read), 0, -1):
        part = list(read[len(read) - m :])
        if any(occurrences(document, part) for document in documents):
            return part
    return []


def follow_first(
    documents: Sequence[Sequence[int]], read: Sequence[int], k: int
) -> tuple[list[int], int, int]:
    """Tokens, document and offset behind the first occurrence of the longest known suffix."""
    return follow_live(documents, frozenset(), read, k)[1]


def follow_live(
    documents: Sequence[Sequence[int]], dead: Collection[int], read: Sequence[int], k: int
) -> tuple[int, tuple[list[int], int, int]]:
    """Match length; tokens, document and offset behind the match, while some documents are dead.

    A suffix is where it occurs first, in the order of the documents, if that one is live; else
    where it occurs last, if that one is; else it does not count, and the next shorter one does.
    """
    for m in range(len(read), 0, -1):
        part = list(read[len(read) - m :])
        places = [
            (number, end + 1)
            for number, document in enumerate(documents)
            for end in occurrences(document, part)
        ]
        for number, start in places[:1] + places[-1:]:
            if number not in dead:
                ids = copy(documents[number], start, k, self_reference=False)
                return m, (ids, number, start) if ids else ([], -1, 0)
    return 0, ([], -1, 0)
