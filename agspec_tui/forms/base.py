"""The one base of edit forms: what a prompt, the drafter's index and the parser ask of each."""

from abc import ABC, abstractmethod
from typing import ClassVar

from agspec_tui.commands import DocumentView
from agspec_tui.forms.carried import carried
from agspec_tui.forms.fences import fenced_file
from agspec_tui.forms.reasoning import prepare
from agspec_tui.forms.types import FileEdit
from agspec_tui.forms.views import View, views


class Form(ABC):
    """One edit form: serves the prompt, the drafter's index, the parser and the screen alike."""

    name: ClassVar[str]
    """`whole`, `udiff`, …"""
    complete: ClassVar[bool]
    """Whether a reply holds every line of a file it changes, so that it is as long as the file."""
    how: ClassVar[str]
    """How the coder must answer, in a few lines of the prompt."""
    emitted: ClassVar[tuple[View, ...]]
    """The forms in which a reply may emit a file, in index order."""

    def instructions(self) -> str:
        """How the coder must answer, in a few lines of the prompt."""
        return self.how

    def render_file(self, path: str, text: str) -> str:
        """A file as the prompt shows it: the path and the file as it is, in a fence that holds."""
        return fenced_file(path, text)

    def index_views(self, text: str) -> tuple[DocumentView, ...]:
        """The forms in which a reply may emit this file, each as one text, in index order."""
        return views(text, self.emitted)

    def parse(self, reply: str, expected: tuple[str, ...] = ()) -> tuple[FileEdit, ...]:
        """Read a complete reply: the tool calls that say an edit, else what the form itself has.

        Args:
            reply: The text of the coder, as generated.
            expected: Paths the coder was asked to change. They settle doubtful spellings; a reply
                that names no path is read only where exactly one is expected.

        Raises:
            EditError: it holds no edit, or one that cannot be read.
        """
        lines = prepare(reply)
        return carried(lines, expected) or self.read(lines, expected)

    @abstractmethod
    def read(self, lines: list[str], expected: tuple[str, ...]) -> tuple[FileEdit, ...]:
        """Read a reply that makes no calls.

        Args:
            lines: The reply without its reasoning.
            expected: As for `parse`.

        Raises:
            EditError: as for `parse`.
        """
