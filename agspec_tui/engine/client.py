"""The UI process's side of the engine: starts the child, talks to it, and starts it again.

A dead child becomes an `EngineFailed` event; a new one is loaded with the same settings and given
the same documents, and `EngineRestarted` follows. Sequences need no care: every `Generate` carries
its whole transcript, so the next turn simply reads its prompt again.
"""

import asyncio
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

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
from agspec_tui.errors import EngineError
from agspec_tui.events import (
    Calibrated,
    DocumentIndexed,
    EngineEvent,
    EngineFailed,
    EngineRestarted,
    GenerationFinished,
    ModelLoaded,
    RequestRefused,
)

T = TypeVar("T")

_MAX_RESTARTS = 5
_CLOSE_S = 2.0
_CHILD_ENV = {
    "PYTHONUNBUFFERED": "1",
    # Decoding threads wait for each other some hundred times a token. By default they spin for
    # milliseconds, and starve each other as soon as anything else runs; without spinning, every
    # wait costs a system call. Two cores, 1.5B Q4_K_M, ms a token on a quiet machine / beside one
    # busy process: this 93 / 200, no spinning 117 / 184, the default 92 / not measured; of a 135M
    # model beside other work the default took 800 to 1,260 ms, no spinning 36 to 41.
    "GOMP_SPINCOUNT": "1000",
}


