"""Cells of evidence: steps that look alike to a policy share their counts.

A cell is a bucket of the match length, of the share of the occurrences that go on as the draft
begins, of the number of occurrences, and the class of the corpus. On recorded sessions these four
said nearly all; roles, the position in the reply and how much had been copied of late added less
than half a per cent of speed.
"""

from bisect import bisect_left

from agspec_tui.policy.types import Evidence

_LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 24, 32, 48, 64, 96, 128, 256)
_SOURCES = ("session", "workspace", "global")
N_LENGTHS = len(_LENGTHS) + 2
"""Buckets of the match length; the first is for no match."""
N_SHARES = 6
"""Buckets of the share of the group; the first where there is nothing to compare."""
N_SEEN = 4
"""Buckets of the number of occurrences; the first where the corpus does not count."""
N_SOURCES = len(_SOURCES) + 1
"""Classes of corpora; the last holds all others."""
N_PARENTS = N_LENGTHS * N_SOURCES
"""Cells of match length and source alone."""
N_KEYS = N_PARENTS * N_SHARES * N_SEEN
"""Cells in all."""
NO_MATCH = 0
"""Key of a step without a match."""

_N_IN_PARENT = N_SHARES * N_SEEN
_SOURCE_CLASS = {name: index for index, name in enumerate(_SOURCES)}
_LONGEST = 512
_BUCKET = [0, *(1 + bisect_left(_LENGTHS, m) for m in range(1, _LONGEST + 1))]


def key_of(evidence: Evidence) -> int:
    """Key of the cell that the evidence lies in, 0 … `N_KEYS` − 1."""
    m = evidence.match_len
    if m < 1:
        return NO_MATCH
    n_seen = evidence.n_seen
    length = _BUCKET[m] if m < _LONGEST else N_LENGTHS - 1
    parent = length * N_SOURCES + _SOURCE_CLASS.get(evidence.source, N_SOURCES - 1)
    if n_seen < 2:
        return parent * _N_IN_PARENT + (1 if n_seen else 0)
    share = evidence.n_group / n_seen
    of_share = (
        1 if share > 0.95 else 2 if share > 0.7 else 3 if share > 0.4 else 4 if share > 0.15 else 5
    )
    of_seen = 1 if n_seen <= 3 else 2 if n_seen <= 10 else 3
    return (parent * N_SHARES + of_share) * N_SEEN + of_seen


def parent_of(key: int) -> int:
    """The cell of match length and source that a key lies in, 0 … `N_PARENTS` − 1."""
    return key // _N_IN_PARENT
