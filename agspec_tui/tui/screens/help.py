"""Every key on one page."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from agspec_tui.tui.measures import DEFINITION

KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Prompt",
        (
            ("Enter", "send the issue"),
            ("Ctrl+J, Shift+Enter", "break the line"),
            ("↑ ↓ on an empty prompt", "earlier issues"),
            ("@ and /", "files and commands; Tab takes one"),
            ("Ctrl+G", "write in your own editor"),
        ),
    ),
    (
        "Work",
        (
            ("Esc", "stop what is being done"),
            ("y, Enter / n, Esc", "yes / no to a question"),
            ("e", "edit the plan or hunk that is asked about"),
            ("Ctrl+S", "send the plan, take the hunk as edited"),
            ("j k, [ ]", "next hunk, hunk before"),
            ("Space, click on ✓", "leave the hunk out, take it again"),
            ("v", "old and new side by side"),
            ("u, F7", "undo the last turn"),
            ("F8", "redo what was undone"),
        ),
    ),
    (
        "Transcript",
        (
            ("PgUp PgDn, wheel", "scroll"),
            ("End", "follow what arrives"),
            ("m, F2", "mark drafted and accepted text"),
            ("p, Ctrl+O, click", "where accepted text was copied from"),
            ("drag, Ctrl+C", "select and copy"),
            ("F6", "mouse to the terminal, and back"),
        ),
    ),
    (
        "Speculation",
        (
            ("g, ← →", "group by role, turn, source, form"),
            ("x", "export the table as CSV"),
            ("Esc, s, F9", "back"),
        ),
    ),
    (
        "Models, sessions",
        (
            ("/models, /sessions", "open the list"),
            ("Enter", "open the chosen one"),
            ("p", "replay the session"),
            ("r, Esc, q", "read again, back"),
        ),
    ),
    (
        "Copied from",
        (
            ("← →", "older, newer accepted text"),
            ("Esc, p, q, Enter", "back"),
        ),
    ),
    (
        "Replay",
        (
            ("Space", "stand still, go on"),
            (".", "show one event"),
            ("+ −", "faster, slower"),
        ),
    ),
    (
        "Screen",
        (
            ("d, F3", "what the numbers mean"),
            ("i, F5", "what drafts did for this turn"),
            ("s, F9", "speculation: charts, table, export"),
            ("l", "the log; r reads it again"),
            ("t, F4", "next theme"),
            ("Tab, Shift+Tab", "move the focus"),
            ("?, F1", "this page"),
            ("Ctrl+P", "all commands"),
            ("Ctrl+Z", "to the shell; in the prompt, undo typing"),
            ("q, Ctrl+Q", "quit; q outside the prompt, or alone in it"),
        ),
    ),
)


class HelpScreen(ModalScreen[None]):
    """Closes on any of the usual keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,q,enter", "dismiss_help", "Close"),
    ]

    def compose(self) -> ComposeResult:
        """One scrollable page."""
        with VerticalScroll(id="help") as box:
            box.border_title = "Keys"
            yield Static(_page(), id="help-text", markup=False)

    def action_dismiss_help(self) -> None:
        """Back to the main screen."""
        self.dismiss(None)


def _page() -> Content:
    parts: list[tuple[str, str]] = []
    for title, keys in KEYS:
        parts.append((f"{title}\n", "bold $text-primary"))
        for key, meaning in keys:
            parts.append((f"  {key:<24}", "bold"))
            parts.append((f"{meaning}\n", "$foreground"))
        parts.append(("\n", ""))
    parts.append((DEFINITION, "$muted"))
    return Content.assemble(*parts)
