"""What one process may ask of another: the closed union of commands.

`EngineCommand` crosses the socket pair from the UI process to the engine process; `SessionCommand`
goes from the screen (or the command line) to the session. All are frozen and JSON-total.
"""

import msgspec

from agspec_tui.engine_commands import (
    ANSWERED,
    SEEDS,
    Calibrate,
    Cancel,
    CommandRoot,
    ConfigureDrafting,
    CountTokens,
    DocumentView,
    EngineCommand,
    ForgetDocument,
    Generate,
    IndexDocument,
    LoadModel,
    Message,
    Ping,
    ResetSession,
    RestoreCache,
    Sampling,
    SaveCache,
    Shutdown,
)

__all__ = [
    "ANSWERED",
    "SEEDS",
    "AnswerApproval",
    "Calibrate",
    "Cancel",
    "ConfigureDrafting",
    "CountTokens",
    "DocumentView",
    "EditPlan",
    "EngineCommand",
    "ForgetDocument",
    "Generate",
    "HunkText",
    "IndexDocument",
    "Interrupt",
    "LoadModel",
    "Message",
    "Ping",
    "Quit",
    "Redo",
    "ResetSession",
    "RestoreCache",
    "Sampling",
    "SaveCache",
    "SessionCommand",
    "Shutdown",
    "StepEdit",
    "SubmitTask",
    "Undo",
]


class SubmitTask(CommandRoot, frozen=True, kw_only=True):
    """Start work on an issue."""

    text: str
    """The issue, in the user's words."""


class HunkText(msgspec.Struct, frozen=True):
    """One hunk of an edit as the person wants it."""

    hunk: int
    """Its number in the diff, counted from 0 through all files."""
    text: str
    """All lines of its new side, its context included, with `\\n` line ends."""


class AnswerApproval(CommandRoot, frozen=True, kw_only=True):
    """Answer an `ApprovalRequested`."""

    call_id: int
    """The number of the question."""
    approved: bool
    """Do it, or do without it: files stay as they are, a command does not run, work ends."""
    left_out: tuple[int, ...] = ()
    """Of an edit that is approved the hunks that are not written, by their number in its diff,
    counted from 0 through all of its files."""
    written: tuple[HunkText, ...] = ()
    """Hunks whose new lines the person wrote."""


class StepEdit(msgspec.Struct, frozen=True):
    """One step of a plan as the person wants it."""

    files: tuple[str, ...]
    """Paths to change, relative to the repository; one that does not exist is made."""
    change: str
    """What to change, in a sentence or two."""


class EditPlan(CommandRoot, frozen=True, kw_only=True):
    """Answer an `ApprovalRequested` about a plan with another one."""

    call_id: int
    """The number of the question."""
    steps: tuple[StepEdit, ...]
    """All steps of the plan to work by."""


class Interrupt(CommandRoot, frozen=True, kw_only=True):
    """Stop what is being done now; files that the task has written are put back."""


class Undo(CommandRoot, frozen=True, kw_only=True):
    """Take the last turn that wrote something back. Not while a task is being worked on."""


class Redo(CommandRoot, frozen=True, kw_only=True):
    """Bring back what the last undo took. Not while a task is being worked on."""


class Quit(CommandRoot, frozen=True, kw_only=True):
    """End the session and the engine process."""


SessionCommand = SubmitTask | AnswerApproval | EditPlan | Interrupt | Undo | Redo | Quit
