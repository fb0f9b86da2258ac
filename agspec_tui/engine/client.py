"""The UI process's side of the engine: starts the child, talks to it, and starts it again.

A dead child becomes an `EngineFailed` event; a new one is loaded with the same settings and given
the same documents, `EngineRestarted` follows, and the replies under way go on from the last token
that was seen. A child that is alive but does not answer, or answers and makes no progress while
somebody waits, is killed and replaced in the same way.

Nothing here waits for the child to read: commands go into a buffer.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from agspec_tui.commands import (
    Calibrate,
    Cancel,
    ConfigureDrafting,
    EngineCommand,
    ForgetDocument,
    Generate,
    IndexDocument,
    LoadModel,
    ResetSession,
    Shutdown,
)
from agspec_tui.engine import wire
from agspec_tui.engine.asked import Asked
from agspec_tui.engine.context_client import ContextClient
from agspec_tui.engine.documents import Documents
from agspec_tui.engine.link import Link
from agspec_tui.engine.supervisor import Supervisor
from agspec_tui.engine.watchdog import Limits
from agspec_tui.errors import EngineError
from agspec_tui.events import (
    Calibrated,
    DocumentIndexed,
    EngineEvent,
    EngineFailed,
    EngineRestarted,
    GenerationFinished,
    ModelLoaded,
    PrefillProgressed,
    RequestRefused,
    StepCommitted,
)

T = TypeVar("T")

_CLOSE_S = 2.0
_HINT = "start again with a smaller model or context"


class EngineClient:
    """One engine process and its successors. Use it from one event loop."""

    def __init__(
        self,
        on_event: Callable[[EngineEvent], None],
        log_dir: Path,
        limits: Limits | None = None,
    ) -> None:
        """Nothing is started yet.

        Args:
            on_event: takes every event.
            log_dir: folder of the child's output, engine.log.
            limits: how much patience there is with a child; None for the usual one.
        """
        self.context = ContextClient(self._send, self._available)
        """Counts transcripts, saves and restores the cache."""
        self._on_event = on_event
        self._log_path = log_dir / "engine.log"
        self._supervisor = Supervisor(self, self._log_path, limits or Limits())
        self._load: LoadModel | None = None
        self._drafting = ConfigureDrafting()
        self._started: asyncio.Future[ModelLoaded] | None = None
        self._ready = asyncio.Event()  # all that was under way is with the present child
        self._documents = Documents()
        self._asked: dict[int, Asked] = {}
        self._measured: dict[int, asyncio.Future[Calibrated]] = {}
        self._n_asked = 0
        self._spoken: set[int] = set()
        self._failure: EngineError | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the present child; None without one."""
        link = self._supervisor.link
        return link.pid if link is not None else None

    async def start(self, load: LoadModel, drafting: ConfigureDrafting) -> ModelLoaded:
        """Start the child and load the model.

        Raises:
            EngineError: the model could not be loaded, or the child died twice over it.
        """
        self._load, self._drafting = load, drafting
        self._started = asyncio.get_running_loop().create_future()
        self._supervisor.start()
        return await self._started

    async def configure(self, drafting: ConfigureDrafting) -> None:
        """Change drafter and policy for the generations that follow."""
        self._drafting = drafting
        self._send(drafting)

    async def generate(self, command: Generate) -> GenerationFinished:
        """Generate one reply; its events reach `on_event` meanwhile.

        It survives the death of the engine. Cancelling this call stops it.

        Raises:
            EngineError: the request was refused, engines died twice over it without a token, or
                there is no engine any more.
        """
        await self._available()
        asked = Asked(command, self._n_asked, asyncio.get_running_loop().time)
        self._n_asked += 1
        self._asked[command.request] = asked
        try:
            self._send(asked.command())
            return await asked.reply
        except asyncio.CancelledError:
            await self.cancel(command.request)
            raise
        except EngineError:
            self._settled(command.request)
            raise

    async def calibrate(self, command: Calibrate) -> Calibrated:
        """Measure what a target pass costs, with no generation under way.

        Cancelling this call stops the measuring.

        Raises:
            EngineError: it was refused or makes no sense, or the engine died over it.
        """
        await self._available()
        measured: asyncio.Future[Calibrated] = asyncio.get_running_loop().create_future()
        self._measured[command.request] = measured
        try:
            self._send(command)
            return await measured
        except asyncio.CancelledError:
            self._send(Cancel(request=command.request))
            raise
        finally:
            self._measured.pop(command.request, None)

    async def cancel(self, request: int) -> None:
        """Stop a generation; its `generate` returns with stop_reason `cancelled`."""
        asked = self._asked.get(request)
        if asked is not None:
            asked.cancelled = True
            if not self._ready.is_set():
                self._end_early(request, asked)  # no engine works for it now
                return
        self._send(Cancel(request=request))

    async def index(self, command: IndexDocument) -> DocumentIndexed:
        """Put a file into the workspace corpus, now and after every restart.

        Raises:
            EngineError: it cannot be sent, there is no engine any more, or it was closed.
        """
        await self._available()
        wire.frame(command)
        waiter = self._documents.put(command)
        self._send(command)
        if self._supervisor.link is not None:
            # Many at once need not all be copied into the buffer.
            await self._supervisor.link.drain()
        return await waiter

    async def forget(self, path: str) -> None:
        """Take a file out of the workspace corpus."""
        self._documents.forget(path)
        self._send(ForgetDocument(path=path))

    async def reset(self, *, keep_cache: bool = False) -> None:
        """Drop corpora, α and, unless told otherwise, cached sequences."""
        self._documents.clear()
        self._send(ResetSession(keep_cache=keep_cache))

    async def close(self) -> None:
        """End the child, by force if it does not end by itself. Safe to call twice."""
        closed = EngineError("the engine was closed")
        self._send(Shutdown())
        for request in self._asked:
            self._send(Cancel(request=request))
        await self._supervisor.close(_CLOSE_S)
        self.give_up(self._failure or closed)

    # ── the child ────────────────────────────────────────────────────────────────────────────────

    def opening(self) -> list[EngineCommand]:
        """See `Ward`."""
        assert self._load is not None
        return [self._drafting, replace(self._load, spoken=tuple(sorted(self._spoken)))]

    async def settle(self, link: Link) -> None:
        """See `Ward`."""
        n_restarts = self._supervisor.n_children - 1
        if n_restarts:
            for document in self._documents.again():
                link.send(document)
                await link.drain()
            self._on_event(EngineRestarted(n_restarts=n_restarts))
            for request, asked in list(self._asked.items()):
                if not self._end_early(request, asked):
                    link.send(asked.command())
        self._ready.set()

    def owes(self) -> bool:
        """See `Ward`."""
        n_open = self.context.n_open + self._documents.n_waiting
        return bool(self._asked or self._measured or n_open)

    def goes_on_after(self, how: str, *, may_restart: bool) -> bool:
        """See `Ward`."""
        self._ready.clear()
        if self._failure is not None:  # the model was refused, and whoever waits knows
            self.give_up(self._failure)
            return False
        failure = EngineError(f"the engine process {how}", _HINT)
        hint = "it is started again and goes on from there" if may_restart else _HINT
        self._report(failure.message, hint, restarting=may_restart)
        for measured in self._measured.values():
            _reject(measured, failure)
        self.context.fail(failure)
        if may_restart:
            self._pass_on(failure)
        else:
            self.give_up(failure)
        return may_restart

    def _pass_on(self, failure: EngineError) -> None:
        """Sort what was under way: some of it is done, some of it killed two engines."""
        for event in self._documents.died():
            self.take(event)
        for request, asked in list(self._asked.items()):
            if asked.died():
                self._end_early(request, asked)
                continue
            twice = EngineError(f"{failure.message}, twice over this reply", "see the engine's log")
            _reject(asked.reply, twice)
            self._settled(request)

    def give_up(self, failure: EngineError) -> None:
        """See `Ward`."""
        self._failure = failure
        if self._started is not None:
            _reject(self._started, failure)
        for asked in self._asked.values():
            _reject(asked.reply, failure)
        self._asked.clear()
        for measured in self._measured.values():
            _reject(measured, failure)
        self.context.fail(failure)
        self._documents.fail(failure)
        self._ready.set()  # whoever waits goes on, to be refused

    def _report(self, message: str, hint: str, *, restarting: bool) -> None:
        self._on_event(
            EngineFailed(
                message=message, hint=hint, log_path=str(self._log_path), restarting=restarting
            )
        )

    # ── what it says ─────────────────────────────────────────────────────────────────────────────

    def take_malformed(self, message: str) -> None:
        """See `Ward`."""
        if self.owes():
            # It may have been what somebody waits for; the next engine will say it again.
            raise wire.OutOfStep(message)
        said = f"the engine said what is no event: {message}"
        self._on_event(RequestRefused(request=0, message=said, hint="it goes on"))

    def take(self, event: EngineEvent) -> None:
        """Give an event to whoever waits for it, then to everybody."""
        if not self.context.take(event):
            self._take(event)

    def _take(self, event: EngineEvent) -> None:
        match event:
            case ModelLoaded():
                self._supervisor.loaded()
                if self._started is not None:
                    _resolve(self._started, event)
            case EngineFailed():
                self._cannot_load(EngineError(event.message, event.hint))
                return
            case PrefillProgressed() if asked := self._asked.get(event.request):
                asked.prefilled(event)
            case StepCommitted() if asked := self._asked.get(event.request):
                event = asked.step(event)
            case GenerationFinished() if asked := self._asked.get(event.request):
                event = asked.finish(event)
                self._settled(event.request)
                _resolve(asked.reply, event)
            case RequestRefused() if asked := self._asked.get(event.request):
                self._settled(event.request)
                _reject(asked.reply, EngineError(event.message, event.hint))
            case Calibrated() if event.request in self._measured:
                _resolve(self._measured[event.request], event)
            case RequestRefused() if event.request in self._measured:
                _reject(self._measured[event.request], EngineError(event.message, event.hint))
                return  # whoever asked says so, with what follows from it
            case DocumentIndexed():
                if not self._documents.answered(event):
                    return  # it was in the corpus of the engine before
            case _:
                pass
        self._on_event(event)

    def _cannot_load(self, failure: EngineError) -> None:
        """The model was refused, which another engine would do as well."""
        if self._started is not None and self._started.done():
            self._report(failure.message, failure.hint, restarting=False)
        self.give_up(failure)
        if self._supervisor.link is not None:
            self._supervisor.link.kill("could not load the model")

    def _end_early(self, request: int, asked: Asked) -> bool:
        """End a generation that needs no engine any more; returns whether it was one."""
        event = asked.ended()
        if event is None:
            return False
        self._settled(request)
        _resolve(asked.reply, event)
        self._on_event(event)
        return True

    def _settled(self, request: int) -> None:
        """A generation is over, in whichever way."""
        asked = self._asked.pop(request, None)
        if asked is not None:
            self._spoken.add(asked.index)

    async def _available(self) -> None:
        """Return once there is an engine.

        Raises:
            EngineError: there will be none.
        """
        await self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def _send(self, command: EngineCommand) -> None:
        self._supervisor.send(command)


def _resolve(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)


def _reject(future: asyncio.Future[Any], failure: EngineError) -> None:
    if not future.done():
        future.set_exception(failure)
