"""What a task works with: handed from the session to everything that runs a part of a task."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from agspec_tui.config import Config
from agspec_tui.events import Event
from agspec_tui.session.approval import Approvals
from agspec_tui.session.gate import CommandGate
from agspec_tui.session.interrupt import InterruptSwitch
from agspec_tui.session.roles import Team
from agspec_tui.session.testing import TestCommand
from agspec_tui.session.turn import Speaker
from agspec_tui.session.undo import UndoLog


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a task needs of its session."""

    repo: Path
    """The resolved root of the repository."""
    config: Config
    """The settings."""
    team: Team
    """The roles."""
    speaker: Speaker
    """Lets a role speak."""
    interrupts: InterruptSwitch
    """The user's stop."""
    test_command: TestCommand | None
    """What tells whether the issue is solved; None if there are no tests."""
    publish: Callable[[Event], object]
    """Puts an event on the bus."""
    index: Callable[[str, str], Awaitable[None]]
    """Puts a file's text into the workspace corpus; takes path and text."""
    refresh: Callable[[], Awaitable[None]]
    """Brings the workspace corpus up to the files on disk, before a turn."""
    approvals: Approvals
    """Asks the user, and knows what is done unasked."""
    gate: CommandGate
    """Runs commands."""
    undo: UndoLog
    """Writes edits so that they can be taken back."""
