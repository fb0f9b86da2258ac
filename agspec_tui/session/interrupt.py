"""The user's stop: ends whatever the task waits for, and nothing else."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_STOP_S = 1.0
"""Seconds that work has to end once it was stopped."""


class Interrupted(Exception):
    """The user stopped the task. Caught where a task ends, never shown as an error."""


class InterruptSwitch:
    """Set from the screen or a signal; a task passes everything it waits for through `guard`."""

    def __init__(self) -> None:
        self._pressed = asyncio.Event()

    @property
    def pressed(self) -> bool:
        """Whether the user asked to stop."""
        return self._pressed.is_set()

    def press(self) -> None:
        """Stop the running task at the thing it waits for."""
        self._pressed.set()

    def clear(self) -> None:
        """Arm again, for the next task."""
        self._pressed.clear()

    async def guard(
        self,
        work: Coroutine[Any, Any, _Result],
        stop: Callable[[], Awaitable[object]] | None = None,
    ) -> _Result:
        """Wait for `work`, or until the switch is pressed.

        Args:
            work: what is waited for; always run to its end or cancelled.
            stop: ends the work from outside when the switch is pressed; its own result is then
                returned if it comes soon. By default its task is cancelled.

        Raises:
            Interrupted: the switch was pressed before the work was done.
        """
        if self.pressed:
            work.close()
            raise Interrupted
        task = asyncio.ensure_future(work)
        pressed = asyncio.ensure_future(self._pressed.wait())
        try:
            await asyncio.wait({task, pressed}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and stop is not None:
                await stop()
                await asyncio.wait({task}, timeout=_STOP_S)
            if task.done():
                return await task
            raise Interrupted
        finally:
            pressed.cancel()
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