class EngineClient:
    """One engine process and its successors. Use it from one event loop."""

    def __init__(self, on_event: Callable[[EngineEvent], None], log_dir: Path) -> None:
        """Report events to `on_event`; keep the child's stderr in `log_dir`/engine.log."""
        self._on_event = on_event
        self._log_path = log_dir / "engine.log"
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._load: LoadModel | None = None
        self._drafting = ConfigureDrafting()
        self._documents: dict[str, IndexDocument] = {}
        self._loaded: asyncio.Future[ModelLoaded] | None = None
        self._replies: dict[int, asyncio.Future[GenerationFinished]] = {}
        self._measured: dict[int, asyncio.Future[Calibrated]] = {}
        self._indexed: dict[str, deque[asyncio.Future[DocumentIndexed]]] = {}
        self._ready = asyncio.Event()
        self._failure: EngineError | None = None
        self._n_restarts = 0
        self._closing = False

    @property
    def pid(self) -> int | None:
        """Process id of the present child; None without one."""
        return self._process.pid if self._process is not None else None

    async def start(self, load: LoadModel, drafting: ConfigureDrafting) -> ModelLoaded:
        """Start the child and load the model.

        Raises:
            EngineError: the model could not be loaded, or the child died over it.
        """
        self._load, self._drafting = load, drafting
        return await self._launch()

    async def configure(self, drafting: ConfigureDrafting) -> None:
        """Change drafter and policy for the generations that follow."""
        self._drafting = drafting
        await self._send(drafting)

    async def generate(self, command: Generate) -> GenerationFinished:
        """Generate one reply; its events reach `on_event` meanwhile.

        Raises:
            EngineError: the request was refused, or the engine died; the next call works again
                once the new engine is up, for which it waits.
        """
        await self._ready.wait()
        if self._failure is not None:
            raise self._failure
        reply: asyncio.Future[GenerationFinished] = asyncio.get_running_loop().create_future()
        self._replies[command.request] = reply
        try:
            await self._send(command)
            return await reply
        finally:
            self._replies.pop(command.request, None)

    async def calibrate(self, command: Calibrate) -> Calibrated:
        """Measure what a target pass costs, with no generation under way.

        Cancelling this call stops the measuring.

        Raises:
            EngineError: it was refused or makes no sense, or the engine died over it.
        """
        await self._ready.wait()
        if self._failure is not None:
            raise self._failure
        measured: asyncio.Future[Calibrated] = asyncio.get_running_loop().create_future()
        self._measured[command.request] = measured
        try:
            await self._send(command)
            return await measured
        except asyncio.CancelledError:
            await self._send(Cancel(request=command.request))
            raise
        finally:
            self._measured.pop(command.request, None)

    async def cancel(self, request: int) -> None:
        """Stop a generation; its `generate` returns with stop_reason `cancelled`."""
        await self._send(Cancel(request=request))

    async def index(self, command: IndexDocument) -> DocumentIndexed:
        """Put a file into the workspace corpus, now and after every restart.

        Raises:
            EngineError: the engine died, or was closed.
        """
        await self._ready.wait()
        if self._failure is not None:
            raise self._failure
        self._documents[command.path] = command
        return await self._index(command)

    async def _index(self, command: IndexDocument) -> DocumentIndexed:
        done: asyncio.Future[DocumentIndexed] = asyncio.get_running_loop().create_future()
        # Answers to one path come in the order of its commands.
        self._indexed.setdefault(command.path, deque()).append(done)
        await self._send(command)
        return await done

    async def forget(self, path: str) -> None:
        """Take a file out of the workspace corpus."""
        self._documents.pop(path, None)
        await self._send(ForgetDocument(path=path))

    async def reset(self, *, keep_cache: bool = False) -> None:
        """Drop corpora, α and, unless told otherwise, cached sequences."""
        self._documents.clear()
        await self._send(ResetSession(keep_cache=keep_cache))

    async def close(self) -> None:
        """End the child, by force if it does not end by itself. Safe to call twice."""
        self._closing = True
        closed = EngineError("the engine was closed")
        self._failure = self._failure or closed
        process, self._process = self._process, None
        if process is None:
            return
        await self._send(Shutdown())
        for request in self._replies:
            await self._send(Cancel(request=request))
        try:
            await asyncio.wait_for(process.wait(), _CLOSE_S)
        except TimeoutError:
            process.kill()
            await process.wait()
        if self._watcher is not None:
            await self._watcher
        self._fail_waiters(closed)

    # ── the child ────────────────────────────────────────────────────────────────────────────────

    async def _launch(self) -> ModelLoaded:
        assert self._load is not None
        ours, theirs = socket.socketpair()
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        with theirs, self._log_path.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "agspec_tui.engine.child",
                str(theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # no terminal: neither its keys nor its signals
                env=_CHILD_ENV | os.environ,
            )
        reader, self._writer = await asyncio.open_connection(sock=ours)
        self._loaded = asyncio.get_running_loop().create_future()
        self._watcher = asyncio.create_task(self._watch(self._process, reader, self._writer))
        await self._send(self._drafting)
        await self._send(self._load)
        loaded = await self._loaded
        self._failure = None
        self._ready.set()
        return loaded

    async def _watch(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Read events until the stream ends, then deal with the end of the child."""
        frames = wire.FrameReader()
        try:
            while chunk := await reader.read(1 << 16):
                for body in frames.push(chunk):
                    self._take(wire.event_decoder.decode(body))
        except (OSError, wire.OutOfStep, ValueError):
            process.kill()
        writer.close()
        code = await process.wait()
        if not self._closing:
            await self._recover(_how_it_ended(code))

    def _take(self, event: EngineEvent) -> None:
        match event:
            case ModelLoaded() if self._loaded is not None and not self._loaded.done():
                self._loaded.set_result(event)
            case EngineFailed() if self._loaded is not None and not self._loaded.done():
                self._loaded.set_exception(EngineError(event.message, event.hint))
                return  # `start` raises it; `_recover` reports it after a restart
            case GenerationFinished() if event.request in self._replies:
                _resolve(self._replies[event.request], event)
            case RequestRefused() if event.request in self._replies:
                _reject(self._replies[event.request], EngineError(event.message, event.hint))
            case Calibrated() if event.request in self._measured:
                _resolve(self._measured[event.request], event)
            case RequestRefused() if event.request in self._measured:
                _reject(self._measured[event.request], EngineError(event.message, event.hint))
                return  # whoever asked says so, with what follows from it
            case DocumentIndexed() if self._indexed.get(event.path):
                _resolve(self._indexed[event.path].popleft(), event)
            case _:
                pass
        self._on_event(event)

    async def _recover(self, how: str) -> None:
        """Report the end of the child; start another one if the model had been loaded."""
        had_loaded = self._ready.is_set()
        self._ready.clear()
        hint = "start again with a smaller model or context"
        failure = EngineError(f"the engine process {how}", hint)
        if self._loaded is not None and not self._loaded.done():
            self._loaded.set_exception(failure)
        restarting = had_loaded and self._n_restarts < _MAX_RESTARTS
        self._report(failure.message, "the next turn will work" if restarting else hint, restarting)
        self._fail_waiters(failure)
        if not restarting:
            self._give_up(failure)
            return
        self._n_restarts += 1
        try:
            await self._launch()
            for document in self._documents.values():
                await self._index(document)
        except EngineError as error:
            self._report(error.message, error.hint, restarting=False)
            self._give_up(error)
            return
        self._on_event(EngineRestarted(n_restarts=self._n_restarts))

    def _give_up(self, failure: EngineError) -> None:
        self._failure = failure
        self._ready.set()  # waiting generations go on, to be refused

    def _report(self, message: str, hint: str, restarting: bool) -> None:
        self._on_event(
            EngineFailed(
                message=message, hint=hint, log_path=str(self._log_path), restarting=restarting
            )
        )

    def _fail_waiters(self, failure: EngineError) -> None:
        for reply in self._replies.values():
            _reject(reply, failure)
        for measured in self._measured.values():
            _reject(measured, failure)
        for waiting in self._indexed.values():
            for done in waiting:
                _reject(done, failure)
        self._indexed.clear()

    async def _send(self, command: EngineCommand) -> None:
        if self._writer is None or self._writer.is_closing():
            return  # the watcher reports the end of the child and fails whoever waits
        self._writer.write(wire.frame(command))
        try:
            await self._writer.drain()
        except ConnectionError:
            return


def _resolve(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)


def _reject(future: asyncio.Future[Any], failure: EngineError) -> None:
    if not future.done():
        future.set_exception(failure)


_ENDS = {
    signal.SIGKILL: "was killed, perhaps for want of memory",
    signal.SIGSEGV: "crashed",
    signal.SIGABRT: "aborted, perhaps for want of memory on the device",
}


def _how_it_ended(code: int) -> str:
    """What an exit code means; negative codes are signals."""
    if code >= 0:
        return f"ended with exit code {code}"
    how = next((text for number, text in _ENDS.items() if number == -code), "was ended")
    return f"{how} (signal {-code})"
