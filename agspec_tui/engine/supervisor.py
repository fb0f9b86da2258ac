"""Keeps a child running: starts one after the other, and kills those that hang."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from agspec_tui.commands import EngineCommand, Ping
from agspec_tui.engine import wire
from agspec_tui.engine.link import Link
from agspec_tui.engine.watchdog import Limits, RestartBudget, Watchdog
from agspec_tui.engine_events import EngineEvent, Pong
from agspec_tui.errors import EngineError

_RETRY_S = 0.5
"""Seconds before another try where the system gave no process."""
_MOST_DEATHS_LOADING = 2
"""Children that may die in a row before the model is loaded."""


class Ward(Protocol):
    """What a supervisor does its work for."""

    def opening(self) -> list[EngineCommand]:
        """What a new child is sent at once."""
        ...

    async def settle(self, link: Link) -> None:
        """Bring a child that has the model to where the last one was."""
        ...

    def take(self, event: EngineEvent) -> None:
        """An event came."""
        ...

    def take_malformed(self, message: str) -> None:
        """What came is no event.

        Raises:
            wire.OutOfStep: there is no way to go on with this child.
        """
        ...

    def owes(self) -> bool:
        """Whether anybody waits for the child, the loading of the model left out."""
        ...

    def goes_on_after(self, how: str, *, may_restart: bool) -> bool:
        """A child has ended; returns whether there is to be another one.

        Args:
            how: how it ended, to follow "the engine process".
            may_restart: whether there may be another one.
        """
        ...

    def give_up(self, failure: EngineError) -> None:
        """There will be no further child."""
        ...


class Supervisor:
    """Children of one ward, one at a time."""

    def __init__(self, ward: Ward, log_path: Path, limits: Limits) -> None:
        """Start nothing yet; the children's output goes to `log_path`."""
        self.link: Link | None = None
        """The present child; None between two of them."""
        self.n_children = 0
        """Children so far."""
        self._ward = ward
        self._log_path = log_path
        self._limits = limits
        self._budget = RestartBudget(limits)
        self._loaded = asyncio.Event()
        self._n_deaths_loading = 0
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    def start(self) -> None:
        """Start the first child, and look after it and its successors from now on."""
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._ended)

    def loaded(self) -> None:
        """The child says that it has the model."""
        self._loaded.set()

    def send(self, command: EngineCommand) -> None:
        """Send to the present child; without one the command is lost.

        Raises:
            EngineError: it is too long for a frame.
        """
        if self.link is not None:
            self.link.send(command)

    async def close(self, patience_s: float) -> None:
        """Wait until the present child has ended, by force after a while. None follows."""
        self._closing = True
        task, self._task = self._task, None
        if task is None:
            return
        await asyncio.wait({task}, timeout=patience_s)
        if not task.done():
            if self.link is not None:
                self.link.kill("was closed")
            await asyncio.wait({task}, timeout=patience_s)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A bug here must not leave anybody waiting."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            message = f"internal error: {type(error).__name__}: {error}"
            self._ward.give_up(EngineError(message, "start again"))

    async def _run(self) -> None:
        """One child after the other, until one has ended for good."""
        while not self._closing:
            try:
                how = await self._serve()
            except OSError as error:
                how = f"cannot be started: {error.strerror or error}"
                await asyncio.sleep(_RETRY_S)
            if not self._closing and not self._goes_on_after(how):
                return

    def _goes_on_after(self, how: str) -> bool:
        self._n_deaths_loading = 0 if self._loaded.is_set() else self._n_deaths_loading + 1
        self._loaded.clear()
        now_s = asyncio.get_running_loop().time()
        may_restart = self._n_deaths_loading < _MOST_DEATHS_LOADING and self._budget.left(now_s)
        if not self._ward.goes_on_after(how, may_restart=may_restart):
            return False
        self._budget.spend(now_s)
        return True

    async def _serve(self) -> str:
        """One child from its start to its end; returns how it ended."""
        clock = asyncio.get_running_loop().time
        link = await Link.start(self._log_path)
        self.n_children += 1
        self.link = link
        dog = Watchdog(self._limits, clock())
        for command in self._ward.opening():
            link.send(command)
        beside = [
            asyncio.create_task(self._watch(link, dog, clock)),
            asyncio.create_task(self._settle(link)),
        ]
        for task in beside:
            task.add_done_callback(partial(_well_or_killed, link))
        try:
            return await link.serve(lambda body: self._take(body, dog, clock()))
        finally:
            self.link = None
            await _end_all(beside)

    def _take(self, body: bytes, dog: Watchdog, now_s: float) -> None:
        dog.heard(now_s)
        try:
            event = wire.decode_event(body)
        except wire.Malformed as error:
            self._ward.take_malformed(str(error))
            return
        if isinstance(event, Pong):
            dog.pong(event, now_s)
        else:
            self._ward.take(event)

    async def _settle(self, link: Link) -> None:
        await self._loaded.wait()
        await self._ward.settle(link)

    async def _watch(self, link: Link, dog: Watchdog, clock: Callable[[], float]) -> None:
        """Kill a child that is stopped or hangs while somebody waits for it."""
        while True:
            await asyncio.sleep(self._limits.period_s)
            loading = not self._loaded.is_set()
            waiting = loading or self._ward.owes()
            verdict = dog.look(clock(), waiting=waiting, loading=loading)
            if verdict:
                link.kill(verdict)
                return
            if waiting:
                link.send(Ping(number=dog.next_ping()))


def _well_or_killed(link: Link, task: asyncio.Task[None]) -> None:
    """A child that something went wrong beside would leave somebody waiting: another one is due."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        link.kill(f"cannot be worked with: {type(error).__name__}: {error}")


async def _end_all(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
