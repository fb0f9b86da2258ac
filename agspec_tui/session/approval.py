"""Asks the user whether an edit may be written, and waits for the answer."""

import asyncio
from collections.abc import Callable

from agspec_tui.commands import AnswerApproval
from agspec_tui.events import ApprovalAnswered, ApprovalRequested, Event
from agspec_tui.session.handover import EditSet
from agspec_tui.session.interrupt import InterruptSwitch


class Approvals:
    """At most one open question at a time."""

    def __init__(
        self, publish: Callable[[Event], object], interrupts: InterruptSwitch, *, auto: bool
    ) -> None:
        """Set up without an open question.

        Args:
            publish: puts an event on the bus.
            interrupts: the user's stop, which ends a question too.
            auto: say yes to everything, without asking.
        """
        self._publish = publish
        self._interrupts = interrupts
        self._auto = auto
        self._n_calls = 0
        self._open: tuple[int, int, asyncio.Future[bool]] | None = None

    async def ask(self, edits: EditSet, turn: int) -> bool:
        """Whether an edit of a turn may be written.

        Raises:
            Interrupted: the user stopped the task instead.
        """
        if self._auto:
            return True
        self._n_calls += 1
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._open = (self._n_calls, turn, answer)
        self._publish(
            ApprovalRequested(
                turn=turn,
                role="coder",
                call_id=self._n_calls,
                summary=f"write {', '.join(edits.files)}",
                diff=edits.diff,
            )
        )
        try:
            return await self._interrupts.guard(_result(answer))
        finally:
            self._open = None

    def take(self, command: AnswerApproval) -> None:
        """Settle the open question; an answer to another one is out of date and ignored."""
        if self._open is None:
            return
        call_id, turn, answer = self._open
        if call_id != command.call_id or answer.done():
            return
        self._publish(
            ApprovalAnswered(turn=turn, role="coder", call_id=call_id, approved=command.approved)
        )
        answer.set_result(command.approved)


async def _result(answer: asyncio.Future[bool]) -> bool:
    return await answer
