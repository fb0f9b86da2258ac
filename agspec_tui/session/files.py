"""Writes an edit to disk: all of it, on top of exactly what was read, or nothing at all."""

import contextlib
import os
import secrets
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agspec_tui.errors import EditError, ToolError
from agspec_tui.forms.types import FileChange
from agspec_tui.session.output import LEFT_OUT
from agspec_tui.session.repo import locate, refuse_ignored


@dataclass(frozen=True, slots=True)
class Written:
    """What was done on disk."""

    files: tuple[str, ...]
    """Paths written, created or deleted, relative to the repository."""
    made_folders: tuple[Path, ...]
    """Folders made for new files, outermost first."""


@dataclass(slots=True)
class _Staged:
    """One change, ready to be put in place."""

    path: str
    """Path as the change names it."""
    real: Path
    """The file itself, links followed."""
    before: bytes | None
    """Bytes that must be on disk; None if there must be no file."""
    after: bytes | None
    """Bytes to be put there; None for a deletion."""
    mode: int | None
    """Permission bits of the file; None for a new file, which gets the default."""
    temporary: Path | None = None
    """File beside the real one that holds `after`."""


def snapshot_read(repo: Path, path: str) -> bytes | None:
    """Bytes of a file now; None if there is none.

    Raises:
        ToolError: the path is refused by `locate`, is no regular file, or cannot be read.
    """
    real = locate(repo, path)
    try:
        return _read(real)
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}", "the file could not be read") from error


def missing_folders(repo: Path, changes: Sequence[FileChange]) -> tuple[Path, ...]:
    """Folders that writing an edit is going to make, outermost first."""
    missing: dict[Path, None] = {}
    for change in changes:
        if change.after is None:
            continue
        with contextlib.suppress(ToolError, OSError):
            folder = locate(repo, change.path).parent
            parts = (folder, *folder.parents)
            missing |= dict.fromkeys(part for part in reversed(parts) if not part.exists())
    return tuple(missing)


def temporary_names(folder: Path, mark: str) -> list[Path]:
    """Files that a write with this mark left in a folder when it was killed."""
    return sorted(folder.glob(f".agspec-{mark}-*.tmp")) if mark else []


def write_changes(repo: Path, changes: Sequence[FileChange], *, mark: str = "") -> Written:
    """Write an edit: every change, or none of them.

    Args:
        repo: the resolved root.
        changes: bytes before and after; equal ones are left alone.
        mark: in the names of the temporary files; empty for a random one.

    Raises:
        EditError: a path is ignored, secret or outside the repository, a text holds a cut mark
            of shortened output, a file is no longer as it was read, or the disk refused. The
            files are then as they were before the call.
    """
    _refuse_cut_marks(changes)
    try:
        refuse_ignored(repo, (change.path for change in changes))
    except ToolError as error:
        raise EditError(error.message, error.hint) from error
    return replace_files(repo, changes, mark=mark)


def replace_files(
    repo: Path,
    changes: Sequence[FileChange],
    modes: Mapping[str, int] | None = None,
    *,
    mark: str = "",
) -> Written:
    """Put bytes on disk, all or none, without asking what they are or whether git ignores them.

    Every file is first written beside its target and synced; only when all of that has worked
    are the files moved into place, read back and compared.

    Args:
        repo: the resolved root.
        changes: bytes before and after; equal ones are left alone.
        modes: permission bits by path, for files that do not exist now.
        mark: in the names of the temporary files; empty for a random one.

    Raises:
        EditError: as for `write_changes`.
    """
    staged = _checked(repo, changes, modes or {})
    made_folders: list[Path] = []
    done: list[_Staged] = []
    complete = False
    try:
        for item in staged:
            _stage(item, made_folders, mark)
        for item in staged:
            _refuse_stale(item)
            done.append(item)
            _put(item)
        for item in staged:
            if _read(item.real) != item.after:
                raise EditError(f"{item.path}: reads back differently", "nothing was changed")
        complete = True
    except OSError as error:
        where = error.filename or (done or staged)[-1].path
        raise EditError(f"{where}: {error.strerror or error}", "nothing was changed") from error
    finally:
        _clear(staged)
        if not complete:  # whatever stopped it, a keyboard interrupt too
            _put_back(done, made_folders)
    return Written(tuple(item.path for item in staged), tuple(made_folders))


