"""A reply under way: its prompt, its place in the cache, what is proposed for its next step."""

import time
from dataclasses import dataclass, field

from agspec_tui.commands import Generate
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Drafter, Match, Piece
from agspec_tui.engine.cache import Placed
from agspec_tui.engine.reply import Reply
from agspec_tui.engine.sequence import Sequence
from agspec_tui.engine.types import Chooser
from agspec_tui.errors import AgspecError
from agspec_tui.events import GenerationFinished, PrefillProgressed
from agspec_tui.policy.types import Budget

_NO_BUDGET = Budget(0, censored=True)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed to the target for a step."""

    match: Match = NO_MATCH
    """The match that was found."""
    budget: Budget = _NO_BUDGET
    """K, as the policy decided."""
    draft: Draft = NO_DRAFT
    """The tokens."""


NO_PROPOSAL = Proposal()


@dataclass(slots=True, eq=False)
class Generation:
    """A generation from its beginning to its end.

    Its transcript is the prompt and the committed tokens. The cache holds a beginning of it: as
    long as more than the newest token is missing there, the generation is reading, else saying.
    """

    command: Generate
    """What was asked for."""
    pieces: list[Piece]
    """The prompt, a piece a message."""
    transcript: list[int]
    """Token ids of the prompt and of the reply so far; the newest one comes last."""
    placed: Placed
    """Its sequence, and what of the prompt was in the cache before."""
    reply: Reply
    """What was said."""
    chooser: Chooser
    """The target's own choice at each position."""
    drafter: Drafter
    """Drafts for this sequence alone while it is under way."""
    lane: int
    """Number of that drafter."""
    proposal: Proposal = NO_PROPOSAL
    """For the next step."""
    failure: AgspecError | None = None
    """Why it failed; None as long as it has not."""
    aborted: bool = False
    """Whether a pass of it was aborted."""
    began_s: float = field(default_factory=time.perf_counter)
    """When it began, by the performance counter."""
    read_s: float = 0.0
    """When the prompt had been read; 0 before."""
    n_prompt: int = field(init=False)
    """Tokens of the prompt."""

    def __post_init__(self) -> None:
        self.n_prompt = len(self.transcript)

    @property
    def request(self) -> int:
        """Number of the request."""
        return self.command.request

    @property
    def is_alone(self) -> bool:
        """Whether no other reply is meant to be decoded meanwhile; its passes stay exact then."""
        return self.command.batch <= 1

    @property
    def sequence(self) -> Sequence:
        """Its sequence in the cache."""
        return self.placed.sequence

    @property
    def n_unread(self) -> int:
        """Tokens that are to be read before the next step can be taken."""
        return len(self.transcript) - 1 - len(self.sequence.tokens)

    @property
    def is_put_off(self) -> bool:
        """Whether it gave its cells away and waits for room."""
        return not self.sequence.prompt

    @property
    def is_over(self) -> bool:
        """Whether it has ended, one way or another."""
        return bool(self.reply.stop_reason) or self.failure is not None

    def progress(self) -> PrefillProgressed:
        """How much of the prompt has been read."""
        n_done, n_reused = len(self.sequence.tokens), self.placed.n_reused
        seconds = time.perf_counter() - self.began_s
        return PrefillProgressed(
            turn=self.command.turn,
            role=self.command.role,
            request=self.request,
            n_done=n_done if self.n_unread else len(self.transcript),
            n_total=len(self.transcript),
            n_reused=n_reused,
            tok_per_s=(n_done - n_reused) / seconds if n_done > n_reused else 0.0,
        )

    def finished(self, alpha: float) -> GenerationFinished:
        """Its last event."""
        ended_s = time.perf_counter()
        read_s = self.read_s or ended_s  # cancelled in prefill
        reply = self.reply
        return GenerationFinished(
            turn=self.command.turn,
            role=self.command.role,
            request=self.request,
            stop_reason=reply.stop_reason,
            loop_period=reply.loop.period if reply.loop else 0,
            n_loops=reply.loop.n_times if reply.loop else 0,
            text=reply.text,
            ids=tuple(reply.ids),
            n_prompt=self.n_prompt,
            n_reused=self.placed.n_reused,
            broken_by=self.placed.broken_by(self.pieces),
            n_tokens=reply.n_tokens,
            n_steps=reply.n_steps,
            n_drafted=reply.n_drafted,
            n_accepted=reply.n_accepted,
            prefill_s=read_s - self.began_s,
            decode_s=ended_s - read_s,
            alpha=alpha,
        )
