"""The key-value cache: which committed tokens each sequence has in it, and who makes room for whom.

Between steps a sequence's cells hold exactly its committed tokens but the newest one. Sequences
that generate now are busy; the others are kept for their prefixes and give way when room is needed,
the one that was used longest ago first, from its end.

A prefix that several prompts share is read once. Who begins forks it from whoever has it:

    planner  [ rules | repository | its task   | issue … ]
    coder    [ rules | repository ]╰─ its task | files …      one cell a token up to the fork
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agspec_tui.drafting.types import Piece
from agspec_tui.engine.cells import SharedCells
from agspec_tui.engine.prompt import piece_at
from agspec_tui.engine.sequence import Sequence, SequenceTable, n_common
from agspec_tui.engine.types import Backend, Cancelled
from agspec_tui.errors import EngineError

_MIN_REPLY = 64
"""Tokens of room below which a reply is not begun."""
_MIN_MORE = 2
"""Tokens of room below which a reply does not go on: a step takes one, and so does the next."""
GAVE_WAY = "room for another sequence"
"""What a report names instead of a message where cells had been given away."""
_WORTH_WAITING = 16
"""Tokens of a prefix for which one prompt waits while another one reads it."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A prompt that has its place in the cache."""

    sequence: Sequence
    """Its sequence, trimmed to what is reused."""
    broken_at: int
    """Position at which the prompt left the cached transcript; −1 if that only grew."""
    gave_way: bool
    """Whether the end of the cached transcript had made room for another sequence meanwhile."""

    @property
    def n_reused(self) -> int:
        """Leading tokens of the prompt that need not be read; grows while the sequence waits."""
        return self.sequence.n_reused

    def broken_by(self, pieces: Iterable[Piece]) -> str:
        """What broke the prefix: a message, or another sequence; empty if nothing did.

        Args:
            pieces: the prompt.
        """
        if self.broken_at >= 0:
            return piece_at(list(pieces), self.broken_at)
        return GAVE_WAY if self.gave_way else ""


