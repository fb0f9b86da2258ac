"""Shows where a run of accepted text was copied from: the file's lines, or an earlier turn's."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from agspec_tui.errors import ToolError
from agspec_tui.session.content import decoded
from agspec_tui.session.files import snapshot_read
from agspec_tui.tui import entries
from agspec_tui.tui.lines import Line, Span, line
from agspec_tui.tui.provenance import Origin, Place, in_file, in_transcript
from agspec_tui.tui.text import one_line
from agspec_tui.tui.widgets.transcript import Marked, Transcript

_N_AROUND = 200
"""Lines shown above and below what was copied."""
_N_FILES = 400
"""Files that are searched for a text that a prompt showed."""
_N_TEXT = 200
"""Cells of the copied text that are quoted."""
KEYS = "← →  older, newer     ↑ ↓  scroll     Esc  back"


class ProvenanceScreen(ModalScreen[None]):
    """One run at a time."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,p,enter", "close", "Back"),
        Binding("left", "move(-1)", "Older"),
        Binding("right", "move(1)", "Newer"),
    ]

    def __init__(
        self,
        repo: Path,
        runs: Sequence[Marked],
        at: int,
        lines: Sequence[str],
        paths: Sequence[str] = (),
    ) -> None:
        """Show one of several runs.

        Args:
            repo: the repository's root; its files are read.
            runs: the accepted runs of the transcript, oldest first.
            at: index of the one to show.
            lines: the transcript as plain text, to find earlier turns in.
            paths: the repository's files, which prompts may have shown.
        """
        super().__init__()
        self._repo = repo
        self._runs = runs
        self._at = at
        self._said = lines
        self._paths = paths

    def compose(self) -> ComposeResult:
        """What was accepted, where it is from, its surroundings, keys."""
        with Vertical(id="provenance") as box:
            box.border_title = "Where this was copied from"
            yield Static(id="provenance-what", markup=False)
            yield Transcript(id="provenance-text", max_lines=50_000)
            yield Static(KEYS, id="provenance-keys", markup=False)

    def on_mount(self) -> None:
        """Show the run."""
        self.query_one(Transcript).focus()
        self._show()

    def action_close(self) -> None:
        """Back to the transcript."""
        self.dismiss(None)

    def action_move(self, step: int) -> None:
        """Show the run before or behind."""
        at = min(max(self._at + step, 0), len(self._runs) - 1)
        if at != self._at:
            self._at = at
            self._show()

    def _show(self) -> None:
        self.run_worker(self._showing(), group="show", exclusive=True, exit_on_error=False)

    async def _showing(self) -> None:
        run = self._runs[self._at]
        texts, place = await self._source(run)
        box = self.query_one("#provenance", Vertical)
        box.border_subtitle = Content(f"{self._at + 1} of {len(self._runs)}")
        self.query_one("#provenance-what", Static).update(_summary(run.origin, place))
        view = self.query_one(Transcript)
        view.clear()
        view.following = False
        view.extend(_around(texts, place))
        first = max(0, place.first - _N_AROUND)
        view.scroll_to_line(max(0, place.first - first - 3))

    async def _source(self, run: Marked) -> tuple[Sequence[str], Place]:
        """The lines of the source, and where in them the copy is."""
        origin = run.origin
        if origin.source == "session" and not origin.line:
            place = in_transcript(origin, self._said, run.line)
            if place.first >= 0:
                return self._said, place
            shown = await asyncio.to_thread(_shown_file, self._repo, self._paths, origin)
            return shown or (self._said, place)
        text = await asyncio.to_thread(_text, self._repo, origin.path)
        if text is None:
            place = in_transcript(origin, self._said, run.line)
            return self._said, place._replace(note=f"{one_line(origin.path)} cannot be read here")
        lines = text.split("\n")
        return lines, in_file(origin, lines)


def _text(repo: Path, path: str) -> str | None:
    """Text of a file of the repository; None if it cannot be read."""
    try:
        return decoded(snapshot_read(repo, path))
    except (ToolError, OSError, ValueError):
        return None


def _shown_file(
    repo: Path, paths: Sequence[str], origin: Origin
) -> tuple[Sequence[str], Place] | None:
    """The file that a prompt has most likely shown the text of: the first that holds it now."""
    for path in paths[:_N_FILES]:
        lines = (_text(repo, path) or "").split("\n")
        place = in_file(origin, lines)
        if place.first >= 0:
            return lines, place._replace(note=f"from the prompt; {one_line(path)} holds the same")
    return None


def _summary(origin: Origin, place: Place) -> Content:
    where = f"{one_line(origin.document)}"
    if origin.line:
        where += f", line {origin.line}"
    text = one_line(origin.text) or "blanks and line ends"
    parts: list[tuple[str, str]] = [
        ("copied   ", "$muted"), (text + "\n", "bold"),
        ("from     ", "$muted"), (f"{where}  ", "bold $text-primary"),
        (f"({one_line(origin.source)} corpus)\n", "$foreground"),
        ("by       ", "$muted"),
        (
            f"{entries.role_mark(origin.role)} {one_line(origin.role)}, turn {origin.turn}: "
            f"{origin.n_accepted} of {origin.n_drafted} drafted tokens accepted behind a match of "
            f"{origin.match_len}",
            "$foreground",
        ),
    ]  # fmt: skip
    if place.note:
        parts.append((f"\n! {place.note}", "$text-warning"))
    return Content.assemble(*parts)


def _around(lines: Sequence[str], place: Place) -> list[Line]:
    """The lines with their numbers; copied ones have a mark."""
    if place.first < 0:
        return []
    stop = place.first + place.n_lines
    shown = range(max(0, place.first - _N_AROUND), min(len(lines), stop + _N_AROUND))
    n_digits = len(str(shown.stop))
    made = []
    for number in shown:
        copied = place.first <= number < stop
        mark, style = ("▶", "strong") if copied else (" ", "muted")
        gutter = Span(f"{mark} {number + 1:>{n_digits}} ", style)
        made.append(line((lines[number], "accepted" if copied else ""), gutter=gutter))
    return made
