"""Asks before anything is done: what it is in full, and a yes or a no."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from agspec_tui.commands import AnswerApproval, StepEdit
from agspec_tui.events import ApprovalRequested
from agspec_tui.tui import entries
from agspec_tui.tui.diff import parse
from agspec_tui.tui.text import one_line
from agspec_tui.tui.widgets.transcript import Transcript

QUIET_S = 1.0
"""Answers are ignored for this long after the question appears: the keys were typed elsewhere."""
TYPING_S = 0.5
"""An ignored key asks for this much more silence."""
_QUIET_LINE = "a moment: keys typed before this appeared are ignored…"
TITLES = {
    "edit": "Write this change?",
    "command": "Run this command?",
    "plan": "Work by this plan?",
    "go_on": "Go on?",
}
"""Title of a question by what it asks."""
DOUBTFUL_TITLE = "Write this change, placed by likeness only?"
"""Title of a question about an edit whose place is only like what the reply gave."""
_SCROLL_KEYS = frozenset(
    {"up", "down", "pageup", "pagedown", "home", "end", "left", "right", "tab", "shift+tab"}
)
Answer = bool | tuple[StepEdit, ...] | AnswerApproval | None
"""`True` approves, `False` rejects, steps are the plan to work by instead of the one asked about,
an `AnswerApproval` approves a part; `None` means that the question was answered elsewhere."""


class ApprovalScreen(ModalScreen[Answer]):
    """One question. It closes with the answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "Approve"),
        Binding("n,escape", "answer(False)", "Reject"),
    ]

    def __init__(self, question: ApprovalRequested, *, clock: Callable[[], float]) -> None:
        super().__init__()
        self.call_id = question.call_id
        self._question = question
        self._clock = clock
        self._quiet_until = clock() + QUIET_S
        self._withdrawn = False
        self._keys_shown = ""

    def compose(self) -> ComposeResult:
        """Summary, files, diff, keys."""
        _, files = parse(self._question.diff if self._question.asks == "edit" else "")
        names = "\n".join(
            f"± {one_line(file.path)}  +{file.n_added} -{file.n_removed}  {file.note}".rstrip()
            for file in files
        )
        with Vertical(id="approval") as box:
            doubtful = bool(self._question.doubtful)
            box.border_title = DOUBTFUL_TITLE if doubtful else TITLES[self._question.asks]
            yield Static(one_line(self._question.summary), id="approval-summary", markup=False)
            yield Static(names, id="approval-files", markup=False)
            yield Transcript(id="approval-diff", max_lines=50_000)
            yield from self.more()
            yield Static(id="approval-keys", markup=False)

    def more(self) -> ComposeResult:
        """What stands above the keys."""
        return iter(())

    def on_mount(self) -> None:
        """Show what it is about from its beginning."""
        view = self.query_one(Transcript)
        view.following = False
        self.fill(view)
        view.focus()
        self.show_keys()
        self.set_interval(0.1, self.show_keys)
        self._leave_if_withdrawn()

    def fill(self, view: Transcript) -> None:
        """Put what the question is about into its view."""
        # In full and line by line: the summary is one line, and may be cut.
        text = self._question.command or self._question.diff
        for line in text.splitlines():
            view.extend(entries.note(line))

    def on_screen_resume(self) -> None:
        """The question may have been settled while another screen lay over this one."""
        self._leave_if_withdrawn()

    def withdraw(self) -> None:
        """The question was answered elsewhere; close as soon as that is possible."""
        self._withdrawn = True
        self._leave_if_withdrawn()

    def _leave_if_withdrawn(self) -> None:
        if self._withdrawn and self.is_mounted and self.app.screen is self:
            self.dismiss(None)

    @property
    def listening(self) -> bool:
        """True once answers count."""
        return self._clock() >= self._quiet_until

    def show_keys(self) -> None:
        """Say whether keys count now."""
        text = self.key_line() if self.listening else _QUIET_LINE
        if text == self._keys_shown:
            return
        self._keys_shown = text
        keys = self.query_one("#approval-keys", Static)
        keys.set_class(self.listening, "-ready")
        keys.update(Content(text))

    def key_line(self) -> str:
        """What keys do, once they count."""
        return "y / Enter  approve     n / Esc  reject     ↑ ↓ PgUp PgDn  scroll"

    async def on_event(self, event: events.Event) -> None:
        """Drop keys that were meant for the prompt before any binding sees them."""
        if isinstance(event, events.Key) and not self.listening and event.key not in _SCROLL_KEYS:
            self._quiet_until = max(self._quiet_until, self._clock() + TYPING_S)
            event.stop()
            event.prevent_default()
            return
        await super().on_event(event)

    def action_answer(self, approved: bool) -> None:
        """Close with the answer."""
        if self.listening:
            self.dismiss(approved)


class TextApprovalScreen(ApprovalScreen):
    """A question about something that can be opened as text, with `e`, and sent with Ctrl+S."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit"),
        Binding("ctrl+s", "send", "Send"),
    ]

    @property
    def editing(self) -> bool:
        """True while it is open as text."""
        return self.has_class("-editing")

    def open_text(self) -> None:
        """Show the text in place of the view."""
        self.add_class("-editing")
        area = self.query_one(TextArea)
        area.cursor_blink = False
        area.focus()
        self.show_keys()

    def close_text(self) -> None:
        """Show the view again."""
        self.remove_class("-editing")
        self.query_one(Transcript).focus()
        self.show_keys()

    def action_edit(self) -> None:
        """Open it as text."""
        if self.listening and not self.editing:
            self.open_text()

    def action_answer(self, approved: bool) -> None:
        """Close with the answer; from the text Escape only leads back."""
        if not self.editing:
            super().action_answer(approved)
        elif self.listening and not approved:
            self.close_text()
