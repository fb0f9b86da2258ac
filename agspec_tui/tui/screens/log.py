"""The ends of the engine's and the session's log files."""

import asyncio
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from agspec_tui.config import logs_dir
from agspec_tui.tui import entries
from agspec_tui.tui.lines import Line, line
from agspec_tui.tui.text import below_home
from agspec_tui.tui.widgets.transcript import Transcript

NAMES = ("engine.log", "session.log")
"""Files of the log folder, in the order they are shown."""
MAX_BYTES = 256 * 1024
"""How much of the end of a file is shown."""


class LogScreen(ModalScreen[None]):
    """Read when it opens and when it is asked to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("r", "read", "Read again"),
    ]

    def compose(self) -> ComposeResult:
        """The files' ends, keys."""
        with Vertical(id="log") as box:
            box.border_title = "Log"
            yield Transcript(id="log-text", max_lines=50_000)
            yield Static("r  read again     ↑ ↓  scroll     Esc  back", id="log-keys", markup=False)

    def on_mount(self) -> None:
        """Read the files."""
        self.query_one(Transcript).focus()
        self.action_read()

    def action_close(self) -> None:
        """Back to the main screen."""
        self.dismiss(None)

    def action_read(self) -> None:
        """Read the files again; the end is in view."""
        self.run_worker(self._read(), group="read", exclusive=True, exit_on_error=False)

    async def _read(self) -> None:
        made = await asyncio.to_thread(_lines, logs_dir())
        view = self.query_one(Transcript)
        view.clear()
        view.extend(made)
        view.action_follow()


def _lines(folder: Path) -> list[Line]:
    """Every file's path and end; a file that is not there has not been needed yet."""
    made: list[Line] = []
    for name in NAMES:
        path = folder / name
        made.append(line((below_home(path), "file")))
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - MAX_BYTES))
                text = file.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            made += entries.note("nothing was logged yet")
            continue
        except OSError as error:
            made += entries.failure(error.strerror or str(error), "it cannot be read")
            continue
        if size > MAX_BYTES:
            made += entries.note(f"the last {MAX_BYTES // 1024} KiB of {size // 1024}")
        made += [line(one) for one in text.rstrip("\n").split("\n")]
    return made
