"""One child process and the stream to it, as the UI process sees them."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from agspec_tui.commands import EngineCommand
from agspec_tui.engine import lifeline, wire

_END_S = 5.0
"""Seconds that a process has to end once its stream did, and again once it was killed."""
_CHILD_ENV = {
    "PYTHONUNBUFFERED": "1",
    "PYTHONFAULTHANDLER": "1",  # where a crash happened stands in the log
    # Decoding threads wait for each other some hundred times a token. By default they spin for
    # milliseconds, and starve each other as soon as anything else runs; without spinning, every
    # wait costs a system call. Two cores, 1.5B Q4_K_M, ms a token on a quiet machine / beside one
    # busy process: this 93 / 200, no spinning 117 / 184, the default 92 / not measured; of a 135M
    # model beside other work the default took 800 to 1,260 ms, no spinning 36 to 41.
    "GOMP_SPINCOUNT": "1000",
}


class Link:
    """A running child. `send` never waits; `serve` reads until the child is gone."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Take over a process and its stream; see `start`."""
        self._process = process
        self._reader = reader
        self._writer = writer
        self._verdict = ""

    @classmethod
    async def start(cls, log_path: Path) -> "Link":
        """Start a child whose output goes to `log_path`.

        Raises:
            OSError: the system gives no process, or the log cannot be written.
        """
        log_path.parent.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        try:
            with theirs, log_path.open("ab") as log:
                process = await asyncio.create_subprocess_exec(
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
        except BaseException:
            ours.close()
            raise
        reader, writer = await asyncio.open_connection(sock=ours)
        return cls(process, reader, writer)

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._process.pid

    def send(self, command: EngineCommand) -> None:
        """Put a command into the buffer of the stream; without a reader it is lost.

        Raises:
            EngineError: it is too long for a frame.
        """
        if not self._writer.is_closing():
            self._writer.write(wire.frame(command))

    async def drain(self) -> None:
        """Wait until most of what was sent is on its way, or the child is gone."""
        try:
            await self._writer.drain()
        except ConnectionError:
            return

    def kill(self, verdict: str) -> None:
        """End the child by force.

        Args:
            verdict: why, to follow "the engine process".
        """
        self._verdict = self._verdict or verdict
        if self._process.returncode is None:
            self._process.kill()

    async def serve(self, take: Callable[[bytes], None]) -> str:
        """Hand over the bodies of frames until the child is gone.

        Args:
            take: takes a body. If it raises `wire.OutOfStep` the child is killed.

        Returns:
            How the child ended, to follow "the engine process".
        """
        frames = wire.FrameReader()
        try:
            while chunk := await self._reader.read(1 << 16):
                for body in frames.push(chunk):
                    take(body)
        except wire.OutOfStep as error:
            self.kill(f"sent what cannot be read: {error}")
        except OSError:
            pass
        finally:
            self._writer.close()
        return await self._end()

    async def _end(self) -> str:
        for _ in range(2):
            try:
                code = await asyncio.wait_for(self._process.wait(), _END_S)
            except TimeoutError:
                self.kill("closed its stream")
            else:
                return self._verdict or how_it_ended(code)
        return f"{self._verdict} and cannot be ended"


_SIGNALS = {
    signal.SIGKILL: "was killed, perhaps for want of memory",
    signal.SIGSEGV: "crashed",
    signal.SIGABRT: "aborted, perhaps for want of memory",
}
_CODES = {
    lifeline.BROKEN: "met a bug",
    lifeline.OUT_OF_MEMORY: "ran out of memory",
    lifeline.OUT_OF_STEP: "could not read what it was sent",
}


def how_it_ended(code: int) -> str:
    """What an exit code means; negative codes are signals."""
    if code >= 0:
        return _CODES.get(code, f"ended with exit code {code}")
    how = next((text for number, text in _SIGNALS.items() if number == -code), "was ended")
    return f"{how} (signal {-code})"
