"""Asks the user whether an edit may be written or a command run, and waits for the answer."""

import asyncio
from collections.abc import Callable

from agspec_tui.commands import AnswerApproval
from agspec_tui.config import ApprovalMode
from agspec_tui.events import ApprovalAnswered, ApprovalRequested, Event
from agspec_tui.session.handover import EditSet
from agspec_tui.session.interrupt import InterruptSwitch


class Approvals:
    """At most one open question at a time."""

    def __init__(
        self,
        publish: Callable[[Event], object],
        interrupts: InterruptSwitch,
        *,
        mode: ApprovalMode,
    ) -> None:
        """Set up without an open question.

        Args:
            publish: puts an event on the bus.
            interrupts: the user's stop, which ends a question too.
            mode: what is done unasked.
        """
        self.mode: ApprovalMode = mode
        """What is done unasked."""
        self._publish = publish
        self._interrupts = interrupts
        self._n_calls = 0
        self._open: tuple[ApprovalRequested, asyncio.Future[bool]] | None = None

    async def ask(self, edits: EditSet, turn: int) -> bool:
        """Whether an edit of a turn may be written.

        Raises:
            Interrupted: the user stopped the task instead.
        """
        if self.mode == "plan-only":
            return False
        if self.mode in ("auto-edit", "full-auto"):
            return True
        return await self._answer(
            ApprovalRequested(
                turn=turn,
                role="coder",
                call_id=self._next_call(),
                summary=f"write {', '.join(edits.files)}",
                diff=edits.diff,
            )
        )

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
        return await self._answer(
            ApprovalRequested(
                turn=turn,
                role=role,
                call_id=self._next_call(),
                summary=f"run `{command}` ({reason})",
                diff="",
                command=command,
            )
        )

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
            )
        )
        answer.set_result(command.approved)

    def _next_call(self) -> int:
        self._n_calls += 1
        return self._n_calls

    async def _answer(self, question: ApprovalRequested) -> bool:
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._open = (question, answer)
        self._publish(question)
        try:
            return await self._interrupts.guard(_result(answer))
        finally:
            self._open = None


async def _result(answer: asyncio.Future[bool]) -> bool:
    return await answer
