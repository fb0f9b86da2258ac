"""The engine process: holds the model, the cache, the corpora and the drafters.

`python -m agspec_tui.engine.child FD` serves one socket. A reader thread takes commands off the
wire, so that a cancel reaches a decode that is under way; a writer thread sends events, so that the
decode loop never waits for the reader at the other end; an indexing thread keeps the workspace
corpus up to date meanwhile. When the socket closes, the process ends.
"""

import contextlib
import os
import queue
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agspec_tui.commands import (
    ANSWERED,
    Calibrate,
    Cancel,
    ConfigureDrafting,
    CountTokens,
    EngineCommand,
    ForgetDocument,
    Generate,
    IndexDocument,
    LoadModel,
    Ping,
    ResetSession,
    RestoreCache,
    SaveCache,
    Shutdown,
)
from agspec_tui.drafting.choose import require_drafter
from agspec_tui.engine import lifeline, wire
from agspec_tui.engine.calibrate import measure
from agspec_tui.engine.choose_drafter import DrafterMaker, reconfigure
from agspec_tui.engine.context_commands import ContextCommands
from agspec_tui.engine.indexing import Hold, IndexingThread
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.memory_limit import limit_memory
from agspec_tui.engine.pulse import Pulse
from agspec_tui.engine.recording import (
    RecordedCacheDrop,
    RecordedDocument,
    RecordedForget,
    RecordedLine,
    RecordedReset,
    RecordedSettings,
    Recorder,
)
from agspec_tui.engine.scripted import SCHEME, ScriptedBackend
from agspec_tui.engine.types import Backend, Cancelled, Ids
from agspec_tui.engine_events import Pong
from agspec_tui.errors import AgspecError, EngineError
from agspec_tui.events import (
    DocumentIndexed,
    EngineEvent,
    EngineFailed,
    ModelLoaded,
    RequestRefused,
)
from agspec_tui.policy.choose import make_policy

_END_S = 1.0
"""Seconds that a command has to end once nobody listens any more."""


