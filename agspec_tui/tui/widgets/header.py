"""The header strip: where we are, on what model, and how full and how fast it is."""

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from agspec_tui.tui.charts import EMPTY, FULL, bar
from agspec_tui.tui.numbers import count, short
from agspec_tui.tui.state import UiState
from agspec_tui.tui.text import fit, one_line

Part = tuple[str, str]
"""Text and style."""


class HeaderStrip(Widget):
    """Two lines; what does not fit is said more shortly, then left out from the right."""

    def __init__(self, state: UiState) -> None:
        super().__init__(id="header")
        self._state = state

    def render(self) -> Content:
        """Names above, numbers below."""
        width = self.size.width
        return Content("\n").join([self._names(width), self._numbers(width)])

    def _names(self, width: int) -> Content:
        state = self._state
        left = f"agspec  {one_line(state.repo)}"
        model = one_line(state.model) or "no model"
        right = f"{model} · {one_line(state.device)}" if state.device else f"{model} · not loaded"
        right = fit(right, max(0, width - 10))
        left = fit(left, max(0, width - cell_len(right) - 2))
        gap = width - cell_len(left) - cell_len(right)
        return Content.assemble(
            (left[:6], "bold $text-primary"),
            (left[6:], "bold $foreground"),
            " " * max(0, gap),
            (right, "$foreground"),
        )

    def _numbers(self, width: int) -> Content:
        for level in range(4):
            fields = [field for field in self._fields(level) if field]
            if _width(fields) <= width:
                break
        while len(fields) > 1 and _width(fields) > width:
            fields.pop()
        parts: list[Part] = []
        for number, field in enumerate(fields):
            if number:
                parts.append((" │ ", "$rule"))
            parts.extend(field)
        return Content.assemble(*parts)

    def _fields(self, level: int) -> list[list[Part]]:
        """The fields in the order of their weight; a higher level is shorter."""
        return [
            self._fill(level),
            self._rate(),
            self._reuse(level),
            self._drafting(level),
        ]

    def _fill(self, level: int) -> list[Part]:
        state = self._state
        if not state.n_ctx:
            return [("context ", "$muted"), ("–", "$muted")]
        share = state.n_context / state.n_ctx
        style = "$text-error" if share > 0.9 else "$text-warning" if share > 0.75 else "$primary"
        drawn = bar(share, (12, 12, 10, 5)[level])
        write = short if level == 3 else count
        return [
            ("context " if level < 3 else "ctx ", "$muted"),
            (drawn.replace(EMPTY, ""), style),
            (drawn.replace(FULL, ""), "$rule"),
            (f" {write(state.n_context)} / {write(state.n_ctx)}", "$foreground"),
        ]

    def _rate(self) -> list[Part]:
        rate = self._state.tok_per_s
        return [(f"{rate:.1f}" if rate else "–", "bold $foreground"), (" tok/s", "$muted")]

    def _reuse(self, level: int) -> list[Part]:
        state = self._state
        name = "prefix reuse " if level == 0 else "reuse "
        if not state.n_prompt:
            return [(name, "$muted"), ("–", "$muted")]
        percent = f"{100 * state.n_reused // state.n_prompt} %"
        if level == 3:
            return [(name, "$muted"), (percent, "$foreground")]
        both = f"{count(state.n_reused)} / {count(state.n_prompt)}"
        extra = f" ({percent})" if level == 0 else ""
        return [(name, "$muted"), (both + extra, "$foreground")]

    def _drafting(self, level: int) -> list[Part]:
        drafting = self._state.drafting
        if not drafting:
            return []
        word = drafting if level < 2 else drafting.split(" (")[0]
        name = "drafting " if level < 3 else "draft "
        return [(name, "$muted"), (word, "$foreground")]


def _width(fields: list[list[Part]]) -> int:
    texts = sum(cell_len(text) for field in fields for text, _ in field)
    return texts + 3 * (len(fields) - 1)
