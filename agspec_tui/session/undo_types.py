"""What undo remembers: files before and after each turn, and the operation under way."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

from agspec_tui.forms.types import FileChange


@dataclass(slots=True)
class Version:
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
class UndoTurn:
    """What one turn did on disk."""

    versions: dict[str, Version] = field(default_factory=dict)
    """Files it wrote, created or deleted, by path."""
    made_folders: list[Path] = field(default_factory=list)
    """Folders it made, outermost first."""
    turn: int = 0
    """Its number within the session; 0 where none was given."""

    def copy(self) -> "UndoTurn":
        """A turn that can be changed without this one."""
        versions = {path: replace(version) for path, version in self.versions.items()}
        return UndoTurn(versions, list(self.made_folders), self.turn)


@dataclass(slots=True)
class Stacks:
    """Turns that can be taken back, and restores that can be."""

    turns: list[UndoTurn] = field(default_factory=list)
    """Turns that wrote something and were not restored, the last one last."""
    undone: list[UndoTurn] = field(default_factory=list)
    """Inverses of the restores since the last write, the last one last."""

    def since(self, turn: int) -> UndoTurn:
        """Turns behind one number as one, merged."""
        return merge([one for one in self.turns if one.turn > turn])

    def copy(self) -> "Stacks":
        """Stacks that can be changed without these."""
        return Stacks([one.copy() for one in self.turns], [one.copy() for one in self.undone])


def merge(turns: Sequence[UndoTurn]) -> UndoTurn:
    """Several turns as one, latest first, as far as each took up where the one before ended."""
    merged = UndoTurn(turn=turns[0].turn if len(turns) == 1 else 0)
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


@dataclass(frozen=True, slots=True)
class Operation:
    """A write, an undo or a redo that is about to begin: all that it takes to end it later."""

    kind: Literal["write", "undo", "redo"]
    """What it is."""
    turn: int
    """Turn of the session that it belongs to; 0 where none was given."""
    changes: tuple[FileChange, ...]
    """Bytes before and after, one change a file."""
    modes: dict[str, int | None]
    """Permission bits before it, by path; None for a file that did not exist."""
    made_folders: tuple[Path, ...]
    """Folders that it is going to make, outermost first."""
    old_folders: tuple[Path, ...]
    """Folders that it removes in the end if they are empty, outermost first."""
    mark: str
    """In the names of its temporary files."""


class UndoKeeper(Protocol):
    """Keeps copies where they outlive the program. Neither method raises."""

    def begin(self, operation: Operation, after: Stacks) -> None:
        """Keep an operation and what the log is behind it; on disk when this returns."""
        ...

    def finish(self, stacks: Stacks, *, done: bool) -> None:
        """The operation has ended, or was given up: this is what the log is now."""
        ...
