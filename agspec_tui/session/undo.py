"""Undo of the agent's edits, turn by turn, file by file, with no need of version control."""

import contextlib
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from agspec_tui.errors import ToolError
from agspec_tui.forms.types import FileChange
from agspec_tui.session.files import (
    Written,
    missing_folders,
    replace_files,
    snapshot_read,
    write_changes,
)
from agspec_tui.session.repo import locate
from agspec_tui.session.undo_types import Operation, Stacks, UndoKeeper, UndoTurn, Version, merge


@dataclass(frozen=True, slots=True)
class Restored:
    """Outcome of a restore."""

    files: tuple[str, ...]
    """Paths put back, sorted; files the agent had created are gone."""
    conflicts: tuple[str, ...]
    """Paths that the user changed after the agent wrote them, sorted; their version is kept."""
    turn: int = 0
    """The turn that was taken back; 0 for several or none, and where it has no number."""

    def message(self) -> str:
        """One line for the user that names the conflicts; empty if there are none."""
        if not self.conflicts:
            return ""
        return f"changed by you since, your version is kept: {', '.join(self.conflicts)}"


@dataclass(slots=True)
class _Back:
    """How one turn is taken back."""

    turn: int
    """Its number."""
    changes: list[FileChange] = field(default_factory=list)
    """What is written."""
    inverse: UndoTurn = field(default_factory=UndoTurn)
    """What takes that back."""
    kept: UndoTurn = field(default_factory=UndoTurn)
    """What is left alone: the user went on with these files."""
    modes: dict[str, int] = field(default_factory=dict)
    """Permission bits of files that come back."""
    folders: list[Path] = field(default_factory=list)
    """Folders that the turn made; they go if they are empty."""
    broken: set[str] = field(default_factory=set)
    """Files that the user had changed within the turn."""

    @property
    def restored(self) -> Restored:
        """The outcome, once it is written."""
        conflicts = (self.broken & self.inverse.versions.keys()) | self.kept.versions.keys()
        return Restored(tuple(sorted(self.inverse.versions)), tuple(sorted(conflicts)), self.turn)