class EngineProcess:
    """Carries out commands one at a time; cancels take effect at once."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._commands: queue.SimpleQueue[tuple[EngineCommand, Hold | None] | None]
        self._commands = queue.SimpleQueue()
        self._indexing = IndexingThread(self._serve)
        self._events: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._pulse = Pulse()
        self._cancelled: set[int] = set()
        self._has_ended = threading.Event()
        self._running = 0
        self._backend: Backend | None = None
        self._context: ContextCommands | None = None
        self._decoder: Decoder | None = None
        self._drafters: DrafterMaker | None = None
        self._settings = ConfigureDrafting()
        self._recorder: Recorder | None = None
        self._refused: AgspecError | None = None  # why the last settings cannot be had

    def run(self) -> None:
        """Serve until `Shutdown` or the end of the stream."""
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        writer = threading.Thread(target=self._write, name="writer", daemon=True)
        writer.start()
        self._indexing.start()
        while (queued := self._commands.get()) is not None:
            command, hold = queued
            if isinstance(command, Shutdown):
                break
            with hold or contextlib.nullcontext():
                self._serve(command)
        self._events.put(None)
        writer.join(timeout=1.0)
        self._has_ended.set()

    # ── threads ──────────────────────────────────────────────────────────────────────────────────

    def _read(self) -> None:
        reader = wire.FrameReader()
        code = 0
        try:
            while chunk := self._connection.recv(1 << 16):
                for body in reader.push(chunk):
                    self._accept(body)
        except OSError:
            pass
        except wire.OutOfStep:
            code = lifeline.OUT_OF_STEP
        # The other side is gone: stop a decode that is under way, then the main loop.
        self._cancelled.add(self._running)
        if self._backend is not None:
            self._backend.abort(on=True)
        self._commands.put(None)
        if code or not self._has_ended.wait(_END_S):
            os._exit(code)  # in the midst of a load, perhaps: nobody is left to tell

    def _accept(self, body: bytes) -> None:
        try:
            command = wire.decode_command(body)
        except wire.Malformed as error:
            self._emit(RequestRefused(request=0, message=f"unknown command: {error}", hint=""))
            return
        match command:
            case Cancel():
                self._cancelled.add(command.request)
                if self._backend is not None and command.request == self._running:
                    self._backend.abort(on=True)
            case IndexDocument() | ForgetDocument():
                self._indexing.put(command)
            case Ping():
                self._emit(self._pulse.pong(command.number))
            case CountTokens():  # at once: whoever plans a prompt waits for it
                self._serve(command)
            case Generate() | Shutdown():
                self._commands.put((command, None))
            case _:
                self._commands.put((command, self._indexing.hold()))

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while (body := self._events.get()) is not None:
                self._connection.sendall(body)

    def _emit(self, event: EngineEvent | Pong) -> None:
        if not isinstance(event, Pong):
            self._pulse.beat()
        self._events.put(wire.frame(event))

    def _emit_step(self, event: EngineEvent) -> None:
        """An event of the decode loop."""
        if self._recorder is not None:
            self._recorder.take(event)
        self._emit(event)

    def _complain(self, message: str) -> None:
        self._emit(RequestRefused(request=0, message=message, hint="free some space"))

    # ── commands ─────────────────────────────────────────────────────────────────────────────────

    def _serve(self, command: EngineCommand) -> None:
        """Carry out one command. This is the engine process boundary: nothing gets past it."""
        self._pulse.beat()
        try:
            self._dispatch(command)
        except MemoryError as error:
            lifeline.end_by(error)  # what else it left half done cannot be known
        except AgspecError as error:
            self._refuse(command, error)
        except Exception as error:
            traceback.print_exc()
            message = f"internal error in the engine: {type(error).__name__}: {error}"
            self._refuse(command, AgspecError(message, "see the engine's log"))

    def _refuse(self, command: EngineCommand, error: AgspecError) -> None:
        """Answer a command that could not be carried out, in the form its sender waits for."""
        match command:
            case LoadModel():
                failed = EngineFailed(
                    message=error.message, hint=error.hint, log_path="", restarting=False
                )
                self._emit(failed)
            case IndexDocument():
                skipped = DocumentIndexed(
                    path=command.path, n_tokens=0, n_corpus_tokens=0, skipped=error.message
                )
                self._emit(skipped)
            case _:
                if isinstance(command, ConfigureDrafting):
                    # Nobody waits for an answer; the next reply must not come by older settings.
                    self._refused = error
                request = command.request if isinstance(command, ANSWERED) else 0
                self._emit(RequestRefused(request=request, message=error.message, hint=error.hint))

    def _dispatch(self, command: EngineCommand) -> None:
        match command:
            case LoadModel():
                self._load(command)
            case ConfigureDrafting():
                self._configure(command)
            case Generate():
                self._generate(command)
            case IndexDocument():
                self._index(command)
            case ForgetDocument():
                self._forget(command.path)
            case ResetSession():
                self._ready()[1].reset(keep_cache=command.keep_cache)
                self._record(RecordedReset(keep_cache=command.keep_cache))
            case Calibrate():
                self._calibrate(command)
            case CountTokens() | SaveCache() | RestoreCache():
                if self._context is None:
                    raise EngineError("no model is loaded", "load one first")
                self._emit(self._context.answer(command))
            case Cancel() | Ping() | Shutdown():
                """Taken off the wire by the reader, and by `run`."""

    def _load(self, command: LoadModel) -> None:
        started = time.perf_counter()
        backend: Backend
        if command.path.startswith(SCHEME):
            backend = ScriptedBackend(command)
        else:
            limit_memory(command)
            # Loaded here and not above: the scripted backend must run where llama.cpp does not.
            from agspec_tui.engine.llama import LlamaBackend

            backend = LlamaBackend(command)
        self._backend = backend
        self._drafters = DrafterMaker(backend, command)
        drafter, policy = self._drafters.make(self._settings), make_policy(self._settings)
        if command.record:
            self._recorder = Recorder(Path(command.record), self._complain)
            self._recorder.target(command, backend)
            self._recorder.write(RecordedSettings(settings=self._settings))
        self._decoder = Decoder(
            backend, drafter, policy, self._emit_step, command.n_seq_max, self._recorder
        )
        decoder = self._decoder
        self._context = ContextCommands(command, backend, decoder.prompts, decoder.cache)
        self._emit(
            ModelLoaded(
                model=command.name,
                device=backend.device,
                n_ctx=backend.n_ctx,
                n_vocab=backend.n_vocab,
                n_threads=backend.n_threads,
                load_s=time.perf_counter() - started,
                n_exact=backend.n_exact,
                rollback=self._decoder.rollback,
                tokenizer=backend.fingerprint().hex(),
                memory=backend.memory,
                no_rollback=backend.no_rollback,
                servers=command.rpc,
            )
        )

    def _configure(self, command: ConfigureDrafting) -> None:
        self._refused = None
        if self._decoder is not None and self._drafters is not None:
            reconfigure(self._decoder, self._drafters, self._settings, command)
        else:
            make_policy(command)
            require_drafter(command.drafter)
        self._record(RecordedSettings(settings=command))
        self._settings = command

    def _generate(self, command: Generate) -> None:
        _, decoder = self._ready()
        if self._refused is not None:
            raise self._refused
        pieces = decoder.pieces(command)
        recorder = self._recorder
        with self._cancellable(command.request) as cancelled:
            if recorder is None:
                decoder.generate(command, cancelled, pieces)
                return
            with recorder.gate.generating():
                recorder.asked(command, pieces)
                try:
                    decoder.generate(command, cancelled, pieces)
                except AgspecError as error:
                    recorder.refused(command.request, error.message)
                    raise

    def _calibrate(self, command: Calibrate) -> None:
        backend, decoder = self._ready()
        decoder.drop_cache()
        self._record(RecordedCacheDrop())
        try:
            with self._cancellable(command.request) as cancelled:
                self._emit(measure(backend, command, cancelled))
        except Cancelled:
            raise EngineError("the measuring was cancelled") from None

    @contextlib.contextmanager
    def _cancellable(self, request: int) -> Iterator[Callable[[], bool]]:
        """While the target works for a request; gives what says whether it was cancelled."""
        backend, _ = self._ready()
        self._running = request
        backend.abort(on=False)
        try:
            yield lambda: self._is_cancelled(request)
        finally:
            self._running = 0
            self._cancelled.discard(request)

    def _is_cancelled(self, request: int) -> bool:
        """Whether the request was cancelled; asked between two passes."""
        self._pulse.beat()
        return request in self._cancelled

    def _index(self, command: IndexDocument) -> None:
        backend, decoder = self._ready()
        views = [(view.name, backend.tokenize(view.text, special=False)) for view in command.views]
        with self._recorder.gate.change() if self._recorder else contextlib.nullcontext():
            self._record_document(command.path, views)
            n_corpus = decoder.drafter.index(command.path, views)
        ids = (ids for _, ids in views)
        decoder.lines.add(command.path, list(zip(command.views, ids, strict=True)))
        self._emit(
            DocumentIndexed(
                path=command.path,
                n_tokens=sum(len(ids) for _, ids in views),
                n_corpus_tokens=n_corpus,
                skipped="",
            )
        )

    def _forget(self, path: str) -> None:
        _, decoder = self._ready()
        with self._recorder.gate.change() if self._recorder else contextlib.nullcontext():
            self._record(RecordedForget(path=path))
            decoder.drafter.forget(path)
        decoder.lines.forget(path)

    def _record(self, line: RecordedLine) -> None:
        if self._recorder is not None:
            self._recorder.write(line)

    def _record_document(self, path: str, views: Sequence[tuple[str, Ids]]) -> None:
        if self._recorder is not None:
            listed = tuple((name, tuple(ids.tolist())) for name, ids in views)
            self._recorder.write(RecordedDocument(path=path, views=listed))

    def _ready(self) -> tuple[Backend, Decoder]:
        if self._backend is None or self._decoder is None:
            raise EngineError("no model is loaded", "load one first")
        return self._backend, self._decoder


def main() -> None:
    """Serve the socket whose file descriptor is the only argument."""
    lifeline.die_with_parent()
    lifeline.end_with_any_thread()
    connection = socket.socket(fileno=int(sys.argv[1]))
    try:
        EngineProcess(connection).run()
    except MemoryError as error:
        lifeline.end_by(error)
    sys.stdout.flush()
    # Freeing a large model at exit takes time and gains nothing.
    os._exit(0)


if __name__ == "__main__":
    main()
