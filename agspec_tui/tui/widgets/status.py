"""The status line: what is being done now, by whom, and how far a prompt has been read."""

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from agspec_tui.tui.charts import EMPTY, FULL, bar
from agspec_tui.tui.entries import role_mark, role_style
from agspec_tui.tui.numbers import count, seconds
from agspec_tui.tui.state import Prefill, UiState
from agspec_tui.tui.text import fit, one_line

Part = tuple[str, str]
"""Text and style."""


class StatusLine(Widget):
    """One line; the right end tells how to follow again after scrolling up."""

    def __init__(self, state: UiState) -> None:
        super().__init__(id="status")
        self._state = state
        self._following = True

    def show(self, *, following: bool) -> None:
        """Draw the newest state."""
        self._following = following
        self.refresh()

    def render(self) -> Content:
        """Parts from the left; those that do not fit are left out."""
        width = self.size.width
        lasting = one_line(self._state.lasting)
        right = f" ! {lasting}" if lasting and width >= 60 else ""
        right += "" if self._following else " ↓ End follows"
        parts: list[Part] = []
        room = width - cell_len(right)
        for text, style in self._parts(room):
            if cell_len(text) > room:
                break
            parts.append((text, style))
            room -= cell_len(text)
        return Content.assemble(*parts, " " * max(0, room), (right, "$text-warning"))

    def _parts(self, width: int) -> list[Part]:
        state = self._state
        if state.stopping:
            return [("■ ", "bold $text-warning"), ("stopping…", "bold $text-warning")]
        if not state.working:
            return self._idle(width)
        style = f"${role_style(state.role)}" if state.role else "$foreground"
        parts: list[Part] = [("● ", f"bold {style}"), (state.activity, f"bold {style}")]
        if state.role:
            who = f"  {role_mark(state.role)} {one_line(state.role)} · turn {state.turn}"
            parts.append((who, "$foreground"))
        if state.waiting:
            parts.append((f" · {len(state.waiting)} waiting", "$text-warning"))
        if state.prefill is not None:
            return [*parts, *_prefill(state.prefill, width - sum(cell_len(t) for t, _ in parts))]
        if state.turn_steps:
            length = state.turn_accept / state.turn_steps
            parts.append((f" · {count(state.turn_tokens)} tokens", "$muted"))
            parts.append((f" · accept length {length:.2f}", "$muted"))
        return parts

    def _idle(self, width: int) -> list[Part]:
        state = self._state
        parts: list[Part] = [("○ ", "$muted"), (fit(state.activity, width - 2), "$foreground")]
        if state.finished is not None:
            ended = f" · {state.finished.status.replace('_', ' ')}"
            parts.append((f"{ended} in {seconds(state.finished.wall_s)}", "$muted"))
        return parts


def _prefill(prefill: Prefill, room: int) -> list[Part]:
    share = prefill.n_done / prefill.n_total if prefill.n_total else 0.0
    numbers = f" {count(prefill.n_done)} / {count(prefill.n_total)}"
    rate = f" · {prefill.tok_per_s:.0f} tok/s" if prefill.tok_per_s > 0 else ""
    left = f" · {seconds(prefill.left_s)} left" if prefill.left_s is not None else ""
    label = " · reading the prompt "
    if len(label) + 6 + len(numbers) + len(rate) + len(left) > room:
        label = "  prompt "
    fixed = len(label) + len(numbers) + len(rate) + len(left)
    drawn = bar(share, min(30, max(4, room - fixed)))
    return [
        (label, "$muted"),
        (drawn.replace(EMPTY, ""), "$primary"),
        (drawn.replace(FULL, ""), "$rule"),
        (numbers, "$foreground"),
        (left, "$foreground"),
        (rate, "$muted"),
    ]
