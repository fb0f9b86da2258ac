"""Stages of the check on the machine: each within its time, each in the document, whatever fails.

Runs with nothing but Python.
"""

import json
import os
import signal
import subprocess
import tarfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

TAIL_LINES = 30
"""Lines of a failed command's output that the document keeps."""
_KILL_S = 5.0


class StageFailed(Exception):
    """Why a stage failed, in one line; `tail` is the end of what its command printed."""

    def __init__(self, reason: str, tail: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.tail = list(tail)


class Stages:
    """Runs stages in turn and keeps the document on disk up to date.

    The document is written anew after every stage, so that a machine that is taken away leaves
    what was measured until then.
    """

    def __init__(
        self,
        out: Path,
        document: dict[str, Any],
        budget_s: float,
        patience: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin.

        Args:
            out: the document's file.
            document: what it holds besides the stages; stages may add to it.
            budget_s: seconds after which no stage is begun, and by which the last one is ended.
            patience: every stage may take its time as often as that.
            clock: seconds from any moment on.
        """
        self.document = document
        self._out = out
        self._clock = clock
        self._started = clock()
        self._budget_s = budget_s
        self._patience = patience
        self._entries: list[dict[str, Any]] = []
        document["stages"] = self._entries
        self.write()

    def left_s(self) -> float:
        """Seconds that are left for all further stages."""
        return self._budget_s - (self._clock() - self._started)

    def run(
        self,
        name: str,
        limit_s: float,
        work: Callable[[float], object],
        needs: Sequence[str] = (),
    ) -> None:
        """Run a stage.

        Args:
            name: its name.
            limit_s: most seconds it may take on a machine with a GPU.
            work: given the seconds that it has, does it.
            needs: stages that it cannot do without.
        """
        entry: dict[str, Any] = {"name": name, "status": "skipped", "seconds": 0.0}
        self._entries.append(entry)
        lacking = [need for need in needs if not self.is_done(need)]
        limit_s = min(limit_s * self._patience, self.left_s())
        if lacking or limit_s < 1:
            entry["reason"] = f"{lacking[0]} is not done" if lacking else "no time is left"
            self._show(entry)
            return
        entry["status"] = "running"  # what the document says if the machine goes meanwhile
        self.write()
        print(f"── {name} (at most {limit_s:.0f} s)", flush=True)
        began = self._clock()
        status, reason, tail = "failed", "a bug in the check, or it was stopped", []
        try:
            work(limit_s)
            status, reason = "done", ""
        except StageFailed as error:
            reason, tail = str(error), error.tail
        except (OSError, ValueError, LookupError, EOFError, tarfile.TarError) as error:
            reason = f"{type(error).__name__}: {error}"
        finally:
            entry.update(status=status, seconds=round(self._clock() - began, 2))
            if reason:
                entry["reason"] = reason
            if tail:
                entry["output_tail"] = tail
            self._show(entry)

    def is_done(self, name: str) -> bool:
        """Whether a stage was run and did what it should."""
        return any(one["name"] == name and one["status"] == "done" for one in self._entries)

    def _show(self, entry: dict[str, Any]) -> None:
        """Say how a stage ended, and write the document."""
        reason = entry.get("reason")
        line = f"── {entry['name']}: {entry['status']}, {entry['seconds']:.1f} s"
        print(f"{line}: {reason}" if reason else line, flush=True)
        for line in entry.get("output_tail", ()):
            print(f"   {line}", flush=True)
        self.write()

    def write(self) -> None:
        """Write the document: a whole one, the old or the new, whenever the machine goes."""
        self.document["wall_s"] = round(self._clock() - self._started, 2)
        self.document["ok"] = bool(self._entries) and all(
            one["status"] == "done" for one in self._entries
        )
        staged = self._out.with_name(self._out.name + ".part")
        staged.write_text(json.dumps(self.document, indent=1) + "\n")
        staged.replace(self._out)


_STOPS = (signal.SIGINT, signal.SIGTERM)


def run_command(
    command: Sequence[str],
    limit_s: float,
    log: Path,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """Run a command in a process group of its own; its output goes to a file.

    Returns:
        What it printed.

    Raises:
        StageFailed: it could not be started, failed, or took too long and was ended with all the
            processes it had started.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    # A stop that comes while the process is started has to wait until there is a process to end.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        with log.open("wb") as file:
            try:
                process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    cwd=folder,
                    start_new_session=True,
                    preexec_fn=partial(signal.pthread_sigmask, signal.SIG_SETMASK, before),
                )
            except OSError as error:
                raise StageFailed(f"{command[0]}: {error.strerror or error}") from error
            try:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                code = process.wait(timeout=limit_s)
            except subprocess.TimeoutExpired:
                _end(process)
                raise StageFailed(f"not done after {limit_s:.0f} s", tail_of(log)) from None
            except BaseException:
                _end(process)
                raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if code != 0:
        raise StageFailed(f"{Path(command[0]).name} ended with code {code}", tail_of(log))
    return log.read_text(encoding="utf-8", errors="replace")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process group, politely first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_KILL_S)
            if number == signal.SIGKILL:
                return


def tail_of(log: Path) -> list[str]:
    """The last lines of a file, none of them longer than a few hundred characters."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line[:300] for line in lines[-TAIL_LINES:]]
