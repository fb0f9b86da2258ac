"""Fences as CommonMark has them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agspec_tui.errors import EditError
from agspec_tui.forms.text import normalise

_FENCE = re.compile(r"^( {0,3})(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*?)[ \t]*$")
_RUN = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)
_TAGS = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "mjs": "javascript",
    "ts": "typescript",
    "rs": "rust",
    "rb": "ruby",
    "kt": "kotlin",
    "sh": "bash",
    "md": "markdown",
    "yml": "yaml",
    "cs": "csharp",
}
_SAME_TEXT = "c h cpp hpp cc go java jsx tsx php sql html css scss json toml yaml xml lua swift"
_SAME_TAG = frozenset(_SAME_TEXT.split())


@dataclass(frozen=True, slots=True)
class Fence:
    """One fence line."""

    indent: int
    """Spaces before it, 0 to 3."""
    mark: str
    """Backtick or tilde."""
    length: int
    """Number of marks."""
    info: str
    """Text behind the marks; empty for a bare fence."""

    def closes(self, opener: "Fence") -> bool:
        """Whether this line ends the block of `opener`: bare, the same mark, at least as long.

        A fence further right than its opener is content, stricter than CommonMark: a list item's
        block inside a Markdown file must not end the file.
        """
        return (
            not self.info
            and self.mark == opener.mark
            and self.length >= opener.length
            and self.indent <= opener.indent
        )


def fence_at(line: str) -> Fence | None:
    """The fence that a line is, or None. Marks in the middle of a line are none."""
    match = _FENCE.match(line)
    if match is None:
        return None
    return Fence(len(match[1]), match[2][0], len(match[2]), match[3])


def end_in_doubt(path: str) -> EditError:
    """What is said of a file whose own fences may be the end of the block that it stands in."""
    return EditError(
        f"where the new text of {path} ends is not sure: fences stand in it or right behind it",
        "use a longer fence around the file than those in it",
    )


def closing_fence(lines: Sequence[str], at: int, opener: Fence) -> int | None:
    """Line of the fence that closes the block opened at `at`; tagged fences inside open their own.

    Inner fences shorter than the opener cannot close it and are content, by the CommonMark rule.
    """
    inner: list[Fence] = []
    for index in range(at + 1, len(lines)):
        fence = fence_at(lines[index])
        if fence is None or fence.mark != opener.mark or fence.length < opener.length:
            continue
        if fence.info:
            inner.append(fence)
        elif inner and fence.closes(inner[-1]):
            inner.pop()
        elif not inner and fence.closes(opener):
            return index
    return None


def fence_for(text: str) -> str:
    """A fence of backticks longer than any that begins a line of the text; at least 3."""
    return "`" * max(3, 1 + max((len(run) for run in _RUN.findall(text)), default=0))


def tag_for(path: str) -> str:
    """The language tag for a file, by its extension; empty if it has none that is well known."""
    extension = path.rsplit(".", 1)[-1].lower()
    return _TAGS.get(extension, extension if extension in _SAME_TAG else "")


def fenced_file(path: str, text: str) -> str:
    """A file as path line, fence, text and closing fence; the text's line ends become `\\n`."""
    body = normalise(text)
    if body and not body.endswith("\n"):
        body += "\n"
    fence = fence_for(body)
    return f"{path}\n{fence}{tag_for(path)}\n{body}{fence}\n"
