"""The UI process's side of the commands about the context, each answered by one event."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from agspec_tui.commands import CountTokens, EngineCommand, Message, RestoreCache, SaveCache
from agspec_tui.errors import EngineError
from agspec_tui.events import (
    CacheRestored,
    CacheSaved,
    EngineEvent,
    RequestRefused,
    TokensCounted,
)

_A = TypeVar("_A", TokensCounted, CacheSaved, CacheRestored)

_FIRST = -1_000_000
"""Far from the numbers of generations, which are positive, and of measurements."""


class _DeathError(EngineError):
    """The engine died before it answered."""


class ContextClient:
    """Asks the engine about its context. Use it from one event loop."""

    def __init__(
        self, send: Callable[[EngineCommand], None], available: Callable[[], Awaitable[None]]
    ) -> None:
        """Nothing is asked yet.

        Args:
            send: sends a command to the engine.
            available: returns once there is an engine, or raises.
        """
        self._send = send
        self._available = available
        self._next = _FIRST
        self._open: dict[int, asyncio.Future[Any]] = {}

    async def count(self, messages: tuple[Message, ...]) -> int:
        """Exact number of prompt tokens of a transcript, beside whatever is under way.

        It survives the death of the engine.

        Raises:
            EngineError: it was refused, or there is no engine.
        """
        while True:
            command = CountTokens(request=self._number(), messages=messages)
            try:
                return (await self._ask(command, TokensCounted)).n_tokens
            except _DeathError:
                continue  # the next engine counts, if there is one

    async def save(self, folder: Path) -> CacheSaved:
        """Write the cached sequences to a folder, for `restore` with a later engine.

        Raises:
            EngineError: it cannot be written, or the engine died over it.
        """
        command = SaveCache(request=self._number(), folder=str(folder.absolute()))
        return await self._ask(command, CacheSaved)

    async def restore(self, folder: Path) -> CacheRestored:
        """Take up what `save` wrote; what does not fit this model is left out with a note.

        Raises:
            EngineError: the session is recorded, or the engine died over it.
        """
        command = RestoreCache(request=self._number(), folder=str(folder.absolute()))
        return await self._ask(command, CacheRestored)

    # ── for the client ───────────────────────────────────────────────────────────────────────────

    @property
    def n_open(self) -> int:
        """Questions without an answer."""
        return len(self._open)

    def take(self, event: EngineEvent) -> bool:
        """Give an event to whoever asked; returns whether nobody else need see it."""
        if not isinstance(event, TokensCounted | CacheSaved | CacheRestored | RequestRefused):
            return False
        if event.request not in self._open:
            return False
        future = self._open[event.request]
        if not future.done():
            if isinstance(event, RequestRefused):
                future.set_exception(EngineError(event.message, event.hint))
            else:
                future.set_result(event)
        return isinstance(event, TokensCounted | RequestRefused)

    def fail(self, failure: EngineError) -> None:
        """The engine is gone."""
        for future in self._open.values():
            if not future.done():
                future.set_exception(_DeathError(failure.message, failure.hint))

    # ── questions ────────────────────────────────────────────────────────────────────────────────

    def _number(self) -> int:
        self._next -= 1
        return self._next

    async def _ask(self, command: CountTokens | SaveCache | RestoreCache, kind: type[_A]) -> _A:
        await self._available()
        answer: asyncio.Future[_A] = asyncio.get_running_loop().create_future()
        self._open[command.request] = answer
        try:
            self._send(command)
            return await answer
        finally:
            self._open.pop(command.request, None)
