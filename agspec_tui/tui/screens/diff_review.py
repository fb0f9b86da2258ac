"""Asks about an edit: take it, parts of it, or write parts of it otherwise."""

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from agspec_tui.events import ApprovalRequested
from agspec_tui.tui import entries
from agspec_tui.tui.review import N_GUTTER, Review
from agspec_tui.tui.screens.approval import TextApprovalScreen
from agspec_tui.tui.widgets.transcript import Transcript

_N_KEYS = 118
"""Cells of a screen in which all keys stand in one line."""
_N_BESIDE = 100
"""Cells from which on both sides are readable one beside the other."""


class DiffScreen(TextApprovalScreen):
    """The diff, hunk by hunk; each can be left out or written otherwise."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "take", "Take or leave the hunk"),
        Binding("j,right_square_bracket", "move(1)", "Next hunk"),
        Binding("k,left_square_bracket", "move(-1)", "Hunk before"),
        Binding("v", "beside", "Side by side"),
    ]

    def __init__(self, question: ApprovalRequested, *, clock: Callable[[], float]) -> None:
        super().__init__(question, clock=clock)
        self._review = Review.of(question.diff, question.placed)
        self._is_beside = False
        self._numbers: list[int] = []

    def more(self) -> ComposeResult:
        """The text of a hunk."""
        yield TextArea(id="hunk-text", soft_wrap=False, highlight_cursor_line=False)

    def fill(self, view: Transcript) -> None:
        """Put what is doubtful about the edit and then its diff into the view."""
        view.clear()
        self._numbers = []
        for doubt in self._question.doubtful:
            warned = list(entries.warning(doubt, ""))
            view.extend(warned)
            self._numbers += [-1] * len(warned)
        width = view.scrollable_content_region.width if self._is_beside else 0
        made = list(self._review.lines(width))
        view.extend(item for item, _ in made)
        self._numbers += [number for _, number in made]

    def key_line(self) -> str:
        """What keys do, once they count."""
        if self.editing:
            return "Ctrl+S  take this text for the hunk     Esc  back without it"
        no = "reject, and try again" if self._question.doubtful else "reject"
        keys = f"y / Enter  approve    n / Esc  {no}"
        if self._review.hunks:
            keys += "    " if self.size.width > _N_KEYS else "\n"
            keys += "j k  hunk    Space  leave out    e  write it    v  side by side"
        return keys

    def action_answer(self, approved: bool) -> None:
        """Close with the answer: with what is taken, if that is not all of it."""
        answer = self._review.answer(self.call_id)
        if approved and not self.editing and (answer.left_out or answer.written):
            if self.listening:
                self.dismiss(answer)
            return
        super().action_answer(approved and answer.approved)

    def action_take(self) -> None:
        """Leave the present hunk out, or take it again."""
        hunk = self._review.present
        if self.listening and hunk is not None:
            hunk.taken = not hunk.taken
            self._show()

    @on(Transcript.LineClicked)
    def _clicked(self, message: Transcript.LineClicked) -> None:
        """Look at the hunk that was clicked; on its mark, leave it out or take it again."""
        number = self._numbers[message.line] if message.line < len(self._numbers) else -1
        if number < 0:
            return
        self._review.at = number
        is_head = self._numbers.index(number) == message.line
        if is_head and message.x < N_GUTTER:
            self.action_take()
        self._show()

    def action_move(self, step: int) -> None:
        """Look at another hunk."""
        self._review.move(step)
        self._show()

    def action_beside(self) -> None:
        """Both sides one beside the other, or one below the other again."""
        if not self._is_beside and self.size.width < _N_BESIDE:
            self.notify(f"side by side needs {_N_BESIDE} columns", markup=False)
            return
        self._is_beside = not self._is_beside
        self._show()

    def action_edit(self) -> None:
        """Open the new side of the present hunk as text."""
        hunk = self._review.present
        if hunk is not None and not self.editing:
            self.query_one(TextArea).text = hunk.new_text
            super().action_edit()

    def action_send(self) -> None:
        """Take the text for the hunk."""
        if self.editing and self.listening:
            self._review.write(self.query_one(TextArea).text)
            self.close_text()
            self._show()

    def on_resize(self, event: events.Resize) -> None:
        """Sides fit the new width, or go below each other."""
        self.call_after_refresh(self.show_keys)
        if self._is_beside:
            self._is_beside = self.size.width >= _N_BESIDE
            self.call_after_refresh(self._show)

    def _show(self) -> None:
        """Draw the diff anew, with the present hunk in view."""
        view = self.query_one(Transcript)
        top = view.scroll_offset.y
        self.fill(view)
        view.following = False
        if self._review.at in self._numbers:
            view.keep_line_in_view(self._numbers.index(self._review.at), top)
