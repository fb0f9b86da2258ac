"""Makes the pictures of the documentation: the real app, driven by a recorded session.

Run from the repository's root: `python scripts/screenshots.py [FOLDER]`.
"""

import asyncio
import sys
from pathlib import Path

from agspec_tui.events import (
    ApprovalAnswered,
    ApprovalRequested,
    SessionStarted,
    StepCommitted,
)
from agspec_tui.session.recorded import STEPWISE, RecordedSession, read_events
from agspec_tui.tui.app import AgspecApp

RECORDINGS = Path("tests/data/events")
PICTURES = (("main", "word_count", "coder", 1, 66, (120, 40)),)
"""Name, recording, role, turn and step at which to stop, columns and rows."""


async def picture(recording: str, role: str, turn: int, step: int, size: tuple[int, int]) -> str:
    """One SVG of the screen as it is after a step of a role's turn."""
    path = RECORDINGS / f"{recording}.jsonl"
    source = RecordedSession(path, STEPWISE)
    started = next(event for event in read_events(path) if isinstance(event, SessionStarted))
    app = AgspecApp(source, repo=Path(started.repo), model=started.model)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        while source.n_left:
            event = source.step()[-1]
            here = (event.role, event.turn)
            if isinstance(event, StepCommitted) and (*here, event.step) == (role, turn, step):
                break
            if isinstance(event, ApprovalRequested | ApprovalAnswered) and app.main is not None:
                app.main.draw()
                await pilot.pause()
        if app.main is not None:
            app.main.draw()
        await pilot.pause(0.3)
        svg = app.export_screenshot(title="agspec-tui", simplify=True)
        # Some viewers drop leading spaces unless they are told not to.
        return svg.replace("<text ", '<text xml:space="preserve" ')


def main() -> None:
    """Write every picture."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images")
    folder.mkdir(parents=True, exist_ok=True)
    for name, *where, size in PICTURES:
        path = folder / f"{name}.svg"
        path.write_text(asyncio.run(picture(*where, size)), encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
