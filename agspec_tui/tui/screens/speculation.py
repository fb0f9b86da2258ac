"""All that speculation did: full charts, and a table by role, turn, corpus or edit form."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Footer, Static

from agspec_tui.config import exports_dir
from agspec_tui.tui.entries import role_mark, role_style
from agspec_tui.tui.measures import ALL_MEASURES
from agspec_tui.tui.numbers import count, seconds
from agspec_tui.tui.state import UiState
from agspec_tui.tui.tally import DIMENSIONS, NOTHING, Dimension, Tally
from agspec_tui.tui.text import one_line, pad
from agspec_tui.tui.widgets.panels import Panel

REFRESH_S = 0.5
"""How often the numbers are drawn anew, in seconds."""
_NAME_CELLS = 12
_COLUMNS = ("tokens", "passes", "accept", "drafted", "reject", "share", "saved", "lost")
_CELLS = (8, 10)
"""Cells of a column on narrow and on wide screens."""
_WIDE = 100
HINT = (
    "accept = tokens per target pass · share = accepted of drafted tokens · saved and lost ="
    " against passes without drafts, whose time is calibrated, then measured as they come"
)


class SpeculationScreen(Screen[None]):
    """Charts above, table below; the session goes on meanwhile."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f9,s", "close", "Back", key_display="Esc"),
        Binding("g,right", "group(1)", "Group by", key_display="g"),
        Binding("left", "group(-1)", show=False),
        Binding("x", "export", "Export CSV", key_display="x"),
    ]

    by: var[Dimension] = var[Dimension]("role")
    """What the table is grouped by."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-normal")]  # noqa: RUF012 - Textual's type

    def __init__(self, state: UiState) -> None:
        super().__init__()
        self._state = state

    def compose(self) -> ComposeResult:
        """Totals, four charts, the table, what it means, keys."""
        yield Static(id="speculation-totals", markup=False)
        with Grid(id="speculation-charts"):
            for measure in ALL_MEASURES:
                yield Panel(self._state, measure)
        yield Static(id="speculation-head", markup=False)
        with VerticalScroll(id="speculation-table"):
            yield Static(id="speculation-rows", markup=False)
        yield Static(HINT, id="speculation-hint", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Draw, and go on drawing."""
        self.query_one("#speculation-table").focus()
        self.show()
        self.set_interval(REFRESH_S, self.show)

    def show(self) -> None:
        """Draw the newest numbers."""
        if self.app.screen is not self:
            return
        self.query_one("#speculation-totals", Static).update(totals(self._state, self.size.width))
        width = self.size.width - 3  # padding, and the bar of a long table
        self.query_one("#speculation-head", Static).update(_head(self.by, width))
        self.query_one("#speculation-rows", Static).update(table(self._state, self.by, width))
        for panel in self.query(Panel):
            panel.show()

    def action_close(self) -> None:
        """Back to the main screen."""
        self.dismiss(None)

    def action_group(self, step: int) -> None:
        """Group by the next of the dimensions."""
        self.by = DIMENSIONS[(DIMENSIONS.index(self.by) + step) % len(DIMENSIONS)]
        self.show()

    def action_export(self) -> None:
        """Write every count to a file of the user's data folder."""
        self.run_worker(self._export(), group="export", exit_on_error=False)

    async def _export(self) -> None:
        text = self._state.speculation.as_csv()
        try:
            path = await asyncio.to_thread(_write, text)
        except OSError as error:
            reason = one_line(error.strerror or str(error))
            self.notify(f"not written: {reason}", severity="error", markup=False)
        else:
            self.notify(f"wrote {one_line(str(path))}", timeout=8, markup=False)


def totals(state: UiState, width: int) -> Content:
    """The session in a line, and the present turn in another."""
    lines = [_sentence("session", state.speculation.total(), width)]
    if turn := state.speculation.newest_turn:
        lines.append(_sentence(f"turn {turn}", state.speculation.total(turn=turn), width))
    return Content("\n").join(lines)


