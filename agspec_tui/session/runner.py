"""Runs one command: own process group, no terminal, no input, a time limit, bounded output."""

import asyncio
import codecs
import contextlib
import os
import secrets
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from agspec_tui.errors import ToolError
from agspec_tui.session.output import OutputBuffer

QUIET_ENVIRONMENT: Mapping[str, str] = {
    "BROWSER": "true",
    "CI": "1",
    "COLUMNS": "100",
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "true",
    "GCM_INTERACTIVE": "never",
    "GIT_ASKPASS": "false",
    "GIT_CONFIG_COUNT": "1",
    # A repository's own configuration may name a program for fsmonitor: never run it.
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_EDITOR": "true",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_TERMINAL_PROMPT": "0",
    "HGEDITOR": "true",
    "MANPAGER": "cat",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "PIP_NO_INPUT": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "SSH_ASKPASS": "false",
    "SSH_ASKPASS_REQUIRE": "never",
    "SUDO_ASKPASS": "false",
    "SVN_EDITOR": "true",
    "SYSTEMD_PAGER": "cat",
    "TERM": "dumb",
    "VISUAL": "true",
}
"""What every command finds in its environment, so that nothing asks, pages or colours."""

_FORCED_COLOUR = ("CLICOLOR_FORCE", "FORCE_COLOR", "PY_COLORS")
_RUN_MARK = "AGSPEC_RUN"
_EOF_GRACE_S = 1.0
_TERM_GRACE_S = 2.0
_CANCEL_GRACE_S = 0.15
_READ_BYTES = 1 << 16
_READS_PER_WAKE = 16


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended, and what it printed."""

    command: str
    """The command line."""
    exit_code: int
    """Its exit code; negative for a signal."""
    timed_out: bool
    """True if the time limit ended it."""
    output: str
    """Standard output and error in the order they came; cleaned, head and tail."""
    n_cut_chars: int
    """Characters left out of `output`."""
    wall_s: float
    """Seconds it ran."""


async def run(
    command: str | tuple[str, ...],
    cwd: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    *,
    without: Collection[str] = (),
    confined: Callable[[tuple[str, ...]], tuple[str, ...]] | None = None,
    masked: Callable[[str], str] = str,
) -> CommandResult:
    """Run a command and wait for its end, for `timeout_s` seconds at most.

    Nothing that it started is left running: background processes that outlive it are ended too.
    Cancelling the task ends the command within half a second.

    Args:
        command: a line for `/bin/sh`, or the arguments of a program.
        cwd: the folder to run it in.
        timeout_s: time limit in seconds; at the limit the process group gets SIGTERM, then SIGKILL.
        env: additions to the environment; they win over `QUIET_ENVIRONMENT`.
        without: variables of our own environment that it does not get.
        confined: turns a program and its arguments into those that run it in a sandbox; None to
            run it as it is.
        masked: takes secrets out of the output, before it is cut.

    Raises:
        ToolError: the command could not be started.
    """
    started = time.monotonic()
    mark = secrets.token_hex(8)
    argv = ("/bin/sh", "-c", command) if isinstance(command, str) else command
    argv = confined(argv) if confined is not None else argv
    process, read_fd = _begin(argv, _shown(command), cwd, _environment(mark, env, without))
    pipe = _Pipe(read_fd)
    timed_out = False
    try:
        try:
            async with asyncio.timeout(timeout_s):
                await _exited(process)
        except TimeoutError:
            timed_out = True
        await _settle(process, pipe, mark, timed_out=timed_out)
    except asyncio.CancelledError:
        _signal_all(process, mark, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CANCEL_GRACE_S):
                await _exited(process)
        raise
    finally:
        # Also reached when a second cancellation cuts the grace period short.
        _signal_all(process, mark, signal.SIGKILL)
        pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1.0)
    output, n_cut_chars = pipe.buffer.result(masked)
    exit_code = process.returncode if process.returncode is not None else -signal.SIGKILL
    wall_s = time.monotonic() - started
    return CommandResult(_shown(command), exit_code, timed_out, output, n_cut_chars, wall_s)


def _shown(command: str | tuple[str, ...]) -> str:
    return command if isinstance(command, str) else shlex.join(command)


def _environment(
    mark: str, additions: Mapping[str, str] | None, without: Collection[str]
) -> dict[str, str]:
    left_out = {*_FORCED_COLOUR, *without}
    environment = {k: v for k, v in os.environ.items() if k not in left_out}
    return environment | dict(QUIET_ENVIRONMENT) | dict(additions or {}) | {_RUN_MARK: mark}


def _begin(
    argv: tuple[str, ...], shown: str, cwd: Path, environment: dict[str, str]
) -> tuple[subprocess.Popen[bytes], int]:
    """The started process, and the read end of its output."""
    read_fd, write_fd = os.pipe()
    try:
        return _start(argv, shown, cwd, environment, write_fd), read_fd
    except ToolError:
        os.close(read_fd)
        raise
    finally:
        os.close(write_fd)


def _start(
    argv: tuple[str, ...], shown: str, cwd: Path, environment: dict[str, str], write_fd: int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=write_fd,
            stderr=write_fd,
            start_new_session=True,
        )
    except (OSError, ValueError, IndexError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ToolError(
            f"cannot run `{shown}`: {reason}",
            "check that the program and the folder exist",
        ) from error


class _Pipe:
    """The read end of a command's output, drained by the event loop."""

    def __init__(self, fd: int) -> None:
        self.buffer = OutputBuffer()
        self.ended = asyncio.Event()
        self._fd = fd
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._loop = asyncio.get_running_loop()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._drain)

    def _drain(self) -> None:
        for _ in range(_READS_PER_WAKE):  # bounded, so that a flood cannot starve the loop
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._loop.remove_reader(self._fd)
                self.ended.set()
                return
            self.buffer.feed(self._decoder.decode(data))

    async def wait_end(self, limit_s: float) -> bool:
        """True if every writer closed the pipe within `limit_s` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self.ended.wait()
        return self.ended.is_set()

    def close(self) -> None:
        """Stop reading; what came so far stays in the buffer."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self.buffer.feed(self._decoder.decode(b"", final=True))


async def _exited(process: subprocess.Popen[bytes]) -> None:
    # Polled: asyncio's own wait() also waits for the pipe, which a background child may hold.
    pause_s = 0.002
    while not _has_exited(process):
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.05)


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    if process.returncode is not None:
        return True
    if sys.platform == "linux":
        # Not reaped yet, so that its number cannot name another group when we signal it.
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


async def _settle(
    process: subprocess.Popen[bytes], pipe: _Pipe, mark: str, *, timed_out: bool
) -> None:
    """End all that is left of the command, and read what it still had to say."""
    if not timed_out and await pipe.wait_end(_EOF_GRACE_S):
        return
    _signal_all(process, mark, signal.SIGTERM)
    if await pipe.wait_end(_TERM_GRACE_S):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TERM_GRACE_S):
                await _exited(process)
    _signal_all(process, mark, signal.SIGKILL)
    await pipe.wait_end(_EOF_GRACE_S)


def _signal_all(process: subprocess.Popen[bytes], mark: str, number: signal.Signals) -> None:
    """Signal the group, and those that left it for a session of their own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
    for other in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if other.pid != os.getpid() and other.environ().get(_RUN_MARK) == mark:
                other.send_signal(number)
