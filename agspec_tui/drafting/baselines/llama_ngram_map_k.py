"""`llama-ngram-map-k`: llama.cpp's self-speculation with a hash map (b11434, its defaults)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from agspec_tui.drafting.baselines.context_drafter import ContextDrafter, Copy
from agspec_tui.drafting.context_text import ContextText
from agspec_tui.drafting.types import Ids, Piece

_N_MATCH = 12
_N_MOST = 48
_REACH = _N_MATCH + _N_MOST + 1
"""A run of 12 tokens counts only if it begins this far before the newest token, or farther."""
_SHORTEST = 2 * _N_MATCH + _N_MOST
_N_SLOTS = 1 << 18
_FACTOR = 2654435761
_MASK = (1 << 32) - 1
_FEW = 8
"""Positions up to which a loop is faster than an array operation."""


@dataclass(slots=True)
class _Key:
    """A run of 12 tokens that was drafted from."""

    position: int
    """Where it stood in the context when it was first found."""
    n_most: int = _N_MOST
    """Most tokens proposed after it: what was accepted the last time."""


@dataclass(slots=True)
class _Sequence:
    """What is kept for one sequence, as llama.cpp keeps it for one slot of its server."""

    text: ContextText = field(default_factory=ContextText)
    """Its context."""
    position_of: npt.NDArray[np.uint32] = field(
        default_factory=lambda: np.zeros(_N_SLOTS, dtype=np.uint32)
    )
    """Hash of 12 tokens to where they stand; 0 is free. Shape (2^18,)."""
    indexed_to: int = 0
    """Position of the last run in the hash map."""
    keys: list[_Key] = field(default_factory=list)
    """Runs that were drafted from, in the order of their first use."""
    key_of: dict[bytes, _Key] = field(default_factory=dict)
    """The first of `keys` whose position holds these tokens now."""
    n_begin: int = 0
    """Ids of the last prompt."""
    n_checked: int = 0
    """Ids before the newest one when a draft was last looked for."""
    used: _Key | None = None
    """What the present draft was copied from."""


class LlamaNgramMapK(ContextDrafter):
    """Copies up to 48 tokens behind an earlier occurrence of the last 12.

    Every sequence has a map of its own, as every slot of llama.cpp's server has. The rules there,
    kept with their defects:
      - nothing is proposed before the first generated token, nor while the context has fewer than
        72 tokens before the newest one; an occurrence must have all 48 tokens behind it;
      - a hash slot keeps the position that came first, so that stale copies are preferred, and two
        runs with one hash hide each other;
      - the last 61 positions of a prompt are not indexed while its reply is generated;
      - the number of tokens accepted after a run caps the next draft after it, so that the cap only
        shrinks, also by drafts that the engine cut, and one draft without an accepted token
        silences the run for good;
      - positions stay in the map when a prompt departs from the context but is no shorter;
      - the least number of hits is not looked at.
    """

    name = "llama-ngram-map-k"
    steady = False

    def __init__(self) -> None:
        """Make one without sequences."""
        super().__init__()
        self._sequences: dict[str, _Sequence] = {}
        self._now = _Sequence(self._text)

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """The prompt becomes the context of its sequence.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        self._now = self._sequences.setdefault(sequence, _Sequence())
        self._text = self._now.text
        super().begin(sequence, pieces)

    def reset(self) -> None:
        """Drop every sequence."""
        super().reset()
        self._sequences.clear()
        self._now = _Sequence(self._text)

    def _keep(self, n_kept: int) -> None:
        now, n_begin = self._now, len(self._text)
        if n_begin < now.n_checked:
            cut = now.n_begin
            if cut > n_begin:
                cut = max(0, n_begin - _N_MATCH - _N_MOST)
            now.position_of[now.position_of >= max(1, cut)] = 0
            now.indexed_to = max(0, cut - 1)
            now.keys = [key for key in now.keys if key.position < cut]
        now.n_begin = now.n_checked = n_begin
        now.used = None
        now.key_of = {}
        for key in now.keys:
            now.key_of.setdefault(self._gram(key.position), key)

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """What was accepted caps the next draft after the same 12 tokens."""
        if self._now.used is not None:
            self._now.used.n_most = n_accepted

    def _gram(self, position: int) -> bytes:
        return self._text.ids[position : position + _N_MATCH].tobytes()

    def _search(self) -> Copy | None:
        now = self._now
        now.used = None
        n_before = len(self._text) - 1  # without the newest token, as the original counts
        if n_before < max(_SHORTEST, now.n_begin):
            return None
        now.n_checked = n_before
        newest = self._text.ids[-_N_MATCH:]
        position = self._locate(newest, n_before)
        # The prompt first, then the reply; each from its end, and a slot takes what comes first.
        self._index(now.indexed_to, now.n_begin - _REACH)
        self._index(max(now.indexed_to, now.n_begin), n_before - _REACH)
        now.indexed_to = max(now.indexed_to, n_before - _REACH)
        if position == 0:
            return None
        gram = newest.tobytes()
        key = now.key_of.get(gram)
        if key is None:
            key = _Key(position)
            now.keys.append(key)
            now.key_of[gram] = key
        now.used = key
        n_tokens = min(_N_MOST, key.n_most)
        return Copy(_N_MATCH, position + _N_MATCH, n_tokens) if n_tokens else None

    def _locate(self, newest: Ids, n_before: int) -> int:
        """Position of an earlier occurrence of the last 12 tokens; 0 for none."""
        now = self._now
        known = int(now.position_of[_hash(newest.tolist()) % _N_SLOTS])
        if 0 < known < n_before - _REACH and self._gram(known) == newest.tobytes():
            return known
        found = self._scan(newest, now.indexed_to, now.n_begin - _REACH)
        return found or self._scan(newest, max(now.indexed_to, now.n_begin), n_before - _REACH)

    def _scan(self, newest: Ids, after: int, last: int) -> int:
        """The last occurrence that begins behind `after` and not behind `last`; 0 for none."""
        if last - after <= _FEW:
            gram = newest.tobytes()
            return next((at for at in range(last, after, -1) if self._gram(at) == gram), 0)
        ids = self._text.ids
        starts = np.arange(after + 1, last + 1)
        for shift, token in enumerate(newest.tolist()):
            starts = starts[ids[starts + shift] == token]
        return int(starts[-1]) if len(starts) else 0

    def _index(self, after: int, last: int) -> None:
        """Put the runs that begin behind `after` and not behind `last` into free slots."""
        if last <= after:
            return
        position_of = self._now.position_of
        ids = self._text.ids[after + 1 : last + _N_MATCH]
        if last - after <= _FEW:
            tokens = ids.tolist()
            for start in range(last - after - 1, -1, -1):
                slot = _hash(tokens[start : start + _N_MATCH]) % _N_SLOTS
                if not position_of[slot]:
                    position_of[slot] = after + 1 + start
            return
        slots = np.zeros(last - after, dtype=np.uint32)
        for shift in range(_N_MATCH):
            slots = slots * np.uint32(_FACTOR & _MASK) + ids[shift : shift + len(slots)].view("u4")
        slots %= np.uint32(_N_SLOTS)
        free = np.flatnonzero(position_of[slots] == 0)
        # Of equal slots the last one assigned stays: the one nearest to the end.
        position_of[slots[free]] = free + (after + 1)


def _hash(ids: list[int]) -> int:
    value = 0
    for token in ids:
        value = (value * _FACTOR + token) & _MASK
    return value
