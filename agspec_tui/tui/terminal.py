"""The terminal's driver, made to bear bytes that are no UTF-8, and a terminal that is gone."""

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable
from typing import IO, Any, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

GRACE_S = 20.0
"""How long the app may take to close its session once its terminal is gone, in seconds."""
_POLL_MS = 500


class _DeafFile:
    """A file that lets writes to a terminal that is gone fall silently.

    The driver's writer thread ends at an error, and the app then waits for it without end.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()

    def isatty(self) -> bool:
        return self._file.isatty()

    def fileno(self) -> int:
        return self._file.fileno()


class TolerantDriver(LinuxDriver):
    """Drops input that cannot be decoded, and ends the app when its terminal is gone.

    A terminal multiplexer may send mouse reports in the old form, whose bytes are no text
    (https://github.com/Textualize/textual/issues/6668); the driver's own reader ends the app then.
    A terminal that is gone is always ready to be read and has nothing: that reader then spins.
    """

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        if self._file is not None:
            self._file = cast(Any, _DeafFile(self._file))

    def start_application_mode(self) -> None:
        """Begin to watch the terminal too."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        threading.Thread(target=self._watch, name="terminal-watch", daemon=True).start()

    def run_input_thread(self) -> None:
        """Read until the app ends; a chunk that cannot be decoded is lost, and reading goes on."""
        while not self.exit_event.is_set():
            try:
                super().run_input_thread()
            except UnicodeDecodeError:
                continue

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self.fileno, 0)  # a hang-up is always reported
        while not self.exit_event.is_set():
            if any(what & (select.POLLHUP | select.POLLERR) for _, what in poll.poll(_POLL_MS)):
                self.exit_event.set()
                self._leave()
                return

    def _leave(self) -> None:
        """Close the app as at a signal; if that takes too long, end the process.

        The engine process ends with its socket, and sessions are stored as they happen.
        """
        leave: Callable[[], None] | None = getattr(self._app, "leave", None)
        if leave is not None:
            with contextlib.suppress(RuntimeError):  # the app may be closing already
                self._app.call_from_thread(leave)
        time.sleep(GRACE_S)
        os._exit(1)