class UndoLog:
    """Writes edits and keeps what is needed to take them back.

    A turn that was restored can be brought back with `redo` until the next write. Without a keeper
    everything is held in memory and ends with the program; with one, the copies are on disk before
    a file is touched. Every method may be called from any thread.
    """

    def __init__(
        self, repo: Path, keeper: UndoKeeper | None = None, stacks: Stacks | None = None
    ) -> None:
        """Begin, or go on.

        Args:
            repo: the resolved root of the repository.
            keeper: keeps copies where they outlive the program; None for nowhere.
            stacks: what an earlier log was; None for an empty one.
        """
        self._repo = repo
        self._keeper = keeper
        self._stacks = stacks or Stacks()
        self._turn = 0
        self._begun = False
        self._lock = threading.RLock()

    @property
    def n_turns(self) -> int:
        """Turns that wrote something and were not restored."""
        return len(self._stacks.turns)

    @property
    def n_undone(self) -> int:
        """Restores that can be taken back."""
        return len(self._stacks.undone)

    def begin(self, turn: int = 0) -> None:
        """A new turn begins; what follows is restored apart from earlier turns."""
        with self._lock:
            self._turn, self._begun = turn, False

    def write(self, changes: Sequence[FileChange]) -> Written:
        """Save the files as they are, then write the edit, all of it or none.

        Raises:
            EditError: as for `write_changes`; the log then is as it was.
        """
        changes = tuple(changes)
        real = tuple(change for change in changes if change.before != change.after)
        if not real:
            return write_changes(self._repo, changes)
        with self._lock:
            modes = {change.path: _mode(self._repo, change.path) for change in real}
            after = self._stacks.copy()
            if not self._begun:
                after.turns.append(UndoTurn(turn=self._turn))
            after.undone.clear()
            for change in real:
                _note(after.turns[-1], change, modes[change.path])
            folders = missing_folders(self._repo, real)
            n_folders = len(after.turns[-1].made_folders)
            after.turns[-1].made_folders += folders
            operation = Operation("write", self._turn, real, modes, folders, (), _new_mark())
            written = self._run(
                operation, after, lambda mark: write_changes(self._repo, changes, mark=mark)
            )
            after.turns[-1].made_folders[n_folders:] = written.made_folders
            self._end(after)
            self._begun = True
            return written

    def restore(self, *, force: bool = False) -> Restored:
        """Take the last turn back; only the files it wrote are touched.

        A file that no longer is what the agent wrote is left alone and named, and stays in the
        log; where that is all a turn has left, the turn before it is taken back. With `force` such
        a file is put back too; `redo` then brings the present state back.

        Raises:
            EditError: the disk refused; nothing was changed.
        """
        with self._lock:
            after = self._stacks.copy()
            conflicts: set[str] = set()
            for index in reversed(range(len(after.turns))):
                back = self._plan(after.turns[index], force=force)
                conflicts |= back.kept.versions.keys()
                if not back.kept.versions and not back.changes:
                    del after.turns[index]  # the user has taken it back already
                elif back.changes:
                    after.turns[index : index + 1] = [back.kept] if back.kept.versions else []
                    result = self._take_back(back, after, "undo")
                    return replace(
                        result, conflicts=tuple(sorted(conflicts | set(result.conflicts)))
                    )
            self._stacks.turns = after.turns
            return Restored((), tuple(sorted(conflicts)))

    def restore_all(self, *, force: bool = False) -> Restored:
        """Take every turn back, as `restore` does; the files are as before the first turn.

        Raises:
            EditError: the disk refused; nothing was changed.
        """
        return self.restore_since(0, force=force)

    def restore_since(self, n_turns: int, *, force: bool = False) -> Restored:
        """Take every turn behind the first `n_turns` back, at once.

        Raises:
            EditError: the disk refused; nothing was changed.
        """
        with self._lock:
            after = self._stacks.copy()
            taken = after.turns[n_turns:]
            if not taken:
                return Restored((), ())
            back = self._plan(merge(taken), force=force)
            after.turns[n_turns:] = [back.kept] if back.kept.versions else []
            return self._take_back(back, after, "undo")

    def redo(self) -> Restored:
        """Take the last restore back, as far as the files are still as it left them.

        Raises:
            EditError: the disk refused; nothing was changed.
        """
        with self._lock:
            if not self._stacks.undone:
                return Restored((), ())
            after = self._stacks.copy()
            back = self._plan(after.undone.pop(), force=False)
            if back.kept.versions:
                after.undone.append(back.kept)
            return self._take_back(back, after, "redo")

    # ── one operation ────────────────────────────────────────────────────────────────────────────

    def _plan(self, turn: UndoTurn, *, force: bool) -> _Back:
        """How a turn's files are put back, by what they are now."""
        back = _Back(turn.turn, folders=turn.made_folders)
        back.inverse.turn = back.kept.turn = turn.turn
        for path, version in turn.versions.items():
            now = _present(self._repo, path)
            if isinstance(now, ToolError):
                back.kept.versions[path] = version
                continue
            if now != version.after and now == version.before:
                continue  # the user has put it back already
            if now != version.after and not force:
                back.kept.versions[path] = version
                continue
            back.changes.append(FileChange(path, now, version.before))
            if version.mode is not None:
                back.modes[path] = version.mode
            if version.broken:
                back.broken.add(path)
            back.inverse.versions[path] = Version(now, version.before, _mode(self._repo, path))
        return back

    def _take_back(self, back: _Back, after: Stacks, kind: Literal["undo", "redo"]) -> Restored:
        """Write what was planned; `after` gets its inverse."""
        made = missing_folders(self._repo, back.changes)
        back.inverse.made_folders += made
        if back.inverse.versions:
            (after.undone if kind == "undo" else after.turns).append(back.inverse)
        modes = {path: version.mode for path, version in back.inverse.versions.items()}
        old = tuple(back.folders)
        changes = tuple(back.changes)
        operation = Operation(kind, back.turn, changes, modes, made, old, _new_mark())
        written = self._run(
            operation,
            after,
            lambda mark: replace_files(self._repo, back.changes, back.modes, mark=mark),
        )
        left = remove_empty(self._repo, back.folders)
        back.inverse.made_folders[:] = written.made_folders
        (back.kept if back.kept.versions else back.inverse).made_folders += left
        self._end(after)
        self._begun = False
        return back.restored

    def _run(self, operation: Operation, after: Stacks, write: Callable[[str], Written]) -> Written:
        """Keep the copies, then write; if that fails the log is as it was."""
        if self._keeper is None:
            return write(operation.mark)
        self._keeper.begin(operation, after)
        try:
            return write(operation.mark)
        except BaseException:
            self._keeper.finish(self._stacks, done=False)
            raise

    def _end(self, after: Stacks) -> None:
        self._stacks = after
        if self._keeper is not None:
            self._keeper.finish(after, done=True)


def remove_empty(repo: Path, folders: Sequence[Path]) -> list[Path]:
    """Remove folders of the repository that are empty, innermost first; returns the others."""
    left: list[Path] = []
    for folder in reversed(folders):
        try:
            if not folder.is_relative_to(repo):
                continue
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            left.insert(0, folder)
    return left


def _note(turn: UndoTurn, change: FileChange, mode: int | None) -> None:
    known = turn.versions.get(change.path)
    if known is None:
        turn.versions[change.path] = Version(change.before, change.after, mode)
    elif change.before == known.after:
        known.after = change.after
    else:
        # The user changed the file within the turn: their version is what to come back to.
        turn.versions[change.path] = Version(change.before, change.after, mode, broken=True)


def _new_mark() -> str:
    return secrets.token_hex(6)


def _present(repo: Path, path: str) -> bytes | ToolError | None:
    try:
        return snapshot_read(repo, path)
    except ToolError as error:
        return error


def _mode(repo: Path, path: str) -> int | None:
    with contextlib.suppress(OSError, ToolError):
        return locate(repo, path).stat().st_mode & 0o7777
    return None
