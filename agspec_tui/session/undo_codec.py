"""What undo remembers as JSON: contents of files are named by digest and lie elsewhere."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from agspec_tui.forms.types import FileChange
from agspec_tui.session.undo_types import Operation, Stacks, UndoTurn, Version

Put = Callable[[bytes], str]
"""Keeps the content of a file and returns its name."""
Get = Callable[[str], bytes]
"""Content by name."""


class _StoredFile(msgspec.Struct, frozen=True):
    """A file before and after."""

    path: str
    """Relative to the repository."""
    before: str | None
    """Name of its content before; None if it did not exist."""
    after: str | None
    """Name of its content after; None if it was deleted."""
    mode: int | None
    """Permission bits before."""
    broken: bool = False
    """As in `Version`."""


class _StoredTurn(msgspec.Struct, frozen=True):
    """One turn."""

    turn: int
    """Its number."""
    files: tuple[_StoredFile, ...]
    """What it did."""
    made_folders: tuple[str, ...]
    """Folders it made, outermost first."""


class _StoredStacks(msgspec.Struct, frozen=True):
    """The whole log."""

    turns: tuple[_StoredTurn, ...]
    """As in `Stacks`."""
    undone: tuple[_StoredTurn, ...]
    """As in `Stacks`."""


class _StoredOperation(msgspec.Struct, frozen=True):
    """An operation that was begun."""

    kind: Literal["write", "undo", "redo"]
    """As in `Operation`."""
    turn: int
    """As in `Operation`."""
    files: tuple[_StoredFile, ...]
    """Its changes."""
    made_folders: tuple[str, ...]
    """As in `Operation`."""
    old_folders: tuple[str, ...]
    """As in `Operation`."""
    mark: str
    """As in `Operation`."""


def content_name(content: bytes) -> str:
    """Name of a content: its digest, hex."""
    return hashlib.blake2b(content, digest_size=20).hexdigest()


def encode_stacks(stacks: Stacks, put: Put) -> str:
    """The log as JSON."""
    stored = _StoredStacks(
        tuple(_store_turn(one, put) for one in stacks.turns),
        tuple(_store_turn(one, put) for one in stacks.undone),
    )
    return msgspec.json.encode(stored).decode()


def decode_stacks(text: str, get: Get) -> Stacks:
    """What `encode_stacks` made.

    Raises:
        msgspec.DecodeError: it is nothing of the kind.
        KeyError: a content is missing.
    """
    stored = msgspec.json.decode(text, type=_StoredStacks)
    return Stacks(
        [_load_turn(one, get) for one in stored.turns],
        [_load_turn(one, get) for one in stored.undone],
    )


def encode_operation(operation: Operation, put: Put) -> str:
    """An operation as JSON."""
    files = tuple(
        _StoredFile(
            change.path,
            _name(change.before, put),
            _name(change.after, put),
            operation.modes.get(change.path),
        )
        for change in operation.changes
    )
    stored = _StoredOperation(
        operation.kind,
        operation.turn,
        files,
        tuple(map(str, operation.made_folders)),
        tuple(map(str, operation.old_folders)),
        operation.mark,
    )
    return msgspec.json.encode(stored).decode()


def decode_operation(text: str, get: Get) -> Operation:
    """What `encode_operation` made.

    Raises:
        msgspec.DecodeError: it is nothing of the kind.
        KeyError: a content is missing.
    """
    stored = msgspec.json.decode(text, type=_StoredOperation)
    return Operation(
        stored.kind,
        stored.turn,
        tuple(
            FileChange(file.path, _content(file.before, get), _content(file.after, get))
            for file in stored.files
        ),
        {file.path: file.mode for file in stored.files},
        tuple(map(Path, stored.made_folders)),
        tuple(map(Path, stored.old_folders)),
        stored.mark,
    )


def _store_turn(turn: UndoTurn, put: Put) -> _StoredTurn:
    files = tuple(
        _StoredFile(
            path,
            _name(version.before, put),
            _name(version.after, put),
            version.mode,
            version.broken,
        )
        for path, version in turn.versions.items()
    )
    return _StoredTurn(turn.turn, files, tuple(map(str, turn.made_folders)))


def _load_turn(stored: _StoredTurn, get: Get) -> UndoTurn:
    versions = {
        file.path: Version(
            _content(file.before, get), _content(file.after, get), file.mode, file.broken
        )
        for file in stored.files
    }
    return UndoTurn(versions, list(map(Path, stored.made_folders)), stored.turn)


def _name(content: bytes | None, put: Put) -> str | None:
    return None if content is None else put(content)


def _content(name: str | None, get: Get) -> bytes | None:
    return None if name is None else get(name)
