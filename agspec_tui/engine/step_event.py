"""What the world is told of a step."""

from dataclasses import dataclass

from agspec_tui.engine.generation import Generation
from agspec_tui.engine.source_lines import SourceLines
from agspec_tui.events import StepCommitted
from agspec_tui.policy.types import Policy


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Points in time around a pass, by the performance counter."""

    started: float
    """Before anything was proposed."""
    proposed: float
    """Before the pass."""
    decoded: float
    """Behind it, and behind the verification of what it decoded."""
    last: float
    """The same of the pass before."""
    n_saying: int
    """Sequences that took a step in it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one sequence got by a pass."""

    ids: list[int]
    """Committed token ids: the accepted ones, then the bonus token, up to where the reply ended."""
    text: str
    """Their text."""
    n_accepted_chars: int
    """Leading characters of it that came from accepted tokens."""
    n_accepted: int
    """A."""


def step_event(
    one: Generation, step: Step, times: PassTimes, policy: Policy, lines: SourceLines
) -> StepCommitted:
    """The event of a step that was just committed.

    Args:
        one: whose step.
        step: what it got.
        times: of the pass.
        policy: for the role's cap and α.
        lines: knows in which line of a file a draft begins.
    """
    command, match, draft = one.command, one.proposal.match, one.proposal.draft
    n_steps = one.reply.n_steps
    return StepCommitted(
        turn=command.turn,
        role=command.role,
        request=command.request,
        step=n_steps,
        ids=tuple(step.ids),
        text=step.text,
        n_accepted_chars=step.n_accepted_chars,
        n_drafted=len(draft.ids),
        n_accepted=step.n_accepted,
        match_len=match.length,
        n_seen=match.n_seen,
        n_group=match.n_group,
        form=command.form,
        source=draft.source,
        document=draft.document,
        offset=draft.offset,
        line=lines.line(draft.document, draft.offset) if draft.document else 0,
        budget=one.proposal.budget.k,
        cap=policy.cap(command.role),
        alpha=policy.alpha(command.role),
        decode_us=(times.decoded - times.proposed) * 1e6,
        draft_us=(times.proposed - times.started) * 1e6,
        n_context=len(one.sequence.tokens),
        loop_us=(times.proposed - times.last) * 1e6 if n_steps > 1 else 0.0,
        n_beside=times.n_saying - 1,
    )
