"""`agspec-tui demo`: the whole screen from a recorded session, without a model."""

import asyncio
import sys
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

import click

from agspec_tui.cli.progress import Progress
from agspec_tui.cli.tui import end_of
from agspec_tui.config import load
from agspec_tui.errors import UsageError
from agspec_tui.events import Event, SessionStarted
from agspec_tui.session.recorded import FASTEST, RecordedSession, read_events

DEMO_SPEED = 4.0
"""A model on two cores takes its time; nobody has to watch all of it."""


def speed_option(default: float) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Adds `--speed`."""
    return click.option(
        "--speed", metavar="X", type=click.FloatRange(0.1, 100), default=default,
        show_default=True, help="Pace: 2 is twice as fast.",
    )  # fmt: skip


step_option = click.option("--step", is_flag=True, help="Stand still at first; . shows one event.")
headless_option = click.option("--headless", is_flag=True, help="Print it, without the screen.")


@click.command("demo")
@speed_option(DEMO_SPEED)
@step_option
@headless_option
def demo(speed: float, step: bool, headless: bool) -> int:
    """Show a recorded session on the real screen, without a model.

    A small repository with a bug is planned, edited and tested. Space stands still, . shows one
    event, + and - change the pace; all other keys do what they always do.
    """
    here = files("agspec_tui")
    with (
        as_file(here / "demo" / "session.jsonl") as path,
        as_file(here / "examples" / "room-booking") as repo,
    ):
        return play(read_events(path), repo, speed=speed, step=step, headless=headless)


def play(events: list[Event], repo: Path, *, speed: float, step: bool, headless: bool) -> int:
    """Show events on the screen, or print them; returns the exit code.

    Args:
        events: a session's events.
        repo: its repository, from which copied lines are shown; it may be gone.
        speed: recorded seconds a second.
        step: stand still at first.
        headless: print instead.

    Raises:
        UsageError: there is no terminal.
    """
    if headless:
        asyncio.run(_printed(events))
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the screen needs a terminal", "without one: add --headless")
    from agspec_tui.tui.app import AgspecApp

    session = RecordedSession(events, speed)
    session.paused = step
    model = next((event.model for event in events if isinstance(event, SessionStarted)), "")
    app = AgspecApp(session, repo=repo, model=model, theme=load().theme, replay=session)
    return end_of(app.run(), app.return_code)


async def _printed(events: list[Event]) -> None:
    session = RecordedSession(events, FASTEST)
    subscription = session.bus.subscribe()
    await session.start()
    progress = Progress(sys.stdout)
    for event in subscription.drain():
        progress.show(event)
    await session.close()
