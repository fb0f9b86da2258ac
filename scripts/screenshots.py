"""Makes the pictures of the documentation: the real app, driven by a recorded session.

Run from the repository's root: `python scripts/screenshots.py [FOLDER]`. The session of the
tutorial was recorded with the default model, and is recorded anew by

    scripts/sample.sh /tmp/word-count word-count
    python scripts/record_session.py --ask /tmp/word-count examples/word-count/ISSUE.md \\
        tests/data/events/tutorial.jsonl
"""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agspec_tui.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CommandFinished,
    Event,
    ModelLoaded,
    SessionStarted,
    StepCommitted,
    TaskFinished,
)
from agspec_tui.session.recorded import STEPWISE, RecordedSession, read_events
from agspec_tui.tui.app import AgspecApp

RECORDINGS = Path("tests/data/events")
TUTORIAL = RECORDINGS / "tutorial.jsonl"


@dataclass(frozen=True, slots=True)
class Scene:
    """What a picture shows."""

    name: str
    """The file, without its ending."""
    recording: Path
    """The session that is replayed."""
    stop: Callable[[Event], bool]
    """Whether an event is the last before the picture."""
    keys: tuple[str, ...] = ()
    """Keys that are pressed then."""
    repo: Path | None = None
    """The repository from which copied lines are shown; by default the recorded name."""
    size: tuple[int, int] = (120, 40)
    """Columns and rows."""


def after_step(role: str, turn: int, step: int) -> Callable[[Event], bool]:
    """Stops after a step of a role's turn."""
    return lambda event: (
        isinstance(event, StepCommitted)
        and (event.role, event.turn, event.step) == (role, turn, step)
    )


def asked(what: str) -> Callable[[Event], bool]:
    """Stops where the session asks about something."""
    return lambda event: isinstance(event, ApprovalRequested) and event.asks == what


def is_loaded(event: Event) -> bool:
    """Stops when the model is there."""
    return isinstance(event, ModelLoaded)


def tests_passed(event: Event) -> bool:
    """Stops after the tests passed."""
    return isinstance(event, CommandFinished) and event.exit_code == 0


def is_over(event: Event) -> bool:
    """Stops at the end of the task."""
    return isinstance(event, TaskFinished)


SCENES = (
    Scene("main", RECORDINGS / "word_count.jsonl", after_step("coder", 1, 66)),
    Scene("tutorial-1-start", TUTORIAL, is_loaded),
    Scene("tutorial-2-plan", TUTORIAL, asked("plan")),
    Scene("tutorial-3-panels", TUTORIAL, after_step("coder", 1, 32)),
    Scene("tutorial-4-diff", TUTORIAL, asked("edit")),
    Scene("tutorial-5-tests", TUTORIAL, tests_passed),
    Scene("tutorial-6-provenance", TUTORIAL, is_over, ("ctrl+o",), Path("examples/word-count")),
    Scene("tutorial-7-speculation", TUTORIAL, is_over, ("f9",)),
)


class Clock:
    """Goes on only when it is told to: an approval takes no keys in its first second."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


async def picture(scene: Scene) -> str:
    """One SVG of the screen."""
    source = RecordedSession(scene.recording, STEPWISE)
    known = read_events(scene.recording)
    started = next(event for event in known if isinstance(event, SessionStarted))
    clock = Clock()
    app = AgspecApp(source, repo=scene.repo or Path(started.repo), model=started.model, clock=clock)
    async with app.run_test(size=scene.size) as pilot:
        await pilot.pause()
        while source.n_left:
            event = source.step()[-1]
            if isinstance(event, ApprovalRequested | ApprovalAnswered) and app.main is not None:
                app.main.draw()
                await pilot.pause()
            if scene.stop(event):
                break
        if app.main is not None:
            app.main.draw()
        clock.now += 2.0
        await pilot.pause(0.3)
        for key in scene.keys:
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause(0.3)
        svg = app.export_screenshot(title="agspec-tui", simplify=True)
        # Some viewers drop leading spaces unless they are told not to.
        return svg.replace("<text ", '<text xml:space="preserve" ')


def write(scenes: tuple[Scene, ...], folder: Path) -> None:
    """Write the picture of every scene."""
    folder.mkdir(parents=True, exist_ok=True)
    for scene in scenes:
        path = folder / f"{scene.name}.svg"
        path.write_text(asyncio.run(picture(scene)), encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    write(SCENES, Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images"))
