"""The engine process: holds the model, the cache, the corpora and the drafters.

`python -m agspec_tui.engine.child FD` serves one socket. A reader thread takes commands off the
wire, so that a cancel reaches a decode that is under way; a writer thread sends events, so that the
decode loop never waits for the reader at the other end; an indexing thread keeps the workspace
corpus up to date meanwhile. When the socket closes, the process ends.
"""

import contextlib
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

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
from agspec_tui.engine.command_queue import CommandQueue
from agspec_tui.engine.context_commands import ContextCommands
from agspec_tui.engine.event_writer import EventWriter
from agspec_tui.engine.indexed_files import IndexedFiles
from agspec_tui.engine.indexing import IndexingThread
from agspec_tui.engine.loaded import loaded_event
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.memory_limit import limit_memory, spare_the_collector
from agspec_tui.engine.pulse import Pulse
from agspec_tui.engine.recording import (
    RecordedCacheDrop,
    RecordedLine,
    RecordedReset,
    RecordedSettings,
    Recorder,
)
from agspec_tui.engine.scripted import SCHEME, ScriptedBackend
from agspec_tui.engine.types import Backend, Cancelled
from agspec_tui.errors import AgspecError, EngineError
from agspec_tui.events import (
    DocumentIndexed,
    EngineEvent,
    EngineFailed,
    RequestRefused,
)
from agspec_tui.policy.choose import make_policy

_END_S = 1.0
"""Seconds that a command has to end once nobody listens any more."""


