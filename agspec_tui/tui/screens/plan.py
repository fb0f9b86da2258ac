"""Asks about a plan: take it, reject it, or write it otherwise."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from agspec_tui.errors import UsageError
from agspec_tui.events import ApprovalRequested, PlanStep
from agspec_tui.session.plan_text import HELP, plan_text, read_plan_text
from agspec_tui.tui import entries
from agspec_tui.tui.numbers import counted
from agspec_tui.tui.screens.approval import TITLES, TextApprovalScreen
from agspec_tui.tui.text import one_line
from agspec_tui.tui.widgets.transcript import Transcript


class PlanScreen(TextApprovalScreen):
    """Shows the steps; `e` opens them as text.

    A plan that the person wrote and the session refused opens as text at once, with the reason.
    """

    def __init__(self, question: ApprovalRequested, *, clock: Callable[[], float]) -> None:
        super().__init__(question, clock=clock)
        self._text = plan_text(question.steps)

    def compose(self) -> ComposeResult:
        """How much it is, steps or their text, what is wrong with it, keys."""
        with Vertical(id="approval") as box:
            box.border_title = TITLES["plan"]
            yield Static(_size(self._question.steps), id="approval-summary", markup=False)
            yield Static(id="plan-problem", markup=False)
            yield Transcript(id="approval-diff", max_lines=50_000)
            yield TextArea(self._text, id="plan-text", soft_wrap=True, highlight_cursor_line=False)
            yield Static("\n".join(HELP), id="plan-hint", markup=False)
            yield Static(id="approval-keys", markup=False)

    def fill(self, view: Transcript) -> None:
        """Put the numbered steps into the view; open the text if it has to be corrected."""
        view.extend(entries.steps(self._question.steps))
        if self._question.problem:
            self._show_problem(self._question.problem)
            self.call_after_refresh(self.open_text)

    def key_line(self) -> str:
        """What keys do, once they count."""
        if self.editing:
            return "Ctrl+S  work by this text     Esc  back; the text is kept"
        return "y / Enter  approve    e  edit    n / Esc  reject    ↑ ↓  scroll"

    def close_text(self) -> None:
        """Show the steps again; the text is kept."""
        super().close_text()
        self._show_problem("")

    def action_send(self) -> None:
        """Close with the steps of the text, or say why they cannot be read."""
        if not (self.editing and self.listening):
            return
        text = self.query_one(TextArea).text
        if text == self._text and not self._question.problem:
            self.dismiss(True)
            return
        try:
            self.dismiss(read_plan_text(text))
        except UsageError as error:
            self._show_problem(error.one_line())

    def _show_problem(self, problem: str) -> None:
        shown = self.query_one("#plan-problem", Static)
        shown.set_class(bool(problem), "-shown")
        shown.update(Content(f"✗ {one_line(problem)}"))


def _size(steps: tuple[PlanStep, ...]) -> str:
    n_steps, n_files = len(steps), len({path for step in steps for path in step.files})
    return f"{counted(n_steps, 'step')}, {counted(n_files, 'file')}"
