"""Asks the user whether an edit may be written or a command run, and waits for the answer."""

import asyncio
from collections.abc import Callable

from agspec_tui.commands import AnswerApproval, EditPlan
from agspec_tui.config import ApprovalMode
from agspec_tui.events import ApprovalAnswered, ApprovalRequested, Asks, Event, PlanStep
from agspec_tui.session.handover import EditSet
from agspec_tui.session.interrupt import InterruptSwitch
from agspec_tui.session.wanted import as_wanted


class PlanRejected(Exception):
    """The user wants no work by the plan."""


class Approvals:
    """At most one open question at a time."""

    def __init__(
        self,
        publish: Callable[[Event], object],
        interrupts: InterruptSwitch,
        *,
        mode: ApprovalMode,
        review_plan: bool = False,
        can_ask: bool = False,
    ) -> None:
        """Set up without an open question.

        Args:
            publish: puts an event on the bus.
            interrupts: the user's stop, which ends a question too.
            mode: what is done unasked.
            review_plan: whether the user is asked about plans.
            can_ask: whether somebody is there to answer.
        """
        self.mode: ApprovalMode = mode
        """What is done unasked."""
        self.can_ask = can_ask
        """Whether somebody is there to answer; where not, no edit is placed by likeness."""
        self._publish = publish
        self._interrupts = interrupts
        self._review_plan = review_plan
        self._steps: tuple[PlanStep, ...] = ()
        self._n_calls = 0
        self._open: tuple[ApprovalRequested, asyncio.Future[AnswerApproval]] | None = None

    async def ask(self, edits: EditSet, turn: int) -> EditSet | None:
        """What of an edit may be written; None for nothing.

        One with places found by likeness only is asked about in every mode; where nobody can be
        asked, it may not be written.

        Raises:
            EditError: the person wrote lines that cannot be written exactly.
            Interrupted: the user stopped the task instead.
        """
        if self.mode == "plan-only" or (edits.doubtful and not self.can_ask):
            return None
        if self.mode in ("auto-edit", "full-auto") and not edits.doubtful:
            return edits
        summary = f"write {', '.join(edits.files)}"
        if edits.doubtful:
            summary += ", placed by likeness only"
        answer = await self._answer("edit", turn, "coder", summary, edits.diff, edits=edits)
        if not answer.approved:
            return None
        return await asyncio.to_thread(as_wanted, edits, answer)

    async def ask_command(self, command: str, reason: str, turn: int, role: str) -> bool:
        """Whether a command may run that does not run unasked.

        Args:
            command: the command line.
            reason: why it is asked about, in a few words.
            turn: the turn it belongs to.
            role: who wants it to run.

        Raises:
            Interrupted: the user stopped the task instead.
        """
        if self.mode == "full-auto":
            return True
        summary = f"run `{command}` ({reason})"
        return (await self._answer("command", turn, role, summary, command=command)).approved

    async def ask_plan(
        self, steps: tuple[PlanStep, ...], turn: int, problem: str = ""
    ) -> tuple[PlanStep, ...]:
        """The plan to work by: this one, or what the user has made of it.

        Args:
            steps: the plan.
            turn: the turn.
            problem: why it cannot be worked by, if the user wrote it; they are asked again.

        Raises:
            Interrupted: the user stopped the task instead.
            PlanRejected: the user wants no work by it.
        """
        if not self._review_plan or self.mode != "ask":
            return steps
        self._steps = steps
        lines = "\n".join(f"{', '.join(step.files)}: {step.change}" for step in steps)
        summary = "work by this plan"
        answer = await self._answer(
            "plan", turn, "planner", summary, lines, steps=steps, problem=problem
        )
        if not answer.approved:
            raise PlanRejected
        return self._steps

    async def confirm(self, question: str, detail: str, turn: int) -> bool:
        """Whether to go on; yes where edits are made unasked.

        Args:
            question: what would be done, in one line.
            detail: what there is to know.
            turn: the turn it belongs to.

        Raises:
            Interrupted: the user stopped the task instead.
        """
        if self.mode != "ask":
            return True
        return (await self._answer("go_on", turn, "coder", question, detail)).approved

    def take_plan(self, command: EditPlan) -> None:
        """Settle an open question about a plan with another plan."""
        if self._open is None or self._open[0].asks != "plan":
            return
        if self._open[0].call_id == command.call_id and not self._open[1].done():
            self._steps = tuple(PlanStep(step.files, step.change) for step in command.steps)
            self.take(AnswerApproval(call_id=command.call_id, approved=True))

    def take(self, command: AnswerApproval) -> None:
        """Settle the open question; an answer to another one is out of date and ignored."""
        if self._open is None:
            return
        question, answer = self._open
        if question.call_id != command.call_id or answer.done():
            return
        self._publish(
            ApprovalAnswered(
                turn=question.turn,
                role=question.role,
                call_id=question.call_id,
                approved=command.approved,
                left_out=command.left_out,
                written=tuple(one.hunk for one in command.written),
            )
        )
        answer.set_result(command)

    async def _answer(
        self,
        asks: Asks,
        turn: int,
        role: str,
        summary: str,
        diff: str = "",
        *,
        command: str = "",
        steps: tuple[PlanStep, ...] = (),
        problem: str = "",
        edits: EditSet | None = None,
    ) -> AnswerApproval:
        """Ask one question, and wait for its answer."""
        self._n_calls += 1
        question = ApprovalRequested(
            turn=turn,
            role=role,
            call_id=self._n_calls,
            asks=asks,
            summary=summary,
            diff=diff,
            command=command,
            steps=steps,
            problem=problem,
            placed=edits.placed if edits else (),
            doubtful=edits.doubtful if edits else (),
        )
        answer: asyncio.Future[AnswerApproval] = asyncio.get_running_loop().create_future()
        self._open = (question, answer)
        self._publish(question)
        try:
            return await self._interrupts.guard(_result(answer))
        finally:
            self._open = None


async def _result(answer: asyncio.Future[AnswerApproval]) -> AnswerApproval:
    return await answer