def _refuse_cut_marks(changes: Sequence[FileChange]) -> None:
    mark = LEFT_OUT.encode()
    for change in changes:
        if mark in (change.after or b"") and mark not in (change.before or b""):
            raise EditError(
                f"{change.path}: the new text holds the mark of shortened output",
                "write the text itself, not the mark",
            )


def _checked(repo: Path, changes: Sequence[FileChange], modes: Mapping[str, int]) -> list[_Staged]:
    staged: list[_Staged] = []
    seen: dict[Path, str] = {}
    for change in changes:
        try:
            real = locate(repo, change.path)
        except ToolError as error:
            raise EditError(error.message, error.hint) from error
        if real in seen:
            raise EditError(
                f"{change.path}: the same file as {seen[real]}", "change each file once"
            )
        seen[real] = change.path
        if change.after is None and (repo / change.path).is_symlink():
            raise EditError(f"{change.path}: a link; links are not deleted", "delete its target")
        item = _Staged(change.path, real, change.before, change.after, modes.get(change.path))
        _refuse_stale(item)
        if change.before != change.after:
            staged.append(item)
    return staged


def _refuse_stale(item: _Staged) -> None:
    """See that the file is still as it was read, and note its permission bits."""
    try:
        now = _read(item.real)
        if now is not None:
            item.mode = stat.S_IMODE(item.real.stat().st_mode)
    except OSError as error:
        raise EditError(f"{item.path}: {error.strerror or error}", "nothing was changed") from error
    if now == item.before:
        return
    if item.before is None:
        raise EditError(f"{item.path}: exists already", "read it first, then change it")
    what = "is gone" if now is None else "changed on disk"
    raise EditError(f"{item.path}: {what} since it was read", "read it again, then change it")


def _read(real: Path) -> bytes | None:
    """Bytes of a regular file; None if nothing is there. Never blocks on a pipe or device."""
    try:
        if not stat.S_ISREG(real.lstat().st_mode):
            raise OSError(0, "not a regular file", str(real))
        return real.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _stage(item: _Staged, made_folders: list[Path], mark: str = "") -> None:
    """Write the new bytes beside the target; for a deletion, see that its folder can be changed."""
    folder = item.real.parent
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    for part in reversed(missing):
        part.mkdir()
        made_folders.append(part)
    name = folder / f".agspec-{mark or secrets.token_hex(6)}-{secrets.token_hex(3)}.tmp"
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    item.temporary = name
    with os.fdopen(fd, "wb") as file:
        file.write(item.after or b"")
        file.flush()
        if item.mode is not None:
            _keep_owner(fd, item.real)
            os.fchmod(fd, item.mode)  # after the owner, whose change clears the set-id bits
        os.fsync(fd)


def _keep_owner(fd: int, real: Path) -> None:
    with contextlib.suppress(OSError):  # gone, or not ours to give away: then it becomes ours
        owner, mine = real.stat(), os.fstat(fd)
        if (owner.st_uid, owner.st_gid) != (mine.st_uid, mine.st_gid):
            os.fchown(fd, owner.st_uid, owner.st_gid)


def _put(item: _Staged) -> None:
    if item.after is None:
        item.real.unlink()
    elif item.temporary is not None:
        item.temporary.replace(item.real)
        item.temporary = None
    _sync_folder(item.real.parent)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _put_back(done: Sequence[_Staged], made_folders: Sequence[Path]) -> None:
    """Undo what was put in place, last first, and remove the folders made.

    Raises:
        EditError: some files could not be put back; the others were.
    """
    lost: list[str] = []
    for item in reversed(done):
        back = _Staged(item.path, item.real, item.after, item.before, item.mode)
        try:
            if _read(item.real) != item.before:
                _stage(back, [])
                _put(back)
        except OSError:
            lost.append(item.path)
        finally:
            _clear((back,))
    for folder in reversed(made_folders):
        with contextlib.suppress(OSError):
            folder.rmdir()
    if lost:
        raise EditError(
            f"{', '.join(lost)}: could not be put back after a failed write",
            "compare these files with your last commit",
        )


def _clear(staged: Sequence[_Staged]) -> None:
    for item in staged:
        if item.temporary is not None:
            with contextlib.suppress(OSError):
                item.temporary.unlink()
            item.temporary = None
