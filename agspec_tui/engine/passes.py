"""What goes into one pass of the target: who decodes, who reads, and how many tokens there are.

Sequences that are saying something go first, then a chunk of a prompt that is being read. Where
logits depend on the number of tokens in a pass (`Backend.n_exact`), there are two kinds:

- exact, of a reply that is decoded alone: at most `n_exact` tokens, logits as in one-by-one
  decoding. A chunk of its prompt is read in a pass of its own, in turn with these;
- shared, of replies that are decoded at once: as many tokens as a pass holds, a chunk among them.
  Where the cells of the others lie moves their logits as much as the size of a pass does, so
  nothing is gained by small passes.

A pass is of one kind.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agspec_tui.drafting.types import NO_DRAFT, Draft
from agspec_tui.engine.generation import Generation
from agspec_tui.engine.types import Backend, Part

# A chunk takes about a second on a small CPU, so progress is seen and the rate stays near its best.
PREFILL_CHUNK = 128
_KEPT_TO_READ = 4
"""Part of a shared pass that drafts leave to a chunk: a fourth."""


@dataclass(slots=True)
class Pass:
    """Who takes part in a pass."""

    saying: list[Generation] = field(default_factory=list)
    """They take a step."""
    reading: list[Generation] = field(default_factory=list)
    """A chunk of their transcript is read."""
    n_most: int = 0
    """Most tokens of those who take a step, all together."""

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
        """Most drafted tokens, all together; who reads gets a part of the pass, whatever pays."""
        n_kept = min(self.n_to_read, self.n_most // _KEPT_TO_READ)
        return max(0, self.n_most - len(self.saying) - n_kept)


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
        if 0 < backend.n_exact < backend.n_batch:  # else it makes no difference what is in a pass
            is_alone = min((*saying, *reading), key=live.index).is_alone
            reading = [one for one in reading if one.is_alone is is_alone]
            saying = [one for one in saying if one.is_alone is is_alone]
            if is_alone:
                return self._exact_pass(saying, reading)
        return Pass(saying[: backend.n_batch], reading, backend.n_batch)

    def _exact_pass(self, saying: list[Generation], reading: list[Generation]) -> Pass:
        """A step of those who say something or a chunk for who reads, in turn."""
        self._read_last = bool(reading) and not (saying and self._read_last)
        if self._read_last:
            return Pass([], reading[:1])
        n_exact = self._backend.n_exact
        return Pass(saying[:n_exact], [], n_exact)


def parts_of(present: Pass, backend: Backend) -> list[Part]:
    """The parts of a pass: whoever takes a step, in order; then chunks, which want no rows."""
    parts = []
    for one in present.saying:
        block = [one.transcript[-1], *one.proposal.draft.ids]
        parts.append(Part(block, len(one.sequence.tokens), one.sequence.slot, len(block)))
    n_chunk = min(PREFILL_CHUNK, backend.n_batch - sum(len(part.ids) for part in parts))
    for one in present.reading:
        begin = len(one.sequence.tokens)
        chunk = one.transcript[begin : begin + min(one.n_unread, n_chunk)]
        if not chunk:
            break
        n_chunk -= len(chunk)
        parts.append(Part(chunk, begin, one.sequence.slot, 0))
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