class KvCache:
    """The cells of a backend, shared by all of its sequences."""

    def __init__(self, backend: Backend, n_slots: int) -> None:
        self._backend = backend
        self._table = SequenceTable(n_slots)
        self._cells = SharedCells()
        self._forks = True

    @property
    def n_used(self) -> int:
        """Cells that sequences hold, each counted once."""
        return self._cells.n_used({one.slot: len(one.tokens) for one in self._table})

    @property
    def rollback(self) -> bool:
        """Whether rejected tokens can be trimmed, as probed at load; if not, nothing is drafted."""
        return self._backend.n_rollback > 0

    @property
    def n_free(self) -> int:
        """Cells that no sequence holds and no prompt under way still needs."""
        return self._backend.n_ctx - self.n_used - self._n_promised()

    # ── a generation ─────────────────────────────────────────────────────────────────────────────

    def place(self, name: str, request: int, ids: list[int], n_said: int = 0) -> Placed | None:
        """Take the sequence of a name for a prompt, keeping what the cache has of the prompt.

        The sequence is busy from then on, until `release`. The last token of the prompt is never
        reused: the first step decodes it for its logits.

        Args:
            name: name of the sequence.
            request: number of the request.
            ids: token ids of the prompt.
            n_said: how many of them, the last ones, are of a reply that goes on.

        Returns:
            None if busy sequences leave no slot or no room for it now; try again when one ends.

        Raises:
            EngineError: the prompt and a short reply do not fit, whoever makes room.
        """
        n_reply = max(_MIN_REPLY - n_said, _MIN_MORE)
        if len(ids) + n_reply > self._backend.n_ctx:
            raise EngineError(
                f"a prompt of {len(ids)} tokens does not fit a context of {self._backend.n_ctx}",
                "choose a larger n_ctx, or name fewer or smaller files",
            )
        known = self._table.find(name)
        source, n_found = self._longest_cached(known, ids)
        reading, n_coming = self._longest_coming(ids, n_found)
        n_held = n_coming if reading else self._n_held_by_busy(source, n_found)
        if not self._table.can_take(name) or not self._fits(len(ids) - n_held + n_reply):
            return None
        sequence = self._table.take(name, request)
        own = sequence.common_prefix(ids)
        broken = known is not None and own < len(sequence.tokens)
        gave_way = known is not None and not broken and sequence.n_lost > 0
        if source is None or source is sequence:
            self.trim(sequence, min(own, len(ids) - 1))
        else:
            self._fork(source, sequence, n_found)
        sequence.begin(ids, reading, n_coming)
        self.make_room(n_reply)
        return Placed(sequence, own if broken else -1, gave_way)

    def may_read(self, sequence: Sequence) -> bool:
        """Whether a busy sequence should go on reading its prompt.

        It should not while another one reads a prefix that both prompts share; once that is read,
        it is forked.
        """
        source = sequence.source
        if source is None:
            return True
        if source.reads and len(source.tokens) < sequence.n_awaited:
            return False
        sequence.source = None
        n_found = min(source.common_prefix(sequence.prompt), len(sequence.prompt) - 1)
        if n_found > len(sequence.tokens):
            self._fork(source, sequence, n_found)
            sequence.n_reused = len(sequence.tokens)
        return True

    def make_room(self, n_tokens: int) -> bool:
        """Free cells of idle sequences until `n_tokens` are free; False if that is not enough."""
        missing = n_tokens - self.n_free
        if missing <= 0:  # at most steps: nobody has to be looked for
            return True
        idle = sorted((one for one in self._table if not one.busy), key=lambda one: one.last_used)
        for sequence in idle:
            if missing <= 0:
                break
            lengths = {one.slot: len(one.tokens) for one in self._table}
            n_gone = min(missing, self._cells.n_exclusive(sequence.slot, lengths))
            if n_gone > 0:
                self._give_way(sequence, len(sequence.tokens) - n_gone)
                missing = n_tokens - self.n_free
        return missing <= 0

    def put_off(self, sequence: Sequence) -> None:
        """Give the cells of a busy sequence away; it goes on once `resume` finds room for it."""
        self.trim(sequence, 0)
        sequence.prompt = []
        sequence.source = None

    def resume(self, sequence: Sequence, transcript: list[int]) -> bool:
        """Let a sequence that was put off read its transcript again; False if there is no room."""
        if not self._fits(len(transcript)):
            return False
        sequence.prompt = transcript
        return self.make_room(0)

    def release(self, sequence: Sequence) -> None:
        """The generation ended: keep the committed tokens, and give way when asked to."""
        sequence.end()
        self.trim(sequence, len(sequence.tokens))

    def named(self) -> list[tuple[str, list[int]]]:
        """Name and tokens of every sequence with tokens, the one used last first."""
        return [(name, one.tokens) for name, one in self._table.named() if one.tokens]

    def save(self, name: str, path: Path) -> int:
        """Write a sequence to a file; returns its size in bytes.

        Raises:
            EngineError: there is no such sequence, or it cannot be written.
        """
        sequence = self._table.find(name)
        if sequence is None:
            raise EngineError(f"there is no sequence {name}", "save those that there are")
        return self._backend.save(sequence.slot, path, sequence.tokens)

    def restore(self, name: str, n_tokens: int, path: Path) -> bool:
        """Fill a sequence from a file of `save`, as if it had not been used for long.

        Args:
            name: the name of the sequence; what it holds is dropped.
            n_tokens: tokens in the file.
            path: the file, known to be whole.

        Returns:
            False if there is no sequence or no room for it, or the file does not fit the model.
        """
        known = self._table.find(name)
        if (known is None and self._table.is_full) or (known is not None and known.busy):
            return False
        n_own = len(known.tokens) if known is not None else 0
        if n_tokens > self.n_free + n_own:
            return False
        oldest = min((one.last_used for one in self._table), default=0)
        sequence = self._table.take(name, oldest - 1)
        self._empty(sequence)
        sequence.tokens += self._backend.load(sequence.slot, path)
        return len(sequence.tokens) == n_tokens

    # ── cells ────────────────────────────────────────────────────────────────────────────────────

    def trim(self, sequence: Sequence, n_keep: int) -> None:
        """Roll a sequence back to its first `n_keep` tokens.

        Where the memory cannot be wound back so far (recurrent, hybrid), nothing of it is kept:
        whoever goes on with it reads its transcript again, as any other prompt.

        Raises:
            EngineError: a sequence cannot even be cleared.
        """
        if not self._trimmed(sequence, n_keep):
            self._empty(sequence)

    def clear(self) -> None:
        """Drop every sequence; the prompts are read again."""
        for slot in self._table.clear():
            self._backend.trim(slot, 0)
        self._cells.clear()

    def _trimmed(self, sequence: Sequence, n_keep: int) -> bool:
        try:
            if not self._backend.trim(sequence.slot, n_keep):
                return False
        except Cancelled:  # in the midst of accepted tokens: how many of them are there?
            return False
        del sequence.tokens[n_keep:]
        self._cells.trim(sequence.slot, n_keep)
        return True

    def _empty(self, sequence: Sequence) -> None:
        if not self._trimmed(sequence, 0):
            raise EngineError("the cache of a sequence cannot be cleared")

    def _give_way(self, sequence: Sequence, n_keep: int) -> None:
        """Drop the tail of an idle sequence, or all of it where that cannot be done."""
        n_before = len(sequence.tokens)
        self.trim(sequence, n_keep)
        sequence.n_lost += n_before - len(sequence.tokens)

    def _fork(self, source: Sequence, sequence: Sequence, n_tokens: int) -> None:
        """Let a sequence begin anew with the first tokens of another one."""
        self._empty(sequence)
        # Once the memory could not be forked, it is not tried again: what was there is lost by it.
        self._forks = self._backend.share(source.slot, [sequence.slot], n_tokens)
        if self._forks:
            self._cells.fork(source.slot, sequence.slot, n_tokens)
            sequence.tokens += source.tokens[:n_tokens]

    # ── room ─────────────────────────────────────────────────────────────────────────────────────

    def _longest_cached(
        self, known: Sequence | None, ids: list[int]
    ) -> tuple[Sequence | None, int]:
        """Which sequence has most of a prompt, and how much: its own one, if no other has more."""
        source, n_found = known, known.common_prefix(ids) if known is not None else 0
        for other in self._table if self._forks else ():
            n_other = other.common_prefix(ids)
            if n_other > n_found:
                source, n_found = other, n_other
        return source, min(n_found, len(ids) - 1)

    def _longest_coming(self, ids: list[int], n_found: int) -> tuple[Sequence | None, int]:
        """Which sequence is about to read more of a prompt than is there, and how much of it."""
        reading, n_coming = None, 0
        for other in self._table if self._forks else ():
            if other.reads:
                n_other = min(n_common(other.prompt, ids), len(other.prompt) - 1, len(ids) - 1)
                if n_other >= max(n_coming, n_found) + _WORTH_WAITING:
                    reading, n_coming = other, n_other
        return reading, n_coming

    def _n_held_by_busy(self, source: Sequence | None, n_found: int) -> int:
        """Of the prefix that is found, the cells that are there whoever makes room."""
        if source is None or source.busy:
            return n_found
        shared = (self._cells.shared(source.slot, one.slot) for one in self._table if one.busy)
        return min(n_found, max(shared, default=0))

    def _fits(self, n_new: int) -> bool:
        """Whether so many cells fit once every idle sequence has made room."""
        busy = {one.slot: len(one.tokens) for one in self._table if one.busy}
        n_left = self._backend.n_ctx - self._cells.n_used(busy) - self._n_promised()
        return n_left >= n_new

    def _n_promised(self) -> int:
        """Cells that the unread parts of prompts under way will take."""
        return sum(one.n_unread for one in self._table)
