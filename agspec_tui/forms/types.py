"""The records that edit forms hand on."""

from collections.abc import Iterable
from dataclasses import dataclass

FUZZY = "fuzzy"
"""Name of the rule that places a hunk by likeness only."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One replacement within a file, as the reply states it."""

    number: int
    """Number of the hunk within its file, from 1; error messages name it."""
    old: tuple[str, ...]
    """Lines that must be there, without line ends; context included. Empty means: append."""
    new: tuple[str, ...]
    """Lines that stand there afterwards, without line ends; context included."""
    hint: str = ""
    """Text between the `@@` marks, e.g. `def main`; used only to choose among equal places."""
    line: int = 0
    """Line number the reply claims for the old side, from 1; 0 if it claims none. Only a hint."""
    marks: str = ""
    """Mark of each line as the reply orders them: ` `, `-` or `+`. Empty: a line diff tells."""
    final_newline: bool | None = None
    """Whether the file ends with a line end afterwards, if the reply says so; None: as before."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What a reply wants of one file. Exactly one of `whole`, `hunks`, `delete` says how."""

    path: str
    """Path as the reply names it, with `/`, relative to the repository."""
    whole: str | None = None
    """The complete new text, with `\\n` line ends."""
    hunks: tuple[Hunk, ...] = ()
    """Replacements in the order they were given."""
    create: bool = False
    """The reply says that the file is new."""
    delete: bool = False
    """The reply says that the file goes away."""
    whole_long: str | None = None
    """`whole` read up to the last bare fence, where the fences of the reply allow two readings."""
    label: str = ""
    """First line that was taken as the name of the file and left out of `whole`."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """An edit landed in memory: the bytes before and after."""

    path: str
    """Path relative to the repository."""
    before: bytes | None
    """Bytes on disk when the edit was landed; None for a new file."""
    after: bytes | None
    """Bytes to be written; None for a deletion."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one replacement landed, and by which rule its place was found."""

    path: str
    """Path relative to the repository."""
    hunk: int
    """Number of the hunk within its file, from 1; for a whole file the number of the change."""
    rule: str
    """Name of the rule of `forms.locate`, or `whole`, `create`, `delete`, `append`."""
    line: int
    """First line of the span in the old file, from 1."""
    start: int
    """First byte of the span in the old file."""
    end: int
    """Byte after the span in the old file."""
    size: int
    """Bytes that stand in place of the span."""
    likeness: float = 1.0
    """How alike the place is to what the reply gave, 0 to 1; below 1 only for `fuzzy`."""


@dataclass(frozen=True, slots=True)
class Landing:
    """A turn's edits landed in memory: all of them, or none."""

    changes: tuple[FileChange, ...]
    """Files that differ afterwards, in the order of the reply."""
    diff: str
    """Unified diff of `changes`, made from the bytes before and after."""
    placements: tuple[Placement, ...]
    """Every replacement with its place, in the order of the files and of their lines."""

    @property
    def doubtful(self) -> tuple[str, ...]:
        """One line about each place that is only like what the reply gave: ask before writing."""
        return doubts(self.placements)


def doubts(placements: Iterable[Placement]) -> tuple[str, ...]:
    """One line about each replacement that was placed by likeness only."""
    return tuple(
        f"{one.path}, hunk {one.hunk}: placed at line {one.line} by likeness only, "
        f"{percent(one.likeness)} alike"
        for one in placements
        if one.rule == FUZZY
    )


def percent(likeness: float) -> str:
    """A likeness in words; never more than it is."""
    return f"{int(100 * likeness)} %"
