"""What goes into one pass of the target: who decodes, who reads, and how many tokens there are.

Sequences that are saying something go first, then a chunk of a prompt that is being read. Where
logits depend on the number of tokens in a pass (`Backend.n_exact`, `Backend.n_wide`), the kinds are
kept apart, so that a reply does not depend on what is decoded beside it:

- narrow: at most `n_exact` tokens, logits as in one-by-one decoding;
- wide: at least `n_wide` rows of logits, filled up with tokens of nobody;
- reading: a chunk alone, in turn with narrow passes. In a wide pass a chunk comes along.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agspec_tui.drafting.types import NO_DRAFT, Draft
from agspec_tui.engine.generation import Generation
from agspec_tui.engine.types import Backend, Part

# A chunk takes about a second on a small CPU, so progress is seen and the rate stays near its best.
PREFILL_CHUNK = 128
_PAD_TOKEN = 0


def is_wide(batch: int, n_exact: int, n_wide: int) -> bool:
    """Whether replies of which so many are decoded at once take wide passes.

    Args:
        batch: how many.
        n_exact: see `Backend.n_exact`.
        n_wide: see `Backend.n_wide`.
    """
    return n_wide > 1 and batch > (n_exact or 1)


@dataclass(slots=True)
class Pass:
    """Who takes part in a pass."""

    saying: list[Generation] = field(default_factory=list)
    """They take a step."""
    reading: list[Generation] = field(default_factory=list)
    """A chunk of their transcript is read."""
    n_most: int = 0
    """Most tokens of those who take a step, all together."""
    n_rows: int = 0
    """Fewest rows of logits; 0 where their number does not matter."""

    @property
    def all(self) -> list[Generation]:
        """All who take part."""
        return [*self.saying, *self.reading]

    @property
    def n_to_read(self) -> int:
        """Most tokens of a chunk."""
        return min(PREFILL_CHUNK, sum(one.n_unread for one in self.reading))

    @property
    def n_to_draft(self) -> int:
        """Most drafted tokens, all together."""
        return max(0, self.n_most - len(self.saying))


class Turns:
    """Whose turn it is, pass by pass; nobody waits for ever."""

    def __init__(self, backend: Backend, reads_now: Callable[[Generation], bool]) -> None:
        """Take turns on a backend; `reads_now` tells whether a prompt should be read on."""
        self._backend = backend
        self._reads_now = reads_now
        self._read_last = False

    def next_pass(self, live: list[Generation]) -> Pass:
        """Who takes part in the next pass.

        Args:
            live: who is under way, whoever had a turn longest ago first; at least one.
        """
        backend = self._backend
        reading = [one for one in live if one.n_unread and self._reads_now(one)]
        saying = [one for one in live if not one.n_unread]
        wide = [one for one in saying if one.wide]
        narrow = [one for one in saying if not one.wide]
        if wide and (not narrow or live.index(wide[0]) < live.index(narrow[0])):
            fellows = [one for one in reading if one.wide]
            return Pass(wide[: backend.n_batch], fellows, backend.n_batch, backend.n_wide)
        limit = backend.n_exact or backend.n_batch
        if limit >= backend.n_batch:  # what else is in a pass makes no difference
            return Pass(narrow[:limit], reading, backend.n_batch)
        if narrow and (not reading or self._read_last):
            self._read_last = False
            return Pass(narrow[:limit], [], limit)
        self._read_last = True
        return Pass([], reading[:1])


def parts_of(present: Pass, backend: Backend) -> list[Part]:
    """The parts of a pass: whoever takes a step, in order; then chunks; then what fills it up.

    Only the rows of those who take a step mean anything.
    """
    parts = []
    for one in present.saying:
        block = [one.transcript[-1], *one.proposal.draft.ids]
        parts.append(Part(block, len(one.sequence.tokens), one.sequence.slot, len(block)))
    n_tokens = sum(len(part.ids) for part in parts)
    n_rows = max(0, present.n_rows - n_tokens) if present.saying else 0
    n_chunk = min(PREFILL_CHUNK, backend.n_batch - n_tokens)
    for one in present.reading:
        begin = len(one.sequence.tokens)
        chunk = one.transcript[begin : begin + min(one.n_unread, n_chunk)]
        if not chunk:
            break
        n_chunk -= len(chunk)
        parts.append(Part(chunk, begin, one.sequence.slot, min(len(chunk), n_rows)))
        n_rows -= parts[-1].n_logits
    if n_rows > 0:
        parts.append(Part([_PAD_TOKEN] * n_rows, 0, backend.pad_slot, n_rows))
    return parts


def room_of(one: Generation, backend: Backend) -> int:
    """Most tokens of a draft; the last token of a reply is always the bonus token."""
    if not one.command.drafting:
        return 0
    return max(0, min(one.reply.n_left - 1, backend.n_rollback))


def before_eog(draft: Draft, backend: Backend) -> Draft:
    """End-of-generation tokens are never drafted: accepting one must not be decided early."""
    for index, token in enumerate(draft.ids):
        if backend.is_eog(token):
            return replace(draft, ids=draft.ids[:index]) if index else NO_DRAFT
    return draft
