"""Fences as CommonMark has them, and what comes before parsing: line ends and reasoning."""

import re
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


def prepare(reply: str) -> list[str]:
    """Lines of a reply with `\\n` line ends and without its reasoning.

    Raises:
        EditError: the reply ends inside its reasoning.
    """
    lines = normalise(reply.removeprefix("\ufeff")).split("\n")
    return _without_reasoning(lines)


def _without_reasoning(lines: list[str]) -> list[str]:
    """Drop `<think>` blocks that begin outside fences, and all before an orphan `</think>`."""
    out: list[str] = []
    opener: Fence | None = None
    thinking = False
    for line in _after_orphan(lines):
        rest = line
        if thinking or (opener is None and line.lstrip().startswith("<think>")):
            _, closing, rest = line.partition("</think>")
            thinking = not closing
            if thinking or not rest.strip():
                continue
        out.append(rest)
        fence = fence_at(rest)
        if fence is not None:
            opener = fence if opener is None else None if fence.closes(opener) else opener
    if thinking:
        raise EditError("the reply ends inside its reasoning", "answer with the edit itself")
    return out


def _after_orphan(lines: list[str]) -> list[str]:
    """Templates may open the reasoning in the prompt: then only its end is in the reply.

    A file may hold such a line itself. So the mark must stand outside fences, and a whole answer,
    with as many fences that open as close, must follow it.
    """
    opener: Fence | None = None
    for index, line in enumerate(lines):
        if line.lstrip().startswith("<think>"):
            return lines
        fence = fence_at(line)
        if fence is not None:
            opener = fence if opener is None else None if fence.closes(opener) else opener
        head, closing, rest = line.partition("</think>")
        if opener is None and closing and not (head.strip() and rest.strip()):
            after = [rest, *lines[index + 1 :]] if rest.strip() else lines[index + 1 :]
            return after if sum(fence_at(kept) is not None for kept in after) % 2 == 0 else lines
    return lines
