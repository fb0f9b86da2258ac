"""The list of completions above the prompt."""

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from agspec_tui.tui.text import one_line, pad

_NAME_CELLS = 14


class Completion(OptionList, can_focus=False):
    """Shown while there is something to complete; the prompt keeps the focus and moves in it."""

    def __init__(self) -> None:
        super().__init__(id="completion")
        self._names: list[str] = []

    @property
    def is_open(self) -> bool:
        """True while it is shown."""
        return self.has_class("-shown")

    @property
    def chosen(self) -> str:
        """The name under the cursor."""
        return self._names[self.highlighted or 0] if self._names else ""

    def offer(self, names: list[tuple[str, str]]) -> None:
        """Show these names with their remarks; none hides the list."""
        self._names = [name for name, _ in names]
        self.clear_options()
        self.add_options(Option(_row(name, about)) for name, about in names)
        self.set_class(bool(names), "-shown")
        if names:
            self.highlighted = 0

    def move(self, step: int) -> None:
        """Go to another name, around the ends."""
        self.highlighted = ((self.highlighted or 0) + step) % len(self._names)


def _row(name: str, about: str) -> Content:
    shown = one_line(name)
    if not about:
        return Content(shown)
    return Content.assemble((pad(f"/{shown}", _NAME_CELLS), "bold"), (about, "$muted"))
