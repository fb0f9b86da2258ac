"""Stored sessions from outside: listed, found, read and deleted; a bad file spoils no other."""

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from agspec_tui.errors import StoreError
from agspec_tui.events import Event, TaskFinished, TaskSubmitted
from agspec_tui.session.store import Meta, SessionStore, check_head, faults
from agspec_tui.session.store_lock import StoreLock, is_locked

_NO_SESSION = "`sessions list` lists them"
_COMPANIONS = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of the list."""

    session_id: str
    """Its name."""
    n_bytes: int
    """Size on disk."""
    changed_s: float
    """When its file was last written, in seconds since 1970."""
    meta: Meta | None = None
    """What it is about; None if that cannot be read."""
    title: str = ""
    """First line of its first task."""
    n_tasks: int = 0
    """Tasks in it."""
    status: str = ""
    """How its last task ended; `open` while a program has it, `interrupted` if it was killed."""
    fault: str = ""
    """Why it cannot be used; empty if it can."""


@dataclass(slots=True)
class StoredEdit:
    """A file that was written."""

    kind: str
    """`write`, `undo` or `redo`."""
    turn: int
    """Its turn; 0 for several."""
    path: str
    """Relative to the repository."""
    before: bytes | None
    """Bytes before; None if the file did not exist."""
    after: bytes | None
    """Bytes after; None if it was deleted."""


@dataclass(slots=True)
class Content:
    """All that can be read of a session."""

    meta: Meta | None
    """What it is about."""
    events: list[Event] = field(default_factory=list)
    """Its events."""
    edits: list[StoredEdit] = field(default_factory=list)
    """Every write, in order."""
    notes: list[str] = field(default_factory=list)
    """What could not be read; empty if everything could."""


def list_sessions(folder: Path) -> list[Summary]:
    """Every session file of a folder, the newest first; those that cannot be used have a fault."""
    try:
        found = [path for path in folder.glob("*.db") if path.is_file()]
    except OSError:
        return []
    return sorted(map(_summary, found), key=lambda one: -one.changed_s)


def find_session(folder: Path, name: str) -> Path:
    """The file of a session by its name or the beginning of it.

    Raises:
        StoreError: none or several begin so.
    """
    if not name or not name.isalnum():
        raise StoreError(f"{name!r} is no name of a session", _NO_SESSION)
    found = sorted(path for path in folder.glob(f"{name}*.db") if path.is_file())
    exact = [path for path in found if path.stem == name]
    if len(exact or found) != 1:
        what = "several sessions begin" if found else "no session begins"
        raise StoreError(f"{what} with {name}", _NO_SESSION)
    return (exact or found)[0]


def read_session(path: Path) -> Content:
    """All that can be read of a session, damaged or not.

    Raises:
        StoreError: the file is empty, foreign, or of a newer version.
    """
    check_head(path)
    with contextlib.closing(SessionStore.open(path, writing=False)) as store:
        content = Content(None)
        for part, read in (
            ("what it is about", _read_meta),
            ("its events", _read_events),
            ("its edits", _read_edits),
        ):
            try:
                read(store, content)
            except (sqlite3.Error, msgspec.DecodeError, UnicodeDecodeError) as error:
                content.notes.append(f"{part}: damaged from some place on ({error})")
    return content


def delete_session(path: Path) -> None:
    """Remove a session for good.

    Raises:
        StoreError: a program has it open, or the disk refused.
    """
    try:
        lock = StoreLock.take(path)
        if lock is None:
            raise StoreError(f"{path.stem} is open in another program", "close it there first")
        try:
            for companion in _COMPANIONS:
                path.with_name(path.name + companion).unlink(missing_ok=True)
            path.unlink()
        finally:
            lock.release()
    except OSError as error:
        raise StoreError(f"{path.name}: {error.strerror}", "it could not be removed") from error


def status_of(events: Sequence[Event]) -> str:
    """How the last task ended; `interrupted` if it did not, empty if there was none."""
    ends = [one for one in events if isinstance(one, TaskSubmitted | TaskFinished)]
    if not ends:
        return ""
    return ends[-1].status if isinstance(ends[-1], TaskFinished) else "interrupted"


def _summary(path: Path) -> Summary:
    files = [path, *(path.with_name(path.name + end) for end in _COMPANIONS)]
    stats = []
    for file in files:
        with contextlib.suppress(OSError):
            stats.append(file.stat())
    n_bytes = sum(one.st_size for one in stats)
    changed_s = max((one.st_mtime for one in stats), default=0.0)
    try:
        with faults(path), contextlib.closing(SessionStore.open(path, writing=False)) as store:
            meta = store.meta()
            rows = store.bodies("TaskSubmitted", "TaskFinished")
            events = [msgspec.json.decode(body, type=Event) for _, body in rows]
    except StoreError as error:
        return Summary(path.stem, n_bytes, changed_s, fault=error.message)
    tasks = [one for one in events if isinstance(one, TaskSubmitted)]
    title = next(iter(tasks[0].text.strip().splitlines()), "") if tasks else ""
    status = "open" if is_locked(path) else status_of(events)
    return Summary(path.stem, n_bytes, changed_s, meta, title, len(tasks), status)


def _read_meta(store: SessionStore, content: Content) -> None:
    content.meta = store.meta()


def _read_events(store: SessionStore, content: Content) -> None:
    decoder = msgspec.json.Decoder(Event)
    n_unknown = 0
    try:
        for _, body in store.bodies():
            try:
                content.events.append(decoder.decode(body))
            except (msgspec.DecodeError, UnicodeDecodeError):
                n_unknown += 1
    finally:
        if n_unknown:
            content.notes.append(f"{n_unknown} events cannot be read and are left out")


def _read_edits(store: SessionStore, content: Content) -> None:
    for row in store.edits():
        content.edits.append(StoredEdit(*row))
