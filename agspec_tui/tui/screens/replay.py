"""The main screen over a recorded session: the same picture, and keys for its pace."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from agspec_tui.tui.charts import bar
from agspec_tui.tui.screens.main import MainScreen
from agspec_tui.tui.source import Source
from agspec_tui.tui.state import UiState
from agspec_tui.tui.widgets.prompt import Prompt
from agspec_tui.tui.widgets.transcript import Transcript

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Paces, in recorded seconds a second."""
_BAR_CELLS = 20
KEYS = "Space pause · . step · + - pace · q quit"


class Paced(Protocol):
    """What the screen needs of a replay besides its events."""

    speed: float
    """Recorded seconds a second."""
    paused: bool
    """True while it stands still."""

    @property
    def n_events(self) -> int:
        """Events of the recording."""
        ...

    @property
    def n_left(self) -> int:
        """Events not yet shown."""
        ...

    def step_paused(self) -> None:
        """Show the next event while the replay stands still."""
        ...


class ReplayScreen(MainScreen):
    """No prompt: what was recorded is not worked on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pause", "Pause", key_display="Space"),
        Binding("full_stop", "step", "Step", key_display="."),
        Binding("plus,equals_sign", "pace(1)", "Faster", key_display="+"),
        Binding("minus", "pace(-1)", "Slower", key_display="-"),
    ]

    def __init__(
        self,
        source: Source,
        state: UiState,
        replay: Paced,
        *,
        repo: Path,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(source, state, repo=repo, issue="", clock=clock)
        self._replay = replay

    def compose(self) -> ComposeResult:
        """The main screen and a line about the replay."""
        for widget in super().compose():
            if isinstance(widget, Prompt):
                widget.display = False
                yield Static(id="replay", markup=False)
            yield widget

    def focus_first(self) -> None:
        """Focus what can be scrolled."""
        self.query_one(Transcript).focus()

    def opening_note(self) -> str:
        """That this is no live session."""
        return "a recorded session: no model is loaded, and nothing is changed"

    def tick(self) -> None:
        """Take in events, and say how far the replay is."""
        super().tick()
        self.query_one("#replay", Static).update(self._progress())

    def action_pause(self) -> None:
        """Stand still, or go on."""
        self._replay.paused = not self._replay.paused

    def action_step(self) -> None:
        """Show one event; the replay stands still from then on."""
        self._replay.paused = True
        self._replay.step_paused()

    def action_pace(self, step: int) -> None:
        """Play faster or slower."""
        nearest = min(range(len(SPEEDS)), key=lambda at: abs(SPEEDS[at] - self._replay.speed))
        self._replay.speed = SPEEDS[min(max(nearest + step, 0), len(SPEEDS) - 1)]

    def _progress(self) -> Content:
        replay = self._replay
        n_shown = replay.n_events - replay.n_left
        share = n_shown / replay.n_events if replay.n_events else 0.0
        state = "ended" if not replay.n_left else "paused" if replay.paused else "playing"
        return Content.assemble(
            (f"replay {state}", "bold $text-primary"),
            f"  {bar(share, _BAR_CELLS)} {n_shown} of {replay.n_events} events"
            f" · {replay.speed:g}×  ",
            (KEYS, "$muted"),
        )
