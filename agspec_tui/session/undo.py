"""Undo of the agent's edits, turn by turn, file by file, with no need of version control."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agspec_tui.errors import ToolError
from agspec_tui.forms.types import FileChange
from agspec_tui.session.files import Written, replace_files, snapshot_read, write_changes
from agspec_tui.session.repo import locate


@dataclass(slots=True)
class _Version:
    """One file before and after one turn."""

    before: bytes | None
    """Bytes before the turn's first write; None if the file did not exist."""
    after: bytes | None
    """Bytes the agent wrote last; None if it deleted the file."""
    mode: int | None
    """Permission bits before the turn; None if the file did not exist."""
    broken: bool = False
    """True if the user changed the file between two writes of the agent: `before` is theirs."""


@dataclass(slots=True)
class _Turn:
    """What one turn did on disk."""

    versions: dict[str, _Version] = field(default_factory=dict)
    """Files it wrote, created or deleted, by path."""
    made_folders: list[Path] = field(default_factory=list)
    """Folders it made, outermost first."""


@dataclass(frozen=True, slots=True)
class Restored:
    """Outcome of a restore."""

    files: tuple[str, ...]
    """Paths put back, sorted; files the agent had created are gone."""
    conflicts: tuple[str, ...]
    """Paths that the user changed after the agent wrote them, sorted; their version is kept."""

    def message(self) -> str:
        """One line for the user that names the conflicts; empty if there are none."""
        if not self.conflicts:
            return ""
        return f"changed by you since, your version is kept: {', '.join(self.conflicts)}"


class UndoLog:
    """Writes edits and keeps what is needed to take them back.

    A turn that was restored can be brought back with `redo` until the next write. Everything is
    held in memory and ends with the session.
    """

    def __init__(self, repo: Path) -> None:
        self._repo = repo
        self._turns: list[_Turn] = []
        self._undone: list[_Turn] = []
        self._begun = False

    @property
    def n_turns(self) -> int:
        """Turns that wrote something and were not restored."""
        return len(self._turns)

    def begin(self) -> None:
        """A new turn begins; what follows is restored apart from earlier turns."""
        self._begun = False

    def write(self, changes: Sequence[FileChange]) -> Written:
        """Save the files as they are, then write the edit, all of it or none.

        Raises:
            EditError: as for `write_changes`; the log then is as it was.
        """
        modes = {change.path: _mode(self._repo, change.path) for change in changes}
        written = write_changes(self._repo, changes)
        if not written.files:
            return written
        if not self._begun:
            self._turns.append(_Turn())
            self._begun = True
        self._undone.clear()
        by_path = {change.path: change for change in changes}
        for path in written.files:
            self._note(self._turns[-1], by_path[path], modes[path])
        self._turns[-1].made_folders += written.made_folders
        return written

    def _note(self, turn: _Turn, change: FileChange, mode: int | None) -> None:
        known = turn.versions.get(change.path)
        if known is None:
            turn.versions[change.path] = _Version(change.before, change.after, mode)
        elif change.before == known.after:
            known.after = change.after
        else:
            # The user changed the file within the turn: their version is what to come back to.
            turn.versions[change.path] = _Version(change.before, change.after, mode, broken=True)

    def restore(self, *, force: bool = False) -> Restored:
        """Take the last turn back; only the files it wrote are touched.

        A file that no longer is what the agent wrote is left alone and named, and stays in the
        log. With `force` it is put back too; `redo` then brings the present state back.

        Raises:
            EditError: the disk refused; nothing was changed.
        """
        return self._restore(1, force=force)

    def restore_all(self, *, force: bool = False) -> Restored:
        """Take every turn back, as `restore` does; the files are as before the first turn.

        Raises:
            EditError: the disk refused; nothing was changed.
        """
        return self._restore(len(self._turns), force=force)

    def redo(self) -> Restored:
        """Take the last restore back, as far as the files are still as it left them.

        Raises:
            EditError: the disk refused; nothing was changed.
        """
        if not self._undone:
            return Restored((), ())
        result, inverse, kept = self._take_back(self._undone[-1], force=False)
        self._undone.pop()
        if inverse.versions:
            self._turns.append(inverse)
        if kept.versions:
            self._undone.append(kept)
        self._begun = False
        return result

    def _restore(self, n_turns: int, *, force: bool) -> Restored:
        if not self._turns or not n_turns:
            return Restored((), ())
        merged = _merge(self._turns[-n_turns:])
        result, inverse, kept = self._take_back(merged, force=force)
        del self._turns[-n_turns:]
        if kept.versions:
            self._turns.append(kept)
        if inverse.versions:
            self._undone.append(inverse)
        self._begun = False
        return result

    def _take_back(self, turn: _Turn, *, force: bool) -> tuple[Restored, _Turn, _Turn]:
        """Put a turn's files back; returns the outcome, its inverse, and what was left alone."""
        inverse, kept = _Turn(), _Turn()
        changes: list[FileChange] = []
        modes: dict[str, int] = {}
        for path, version in turn.versions.items():
            now = _present(self._repo, path)
            if isinstance(now, ToolError) or (now != version.after and not force):
                kept.versions[path] = version
                continue
            changes.append(FileChange(path, now, version.before))
            if version.mode is not None:
                modes[path] = version.mode
            inverse.versions[path] = _Version(now, version.before, _mode(self._repo, path))
        written = replace_files(self._repo, changes, modes)
        inverse.made_folders += written.made_folders
        left = _remove_empty(turn.made_folders)
        (kept if kept.versions else inverse).made_folders += left
        broken = {path for path in inverse.versions if turn.versions[path].broken}
        result = Restored(
            tuple(sorted(inverse.versions)), tuple(sorted(broken | kept.versions.keys()))
        )
        return result, inverse, kept


def _merge(turns: Sequence[_Turn]) -> _Turn:
    """Several turns as one, latest first, as far as each took up where the one before ended."""
    merged = _Turn()
    for turn in reversed(turns):
        merged.made_folders[:0] = turn.made_folders
        for path, version in turn.versions.items():
            later = merged.versions.get(path)
            if later is None:
                merged.versions[path] = replace(version)
            elif not later.broken and later.before == version.after:
                later.before, later.mode, later.broken = (
                    version.before,
                    version.mode,
                    version.broken,
                )
            else:
                later.broken = True
    return merged


def _present(repo: Path, path: str) -> bytes | ToolError | None:
    try:
        return snapshot_read(repo, path)
    except ToolError as error:
        return error


def _mode(repo: Path, path: str) -> int | None:
    with contextlib.suppress(OSError, ToolError):
        return locate(repo, path).stat().st_mode & 0o7777
    return None


def _remove_empty(folders: Sequence[Path]) -> list[Path]:
    """Remove those that are empty, innermost first; returns the others."""
    left: list[Path] = []
    for folder in reversed(folders):
        try:
            folder.rmdir()
        except OSError:
            left.insert(0, folder)
    return left