class EngineProcess:
    """Carries out commands in their order, replies side by side; cancels take effect at once."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._commands = CommandQueue()
        self._indexing = IndexingThread(self._serve)
        self._pulse = Pulse()
        self._events = EventWriter(connection, self._pulse)
        self._cancelled: set[int] = set()
        self._has_ended = threading.Event()
        self._running: set[int] = set()
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
        self._events.start()
        self._indexing.start()
        while self._goes_on():
            self._step()
        self._events.close()
        self._has_ended.set()

    def _goes_on(self) -> bool:
        """Carry out the commands whose turn it is; False once the process is to end.

        Replies are begun as soon as there is a sequence for them. Every other command waits until
        none is under way, and what was sent after it waits behind it.
        """
        while (queued := self._commands.front(wait=not self._is_decoding)) is not None:
            command, hold = queued
            if not isinstance(command, Generate) and self._is_decoding:
                break
            if isinstance(command, Shutdown):
                return False
            with hold or contextlib.nullcontext():
                if not self._serve(command):
                    break
            self._commands.pop()
        return True

    @property
    def _is_decoding(self) -> bool:
        return self._decoder is not None and bool(self._decoder.active)

    def _step(self) -> None:
        """One pass of the target, if a reply is under way. Nothing gets past this boundary."""
        decoder = self._decoder
        if decoder is None or not decoder.active:
            return
        try:
            over = decoder.step(self._is_cancelled)
        except MemoryError as error:
            lifeline.end_by(error)
        except Exception as error:
            over = decoder.fail(_internal(error))
        if over:
            self._events.flush()
        for one in over:
            self._running.discard(one.request)
            self._cancelled.discard(one.request)
            if one.failure is not None:
                self._refuse(one.command, one.failure)

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
        self._cancelled |= self._running
        if self._backend is not None:
            self._backend.abort(on=True)
        self._commands.put(Shutdown())
        if code or not self._has_ended.wait(_END_S):
            os._exit(code)  # in the midst of a load, perhaps: nobody is left to tell

    def _accept(self, body: bytes) -> None:
        try:
            command = wire.decode_command(body)
        except wire.Malformed as error:
            self._events.put(
                RequestRefused(request=0, message=f"unknown command: {error}", hint="")
            )
            return
        match command:
            case Cancel():
                self._cancelled.add(command.request)
                if self._backend is not None and command.request in self._running:
                    self._backend.abort(on=True)
            case IndexDocument() | ForgetDocument():
                self._indexing.put(command)
            case Ping():
                self._events.put(self._pulse.pong(command.number))
            case CountTokens():  # at once: whoever plans a prompt waits for it
                self._serve(command)
            case Generate() | Shutdown():
                self._commands.put(command)
            case _:
                self._commands.put(command, self._indexing.hold())

    def _emit_step(self, event: EngineEvent) -> None:
        """An event of the decode loop."""
        if self._recorder is not None:
            self._recorder.take(event)
        self._events.hold(event)

    def _complain(self, message: str) -> None:
        self._events.put(RequestRefused(request=0, message=message, hint="free some space"))

    # ── commands ─────────────────────────────────────────────────────────────────────────────────

    def _serve(self, command: EngineCommand) -> bool:
        """Carry out one command. This is the engine process boundary: nothing gets past it.

        Returns:
            False for a reply that must wait until another one has ended.
        """
        self._pulse.beat()
        try:
            if isinstance(command, Generate):
                return self._generate(command)
            self._dispatch(command)
        except MemoryError as error:
            lifeline.end_by(error)  # what else it left half done cannot be known
        except AgspecError as error:
            self._refuse(command, error)
        except Exception as error:
            self._refuse(command, _internal(error))
        return True

    def _refuse(self, command: EngineCommand, error: AgspecError) -> None:
        """Answer a command that could not be carried out, in the form its sender waits for."""
        match command:
            case LoadModel():
                failed = EngineFailed(
                    message=error.message, hint=error.hint, log_path="", restarting=False
                )
                self._events.put(failed)
            case IndexDocument():
                skipped = DocumentIndexed(
                    path=command.path, n_tokens=0, n_corpus_tokens=0, skipped=error.message
                )
                self._events.put(skipped)
            case _:
                if isinstance(command, ConfigureDrafting):
                    # Nobody waits for an answer; the next reply must not come by older settings.
                    self._refused = error
                request = command.request if isinstance(command, ANSWERED) else 0
                self._events.put(
                    RequestRefused(request=request, message=error.message, hint=error.hint)
                )

    def _dispatch(self, command: EngineCommand) -> None:
        match command:
            case LoadModel():
                self._load(command)
            case ConfigureDrafting():
                self._configure(command)
            case IndexDocument() | ForgetDocument():
                self._index(command)
            case ResetSession():
                self._ready()[1].reset(keep_cache=command.keep_cache)
                self._record(RecordedReset(keep_cache=command.keep_cache))
            case Calibrate():
                self._calibrate(command)
            case CountTokens() | SaveCache() | RestoreCache():
                if self._context is None:
                    raise EngineError("no model is loaded", "load one first")
                self._events.put(self._context.answer(command))
            case Generate() | Cancel() | Ping() | Shutdown():
                """Taken off the wire by the reader, or served by `_goes_on`."""

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
        recorder, flush = self._recorder, self._events.flush
        decoder = self._decoder = Decoder(
            backend, drafter, policy, self._emit_step, command.n_seq_max, recorder, flush
        )
        self._context = ContextCommands(command, backend, decoder.prompts, decoder.cache)
        spare_the_collector()
        load_s = time.perf_counter() - started
        self._events.put(loaded_event(command, backend, load_s, rollback=decoder.rollback))

    def _configure(self, command: ConfigureDrafting) -> None:
        self._refused = None
        if self._decoder is not None and self._drafters is not None:
            reconfigure(self._decoder, self._drafters, self._settings, command)
        else:
            make_policy(command)
            require_drafter(command.drafter)
        self._record(RecordedSettings(settings=command))
        self._settings = command

    def _generate(self, command: Generate) -> bool:
        """Begin a reply; False if there is no room for it yet."""
        _, decoder = self._ready()
        if self._refused is not None:
            raise self._refused
        if self._recorder is not None:
            self._generate_recorded(command, decoder, self._recorder)
            return True
        if decoder.begin(command) is None:
            return False
        self._running.add(command.request)
        return True

    def _generate_recorded(self, command: Generate, decoder: Decoder, recorder: Recorder) -> None:
        """A reply that is recorded is decoded alone."""
        command = msgspec.structs.replace(command, batch=1)
        pieces = decoder.pieces(command)
        with self._cancellable(command.request) as cancelled:
            recorder.record(command, pieces, lambda: decoder.generate(command, cancelled, pieces))

    def _calibrate(self, command: Calibrate) -> None:
        backend, decoder = self._ready()
        decoder.drop_cache()
        self._record(RecordedCacheDrop())
        try:
            with self._cancellable(command.request) as cancelled:
                self._events.put(measure(backend, command, cancelled))
        except Cancelled:
            raise EngineError("the measuring was cancelled") from None

    @contextlib.contextmanager
    def _cancellable(self, request: int) -> Iterator[Callable[[], bool]]:
        """While the target works for a request; gives what says whether it was cancelled."""
        backend, _ = self._ready()
        self._running.add(request)
        backend.abort(on=False)
        try:
            yield lambda: self._is_cancelled(request)
        finally:
            self._running.discard(request)
            self._cancelled.discard(request)
            self._events.flush()  # ahead of what is said of a failure

    def _is_cancelled(self, request: int) -> bool:
        """Whether the request was cancelled; asked between two passes."""
        self._pulse.beat()
        return request in self._cancelled

    def _index(self, command: IndexDocument | ForgetDocument) -> None:
        backend, decoder = self._ready()
        files = IndexedFiles(backend, decoder, self._recorder)
        if isinstance(command, ForgetDocument):
            files.forget(command.path)
        else:
            self._events.put(files.index(command))

    def _record(self, line: RecordedLine) -> None:
        if self._recorder is not None:
            self._recorder.write(line)

    def _ready(self) -> tuple[Backend, Decoder]:
        if self._backend is None or self._decoder is None:
            raise EngineError("no model is loaded", "load one first")
        return self._backend, self._decoder


def _internal(error: Exception) -> AgspecError:
    """What is said of an error that should not have happened; call it while it is handled."""
    traceback.print_exc()
    message = f"internal error in the engine: {type(error).__name__}: {error}"
    return AgspecError(message, "see the engine's log")


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
