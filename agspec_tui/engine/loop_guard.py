"""Ends a reply that only repeats itself.

A model that falls into a loop goes on until its budget is spent, and since a loop drafts itself it
does so fast. Two signs are looked for, in the committed tokens alone, so that a reply ends at the
same token with and without drafts:

- an exact period: the latest tokens are those of one period before, many times over;
- a near loop: over a long stretch, nearly every token is the one that the reply itself would draft,
  by going on from the last place that it said the same at. A counter that goes up is let pass.

Code repeats itself with good reason: tables, grids of zeros, lists of cases. So a period of few
distinct tokens must go on for longer than a sentence must, and what the prompt holds as it is being
said is a copy and no loop.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from agspec_tui.commands import Generate

_LONGEST = 256
"""Longest exact period, in tokens."""
_EVERY = 32
"""Tokens between two looks for an exact period."""
_ANCHOR = 16
"""Latest tokens that another place must share before it is looked at closer."""
_N_PERIODS = 4
"""Least repetitions of a period."""
_N_EXACT = 192
"""Least tokens that are repeated exactly."""
_N_PLAIN = 8
"""Distinct tokens up to which a period may be a row of a grid or a run of one character."""
_N_EXACT_PLAIN = 768
"""Least tokens that are repeated exactly by such a period."""
_WINDOW = 1536
"""Tokens over which a near loop must go."""
_N_HITS = int(0.99 * _WINDOW)
"""Of them, those that repeat the reply."""
_COPIED = 0.9
"""Share of them that the prompt may foretell, as often as it holds them, for a copy."""
_CONTEXT = 4
"""Tokens by which the place to go on from is found."""


@dataclass(frozen=True, slots=True)
class Loop:
    """What a reply fell into."""

    period: int
    """Tokens of what it repeats."""
    n_times: int
    """How often it said them, as far as was looked."""


class LoopGuard:
    """Follows one reply token by token."""

    def __init__(self, prompt: Sequence[int]) -> None:
        """Begin a reply.

        Args:
            prompt: ids of what it answers; kept, not copied.
        """
        self._prompt = prompt
        self._ids = array("i")
        self._hits = bytearray(_WINDOW)
        self._n_hits = 0
        self._source = -1
        self._last: dict[bytes, int] = {}

    def take(self, token: int) -> Loop | None:
        """A token was committed. Returns the loop that the reply is in, if it is."""
        self._follow(token)
        n = len(self._ids)
        if n % _EVERY or n < _N_EXACT:
            return None
        return self._exact_loop() or self._near_loop()

    def _follow(self, token: int) -> None:
        """Note the token, and whether the reply would have drafted it."""
        ids, source = self._ids, self._source
        hit = source >= 0 and ids[source] == token
        ids.append(token)
        place = (len(ids) - 1) % _WINDOW
        self._n_hits += hit - self._hits[place]
        self._hits[place] = hit
        context = ids[-_CONTEXT:].tobytes()
        if source >= 0:
            # Behind a miss too: one token in place of another leaves the rest as it was.
            source += 1
        if not hit:
            source = self._last.get(context, source)
        self._source = source
        self._last[context] = len(ids)

    def _exact_loop(self) -> Loop | None:
        ids = self._ids
        n = len(ids)
        tail = ids[-_LONGEST - _ANCHOR :]
        held, anchor = tail.tobytes(), tail[-_ANCHOR:].tobytes()
        width = tail.itemsize
        at = len(held) - len(anchor)
        while (at := held.rfind(anchor, 0, at + len(anchor) - 1)) >= 0:
            if at % width:
                continue
            period = len(tail) - _ANCHOR - at // width
            if ids[-4 * _ANCHOR :] != ids[-4 * _ANCHOR - period : n - period]:
                continue
            # A longer period with the same end is this one several times, or is seen next time.
            return self._loop_of(period)
        return None

    def _loop_of(self, period: int) -> Loop | None:
        """The loop of this period, if it has gone on for long enough."""
        ids = self._ids
        plain = len(set(ids[-period:])) <= _N_PLAIN
        needed = max(_N_PERIODS * period, _N_EXACT_PLAIN if plain else _N_EXACT)
        n = len(ids)
        if n < needed + period or ids[n - needed :] != ids[n - needed - period : n - period]:
            return None
        run = needed
        while run + period < n and ids[n - run - 1] == ids[n - run - 1 - period]:
            run += 1
        if self._is_in_prompt(ids[n - run - period :]):
            return None
        return Loop(period, run // period + 1)

    def _is_in_prompt(self, said: "array[int]") -> bool:
        """Whether the prompt holds these tokens in one piece."""
        held, sought = array("i", self._prompt).tobytes(), said.tobytes()
        at = held.find(sought)
        while at >= 0 and at % said.itemsize:
            at = held.find(sought, at + 1)
        return at >= 0

    def _near_loop(self) -> Loop | None:
        period = len(self._ids) - self._source
        if self._n_hits < _N_HITS or 2 * period > _WINDOW or self._is_copy():
            return None
        return Loop(period, _WINDOW // period + 1)

    def _is_copy(self) -> bool:
        """Whether the prompt, read once from its front, holds nearly all of the window."""
        places: dict[tuple[int, ...], list[int]] = {}
        prompt = self._prompt
        for end in range(_CONTEXT, len(prompt)):
            places.setdefault(tuple(prompt[end - _CONTEXT : end]), []).append(end)
        said = self._ids[-_WINDOW:].tolist()
        n_copied, source = 0, 0
        for index, token in enumerate(said):
            if source < len(prompt) and prompt[source] == token:
                n_copied += 1
                source += 1
                continue
            found = places.get(tuple(said[max(0, index + 1 - _CONTEXT) : index + 1]), [])
            next_one = bisect_left(found, source)
            source = found[next_one] if next_one < len(found) else source + 1
        return n_copied >= _COPIED * _WINDOW


def guard_of(command: Generate, prompt: Sequence[int]) -> LoopGuard | None:
    """The guard of a generation, if it has one; what is forced is said as it is.

    Args:
        command: what to generate.
        prompt: ids of its prompt, which end with what was said before it is gone on with.
    """
    if not command.loop_guard or command.forced:
        return None
    return LoopGuard(prompt[: len(prompt) - len(command.said)])