def turn_details(state: UiState, width: int) -> Content:
    """What speculation did for the newest turn, for the main screen: time, corpora, lengths."""
    turn = state.speculation.newest_turn
    if not turn:
        return Content.styled("no drafts yet", "$muted")
    total = state.speculation.total(turn=turn)
    return Content("\n").join(
        [
            _sentence(f"turn {turn}", total, width),
            Content.assemble(("tokens from  ", "$muted"), sources(state, turn)),
            Content.assemble(("draft, cap   ", "$muted"), _against_caps(state)),
        ]
    )


def sources(state: UiState, turn: int) -> str:
    """The share of each corpus in a turn's tokens, and of those that were not drafted."""
    shares: dict[str, int] = {}
    for key, tally in state.speculation.tallies.items():
        if key.turn == turn:
            shares[key.source] = shares.get(key.source, 0) + tally.n_accepted
    n_tokens = state.speculation.total(turn=turn).n_tokens
    shares.pop(NOTHING, None)
    shares["no draft"] = n_tokens - sum(shares.values())
    return " · ".join(
        f"{one_line(name)} {100 * n / n_tokens:.0f} %" for name, n in shares.items() if n_tokens
    )


def table(state: UiState, by: Dimension, width: int) -> Content:
    """A row a group, and the sum of all; columns that do not fit are left out from the right."""
    groups = state.speculation.grouped(by)
    if not groups:
        return Content.styled("no steps yet", "$muted")
    rows = [
        _row(_named(name, by), tally, _style(name, by), width) for name, tally in groups.items()
    ]
    rows.append(_row("all", state.speculation.total(), "bold", width))
    return Content("\n").join(rows)


def _against_caps(state: UiState) -> str:
    drafting = (series for series in state.roles.values() if series.n_steps)
    return " · ".join(
        f"{one_line(series.role)} {series.drafted_mean:.1f} of {series.cap}" for series in drafting
    )


def _sentence(name: str, tally: Tally, width: int) -> Content:
    wide = width >= _WIDE
    return Content.assemble(
        (pad(name, 11) + "  ", "$muted"),
        (f"{tally.accept_length:.2f}", "bold"),
        " tokens per pass · " if wide else " a pass · ",
        (count(tally.n_rejected), "bold"),
        f" of {count(tally.n_drafted)} {'drafted tokens ' if wide else ''}rejected · saved ",
        (seconds(tally.saved_s), "bold $text-success"),
        ", lost ",
        (seconds(tally.lost_s), "bold $text-warning"),
    )


def _head(by: Dimension, width: int) -> Content:
    return Content.styled(_line(f"by {by}", _COLUMNS, width), "bold $text-primary")


def _line(name: str, cells: Sequence[str], width: int) -> str:
    """A row of the table; columns that do not fit are left out from the right."""
    n_cells = _CELLS[width >= _WIDE]
    n_shown = max(0, width - _NAME_CELLS) // n_cells
    return pad(name, _NAME_CELLS) + "".join(f"{cell:>{n_cells}}" for cell in cells[:n_shown])


def _named(name: str, by: Dimension) -> str:
    if by == "role":
        return f"{role_mark(name)} {one_line(name)}"
    if by == "turn":
        return f"turn {name}"
    if name == NOTHING:
        return {"source": "no draft", "form": "no edit"}[by]
    return one_line(name)


def _style(name: str, by: Dimension) -> str:
    return f"${role_style(name)}" if by == "role" else "$foreground"


def _row(name: str, tally: Tally, style: str, width: int) -> Content:
    share = tally.accepted_share
    cells = (
        count(tally.n_tokens),
        count(tally.n_steps),
        f"{tally.accept_length:.2f}",
        count(tally.n_drafted),
        count(tally.n_rejected),
        NOTHING if share is None else f"{100 * share:.0f} %",
        f"{tally.saved_s:.1f} s",
        f"{tally.lost_s:.1f} s",
    )
    text = _line(name, cells, width)
    name = pad(name, _NAME_CELLS)
    return Content.assemble((name, style), text[len(name) :])


def _write(text: str) -> Path:
    """Write a table under a name of its own; only its owner may read it."""
    folder = exports_dir()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stem = time.strftime("speculation-%Y%m%d-%H%M%S")
    for number in range(1, 100):
        path = folder / (f"{stem}.csv" if number == 1 else f"{stem}-{number}.csv")
        try:
            with path.open("x", encoding="utf-8") as file:
                path.chmod(0o600)
                file.write(text)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{stem}.csv exists a hundred times")
