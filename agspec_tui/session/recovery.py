"""Ends an operation that was killed: the files are as before it, or as it would have left them."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from agspec_tui.errors import ToolError
from agspec_tui.forms.types import FileChange
from agspec_tui.session.files import replace_files, snapshot_read, temporary_names
from agspec_tui.session.repo import locate
from agspec_tui.session.undo import remove_empty
from agspec_tui.session.undo_types import Operation


@dataclass(frozen=True, slots=True)
class Settled:
    """What was found and done."""

    applied: bool
    """True if the operation had written everything; False if nothing of it is left."""
    put_back: tuple[str, ...]
    """Files that it had written before it was killed, and that are as before it again."""
    conflicts: tuple[str, ...]
    """Files that are neither as before it nor as it would have left them."""


def settle(repo: Path, operation: Operation) -> Settled:
    """Bring the files of an operation that was begun and not ended to one of its two ends.

    It may be killed itself, and is then called again.

    Raises:
        EditError: the disk refused; nothing was changed.
    """
    _remove_temporary(repo, operation)
    written: list[FileChange] = []
    waiting: list[str] = []
    conflicts: list[str] = []
    for change in operation.changes:
        try:
            now = snapshot_read(repo, change.path)
        except ToolError:
            conflicts.append(change.path)
            continue
        if now == change.after:
            written.append(change)
        elif now == change.before:
            waiting.append(change.path)
        else:
            conflicts.append(change.path)
    if written and not waiting:
        remove_empty(repo, operation.old_folders)
        return Settled(True, (), tuple(conflicts))
    modes = {change.path: operation.modes.get(change.path) for change in written}
    replace_files(
        repo,
        [FileChange(change.path, change.after, change.before) for change in written],
        {path: mode for path, mode in modes.items() if mode is not None},
        mark=operation.mark,
    )
    remove_empty(repo, operation.made_folders)
    return Settled(False, tuple(change.path for change in written), tuple(conflicts))


def _remove_temporary(repo: Path, operation: Operation) -> None:
    folders: set[Path] = set()
    for change in operation.changes:
        with contextlib.suppress(ToolError):
            folders.add(locate(repo, change.path).parent)
    for folder in folders:
        for path in temporary_names(folder, operation.mark):
            with contextlib.suppress(OSError):
                path.unlink()
