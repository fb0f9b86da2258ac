"""A list over the main screen from which something else can be opened: models, sessions."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static

from agspec_tui.errors import AgspecError
from agspec_tui.tui.switch import Switch
from agspec_tui.tui.text import one_line


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the list."""

    cells: tuple[str, ...]
    """What the columns say; foreign text."""
    about: str
    """What stands below the list while the line is chosen; foreign text."""
    opens: Switch | None = None
    """What Enter opens; None for nothing, `about` says why."""
    shows: Switch | None = None
    """What `p` opens; None for nothing."""


class ListingScreen(ModalScreen[Switch | None]):
    """Read when it opens and when it is asked to; a subclass says what."""

    TITLE_TEXT: ClassVar[str]
    """What stands on the frame."""
    COLUMNS: ClassVar[tuple[str, ...]]
    """Heads of the columns."""
    KEYS_TEXT: ClassVar[str]
    """What the keys do."""
    NOTHING: ClassVar[str]
    """What is said where there is no line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("r", "read", "Read again"),
        Binding("p", "show", "Replay"),
    ]

    def __init__(self, *, busy: bool) -> None:
        """Make one.

        Args:
            busy: a task is being worked on, which opening something else would stop.
        """
        super().__init__()
        self._busy = busy
        self._rows: Sequence[Row] = ()
        self._warned: Switch | None = None

    def rows(self) -> list[Row]:
        """The lines, the first to be chosen first; called in a thread.

        Raises:
            AgspecError, OSError: they cannot be read.
        """
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """The list, what the chosen line is, keys."""
        with Vertical(id="listing") as box:
            box.border_title = self.TITLE_TEXT
            yield DataTable(id="listing-rows", cursor_type="row", zebra_stripes=True)
            yield Static(id="listing-about", markup=False)
            yield Static(self.KEYS_TEXT, id="listing-keys", markup=False)

    def on_mount(self) -> None:
        """Read the lines."""
        table = self.query_one(DataTable)
        table.add_columns(*self.COLUMNS)
        table.focus()
        self.action_read()

    def action_read(self) -> None:
        """Read the lines again."""
        self._say("reading…")
        self._read()

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        said = self.NOTHING
        try:
            self._rows = await asyncio.to_thread(self.rows)
        except AgspecError as error:
            self._rows, said = (), error.one_line()
        except OSError as error:
            self._rows, said = (), error.strerror or str(error)
        table = self.query_one(DataTable)
        table.clear()
        for row in self._rows:
            table.add_row(*(Text(one_line(cell)) for cell in row.cells))
        self._say(self._rows[0].about if self._rows else said)

    def _say(self, text: str) -> None:
        shown = "\n".join(map(one_line, text.split("\n")))  # foreign text, but for its lines
        self.query_one("#listing-about", Static).update(Content(shown))

    def _chosen(self) -> Row | None:
        at = self.query_one(DataTable).cursor_row
        return self._rows[at] if 0 <= at < len(self._rows) else None

    @on(DataTable.RowHighlighted)
    def _highlighted(self) -> None:
        row = self._chosen()
        self._warned = None
        if row is not None:
            self._say(row.about)

    @on(DataTable.RowSelected)
    def _selected(self) -> None:
        row = self._chosen()
        if row is not None:
            self._open(row.opens, "Enter")

    def action_show(self) -> None:
        """Look at the chosen line without going on with it."""
        row = self._chosen()
        if row is not None and row.shows is not None:
            self._open(row.shows, "p")

    def _open(self, switch: Switch | None, key: str) -> None:
        """Leave for it; where that stops work, only when it is asked for twice."""
        if switch is None:
            self.app.bell()
        elif self._busy and self._warned != switch:
            self._warned = switch
            self._say(f"the task in work is stopped and its session kept; {key} again goes there")
        else:
            self.dismiss(switch)

    def action_close(self) -> None:
        """Back to the main screen."""
        self.dismiss(None)
