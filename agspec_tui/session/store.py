"""One session on disk: a SQLite file of its own, readable by the user alone."""

import contextlib
import json
import os
import sqlite3
import threading
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from agspec_tui.errors import StoreError
from agspec_tui.events import Event
from agspec_tui.session.store_lock import make_folder
from agspec_tui.session.undo_codec import (
    content_name,
    decode_operation,
    decode_stacks,
    encode_operation,
    encode_stacks,
)
from agspec_tui.session.undo_types import Operation, Stacks

APPLICATION_ID = 0x61677370
"""Marks a SQLite file as one of ours: `agsp`."""
VERSION = 1
"""Version of the tables."""
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX events_by_kind ON events (kind);
CREATE TABLE contents (name TEXT PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE undo (slot TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE edits (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, turn INTEGER NOT NULL, path TEXT NOT NULL,
    before TEXT, after TEXT
);
"""


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is about."""

    session_id: str
    """Its name."""
    repo: str
    """The repository's folder, resolved."""
    model: str
    """The model's name."""
    test_command: str
    """The test command as given; empty if it is found."""
    settings: str
    """The settings, as JSON."""
    started_s: float
    """When it began, in seconds since 1970."""


class SessionStore:
    """One open session file. Every method may be called from any thread; errors are SQLite's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        self._names: dict[bytes, str] = {}
        self._encoder = msgspec.json.Encoder()

    @classmethod
    def create(cls, path: Path, meta: Meta) -> "SessionStore":
        """Make the file of a new session.

        Raises:
            OSError: the folder or the file cannot be made.
            sqlite3.Error: the disk refused.
        """
        make_folder(path.parent)
        # Made before SQLite opens it: its companions -wal and -shm then get the same mode.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        with contextlib.ExitStack() as undo:
            undo.callback(path.unlink)
            store = cls(_connect(path, "rw"))
            undo.callback(store.close)
            store._connection.execute("PRAGMA journal_mode = WAL")
            with store._transaction():
                for statement in _TABLES.split(";"):
                    store._connection.execute(statement)
                store._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                store._connection.execute(f"PRAGMA user_version = {VERSION}")
                store._put_meta(meta)
            undo.pop_all()
        return store

    @classmethod
    def open(cls, path: Path, *, writing: bool) -> "SessionStore":
        """Open the file of an earlier session.

        Raises:
            StoreError: it is missing, empty, damaged or foreign, or of a newer version.
        """
        check_head(path)
        with faults(path):
            store = cls(_connect(path, "rw" if writing else _reading(path)))
            with contextlib.ExitStack() as undo:
                undo.callback(store.close)
                store._check_version(path)
                undo.pop_all()
            return store

    def _check_version(self, path: Path) -> None:
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise StoreError(f"{path.name}: a database of another program", "move it elsewhere")
        if version != VERSION:
            raise StoreError(
                f"{path.name}: of version {version}; this program knows {VERSION}",
                "use the program that made it",
            )

    def close(self) -> None:
        """Close the file; nothing else is called after it."""
        with self._lock:
            self._connection.close()

    # ── events ───────────────────────────────────────────────────────────────────────────────────

    def append(self, events: Sequence[Event]) -> None:
        """Store events, all of them or none."""
        rows = [(one.seq, type(one).__name__, self._body(one)) for one in events]
        with self._lock, self._transaction():
            self._connection.executemany("INSERT OR REPLACE INTO events VALUES (?, ?, ?)", rows)

    def _body(self, event: Event) -> str:
        """An event as JSON; half a character, which no encoding has, becomes `?`."""
        try:
            return self._encoder.encode(event).decode()
        except UnicodeEncodeError:
            text = json.dumps(msgspec.to_builtins(event), ensure_ascii=False)
            return text.encode(errors="replace").decode()

    def bodies(self, *kinds: str) -> Iterator[tuple[int, bytes]]:
        """Number and JSON of the stored events of these kinds, or of all of them, in order."""
        marks = ",".join("?" * len(kinds))
        where = f"WHERE kind IN ({marks})" if kinds else ""
        query = f"SELECT seq, CAST(body AS BLOB) FROM events {where} ORDER BY seq"
        yield from self._connection.execute(query, kinds)

    # ── what it is about ─────────────────────────────────────────────────────────────────────────

    def meta(self) -> Meta:
        """What the session is about.

        Raises:
            msgspec.ValidationError: something is missing or of the wrong type.
        """
        rows = dict(self._connection.execute("SELECT key, value FROM meta"))
        return msgspec.convert(rows, Meta, strict=False)

    def put_meta(self, meta: Meta) -> None:
        """Replace what the session is about: another model or other settings from here on."""
        with self._lock, self._transaction():
            self._put_meta(meta)

    def _put_meta(self, meta: Meta) -> None:
        rows = [(key, str(value)) for key, value in msgspec.structs.asdict(meta).items()]
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    # ── undo ─────────────────────────────────────────────────────────────────────────────────────

    def begin(self, operation: Operation, after: Stacks) -> None:
        """Keep an operation with its copies, on disk when this returns."""
        with self._lock:
            self._connection.execute("PRAGMA synchronous = FULL")
            with self._transaction():
                self._put_slot("operation", encode_operation(operation, self._put))
                self._put_slot("after", encode_stacks(after, self._put))

    def finish(self, stacks: Stacks, *, done: bool) -> None:
        """Keep what the log is now; the operation that was begun is over, or was given up."""
        with self._lock:
            self._connection.execute("PRAGMA synchronous = FULL")
            with self._transaction():
                began = self._slot("operation")
                if done and began is not None:
                    self._note_edits(decode_operation(began, self._get))
                self._put_slot("now", encode_stacks(stacks, self._put))
                self._connection.execute("DELETE FROM undo WHERE slot IN ('operation', 'after')")
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def begun(self) -> tuple[Operation, Stacks] | None:
        """The operation that was begun and not ended, and the log behind it.

        Raises:
            msgspec.DecodeError: it cannot be read.
            KeyError: a content is missing.
        """
        operation, after = self._slot("operation"), self._slot("after")
        if operation is None or after is None:
            return None
        return decode_operation(operation, self._get), decode_stacks(after, self._get)

    def has_begun(self) -> bool:
        """Whether an operation was begun and not ended."""
        return self._slot("operation") is not None

    def stacks(self) -> Stacks:
        """The log as the last operation that ended left it.

        Raises:
            msgspec.DecodeError: it cannot be read.
            KeyError: a content is missing.
        """
        state = self._slot("now")
        return Stacks() if state is None else decode_stacks(state, self._get)

    def edits(self) -> Iterator[tuple[str, int, str, bytes | None, bytes | None]]:
        """Kind, turn, path and bytes before and after of each file that was written, in order."""
        query = """
            SELECT kind, turn, path, b.bytes, a.bytes FROM edits
            LEFT JOIN contents b ON b.name = before LEFT JOIN contents a ON a.name = after
            ORDER BY number
        """
        yield from self._connection.execute(query)

    def _note_edits(self, operation: Operation) -> None:
        rows = [
            (
                operation.kind,
                operation.turn,
                change.path,
                None if change.before is None else self._put(change.before),
                None if change.after is None else self._put(change.after),
            )
            for change in operation.changes
        ]
        self._connection.executemany(
            "INSERT INTO edits (kind, turn, path, before, after) VALUES (?, ?, ?, ?, ?)", rows
        )

    def _slot(self, name: str) -> str | None:
        query = "SELECT state FROM undo WHERE slot = ?"
        row = self._connection.execute(query, (name,)).fetchone()
        return None if row is None else str(row[0])

    def _put_slot(self, name: str, state: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO undo VALUES (?, ?)", (name, state))

    def _put(self, content: bytes) -> str:
        name = self._names.get(content)
        if name is None:
            name = content_name(content)
            query = "INSERT OR IGNORE INTO contents VALUES (?, ?)"
            self._connection.execute(query, (name, content))
        self._names[content] = name
        return name

    def _get(self, name: str) -> bytes:
        query = "SELECT bytes FROM contents WHERE name = ?"
        row = self._connection.execute(query, (name,)).fetchone()
        if row is None:
            raise KeyError(name)
        content = bytes(row[0])
        self._names[content] = name
        return content

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._names.clear()  # what was put is not there
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def check_head(path: Path) -> None:
    """See that a file may be a session: there, not empty, of SQLite.

    Raises:
        StoreError: it is not.
    """
    remove = "nothing in it can be saved; remove it with `sessions delete`"
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise StoreError(f"{path.name}: {error.strerror or error}", "sessions list") from error
    if not head:
        raise StoreError(f"{path.name}: empty", remove)
    if not head.strip(b"\0"):
        raise StoreError(f"{path.name}: holds zeros only", remove)
    if not head.startswith(b"SQLite format 3\0"):
        raise StoreError(f"{path.name}: is no stored session", "move it elsewhere")


@contextlib.contextmanager
def faults(path: Path) -> Iterator[None]:
    """Turn what SQLite says about a file into one line.

    Raises:
        StoreError: the file is damaged or cannot be read.
    """
    try:
        yield
    except (sqlite3.Error, msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
        raise StoreError(
            f"{path.name}: damaged: {error}", "sessions export writes what can still be read"
        ) from error


def _reading(path: Path) -> str:
    """How a file is read: one that was closed properly as it lies there, with no file beside it."""
    return "ro" if path.with_name(f"{path.name}-wal").exists() else "ro&immutable=1"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    place = f"file:{urllib.parse.quote(str(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(
        place, uri=True, isolation_level=None, check_same_thread=False, timeout=10.0
    )
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection
