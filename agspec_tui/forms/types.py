"""The one protocol of edit forms, and the records they hand on."""

from dataclasses import dataclass
from typing import Protocol

from agspec_tui.commands import DocumentView


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
        return tuple(
            f"{one.path}, hunk {one.hunk}: placed at line {one.line} by likeness only"
            for one in self.placements
            if one.rule == "fuzzy"
        )


class Form(Protocol):
    """One edit form: serves the prompt, the drafter's index, the parser and the screen alike."""

    name: str
    """`whole`, `udiff`, …"""
    complete: bool
    """Whether a reply holds every line of a file it changes, so that it is as long as the file."""

    def instructions(self) -> str:
        """How the coder must answer, in a few lines of the prompt."""
        ...

    def render_file(self, path: str, text: str) -> str:
        """A file as the prompt shows it, in this form's own fences."""
        ...

    def index_views(self, text: str) -> tuple[DocumentView, ...]:
        """The forms in which a reply may emit this file, each as one text, in index order."""
        ...

    def parse(self, reply: str, expected: tuple[str, ...] = ()) -> tuple[FileEdit, ...]:
        """Read a complete reply.

        Args:
            reply: The text of the coder, as generated.
            expected: Paths the coder was asked to change. They settle doubtful spellings; a reply
                that names no path is read only where exactly one is expected.

        Raises:
            EditError: it holds no edit, or one that cannot be read.
        """
        ...
