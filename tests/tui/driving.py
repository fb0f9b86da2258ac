"""Drives the real app from recorded events: what tests of the screen share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import Pilot

from agspec_tui.commands import SessionCommand
from agspec_tui.events import Event
from agspec_tui.session.recorded import STEPWISE, RecordedSession
from agspec_tui.tui.app import AgspecApp, Outcome
from agspec_tui.tui.screens.main import MainScreen
from agspec_tui.tui.widgets.transcript import Transcript

EVENTS = Path(__file__).parents[1] / "data" / "events"
FIXED = EVENTS / "fixed.jsonl"
IN_GENERATION = EVENTS / "in_generation.jsonl"


class RecordingSource(RecordedSession):
    """A replay that remembers the commands it was sent and whether it was closed."""

    def __init__(self, path: Path = FIXED, speed: float = STEPWISE) -> None:
        super().__init__(path, speed)
        self.commands: list[SessionCommand] = []
        self.n_closed = 0

    async def send(self, command: SessionCommand) -> None:
        self.commands.append(command)
        await super().send(command)

    async def close(self) -> None:
        self.n_closed += 1
        await super().close()


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Driven:
    """A running app with everything a test looks at."""

    app: AgspecApp
    pilot: Pilot[Outcome]
    source: RecordingSource
    clock: Clock

    @property
    def main(self) -> MainScreen:
        assert self.app.main is not None
        return self.app.main

    @property
    def transcript(self) -> Transcript:
        return self.main.query_one("#transcript", Transcript)

    async def show(self, *events: Event) -> None:
        """Publish events of the test's own and draw them."""
        for event in events:
            self.source.bus.publish(event)
        await self.draw()

    async def play_until(self, kind: type[Event], *, role: str = "") -> Event:
        """Replay up to and with the first event of a kind."""
        while batch := self.source.step():
            if isinstance(batch[-1], kind) and role in ("", batch[-1].role):
                await self.draw()
                return batch[-1]
        raise AssertionError(f"no {kind.__name__} is left in the recording")

    async def draw(self) -> None:
        self.main.draw()
        await self.pilot.pause()

    def told(self) -> list[str]:
        """What notifications say, the oldest first."""
        return [one.message for one in self.app._notifications]

    def screen_text(self) -> str:
        """What the terminal would show, row by row."""
        width, height = self.app.size
        strips = self.app.screen._compositor.render_strips()
        rows = ["".join(segment.text for segment in strip) for strip in strips]
        assert len(rows) == height
        assert width > 0
        return "\n".join(rows)


@asynccontextmanager
async def driven(
    source: RecordingSource | None = None,
    *,
    size: tuple[int, int] = (120, 40),
    issue: str = "",
    theme: str = "agspec-dark",
) -> AsyncIterator[Driven]:
    """Run the app without a terminal; the source is started, the screen is up."""
    clock = Clock()
    source = source or RecordingSource()
    app = AgspecApp(
        source, repo=Path("durations"), model="test-model", theme=theme, issue=issue, clock=clock
    )
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Driven(app, pilot, source, clock)
