"""Files in prompts and tool results: one function a shape, each from text to the files in it.

A recording has no repository, so that what a session showed of a file is all there is of it. Line
numbers are stripped; where they leave a gap, another stretch begins.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agspec_tui.replay.blocks import Lines

UNKNOWN = 0
"""First line of a stretch of which only the text is known."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines of a file that follow each other."""

    path: str
    """The file, as the session names it."""
    start: int
    """Number of the first line, from 1; `UNKNOWN` where the session does not say."""
    text: str
    """The lines, without numbers, each with its line end."""


ARROW = re.compile(r" *(\d+)→(.*)")
"""A line as the tool `Read` numbers it."""
TAB = re.compile(r" *(\d+)\t(.*)")
"""A line as `cat -n` and `nl` number it."""
BAR = re.compile(r"(\d+)\|(.*)")
"""A line as a localiser's prompt numbers it."""
BLANK = re.compile(r"(\d+) (.*)")
"""A line with its number and one blank before it."""

_PATH = r"[\w.@+~/\\-]*[\w-]\.\w{1,8}"
_PATH_LINE = re.compile(_PATH)
_FENCE = re.compile(r"(`{3,})\w*[ \t]*")
_SEARCH = "<<<<<<< SEARCH"
_HEADING = re.compile(rf"^### (?:File: )?({_PATH})(?: ###)?[ \t]*\n", re.MULTILINE)
_SECTION_END = re.compile(r"^(?:###|--- END FILE ---|`{3,}[ \t]*$)", re.MULTILINE)
_OPENING_FENCE = re.compile(r"\s*`{3,}\w*\n")
_CONTENT = re.compile(rf"^Observation: The content of ({_PATH})\b[^\n]*\n", re.MULTILINE)
_TOOL_USE = re.compile(r"^\[tool_use ([^\]\n]+)\]\n(\{.*)$", re.MULTILINE)


def numbered(path: str, text: str, number: re.Pattern[str]) -> Iterator[Stretch]:
    """Stretches of the lines that carry a number; other lines are left out.

    Args:
        path: the file.
        text: lines, some of them numbered.
        number: matches a numbered line; groups are the number and the line without it.
    """
    start, last = 0, -1
    lines: list[str] = []
    for line in text.split("\n"):
        hit = number.fullmatch(line)
        if hit is None:
            continue
        n = int(hit[1])
        if n != last + 1 and lines:
            yield Stretch(path, start, "\n".join(lines) + "\n")
            lines = []
        if not lines:
            start = n
        lines.append(hit[2])
        last = n
    if lines:
        yield Stretch(path, start, "\n".join(lines) + "\n")


def whole_message(path: str, content: str) -> Stretch:
    """A message that is a file: its path and a fence may stand around the text."""
    head, _, rest = content.partition("\n")
    if head.strip() == path and rest.startswith("```"):
        fence = rest[: len(rest) - len(rest.lstrip("`"))]
        content = rest.partition("\n")[2].rstrip().removesuffix(fence)
    return Stretch(path, 1, content)


def fenced(content: str) -> Iterator[Stretch]:
    """Fenced blocks behind a line that is a path; edit blocks are no files."""
    if "```" not in content:
        return
    text = Lines(content)
    number = 0
    while number + 1 < len(text.lines):
        path, fence = text.lines[number], _FENCE.fullmatch(text.lines[number + 1])
        number += 1
        if fence is None or _PATH_LINE.fullmatch(path) is None:
            continue
        end = text.closing(fence[1], number + 1)
        if end is None:
            continue
        body = text.between(number + 1, end)
        if _SEARCH not in body:
            yield Stretch(path, 1, body)
        number = end + 1


def sections(content: str) -> Iterator[Stretch]:
    """Sections under `### path`: a skeleton, or parts of a file with `...` between them."""
    for hit in _HEADING.finditer(content):
        start = hit.end()
        if opening := _OPENING_FENCE.match(content, start):
            start = opening.end()
        end = _SECTION_END.search(content, start)
        body = content[start : end.start() if end else len(content)]
        if any(BAR.fullmatch(line) for line in body.split("\n", 3)[:3]):
            yield from numbered(hit[1], body, BAR)
            continue
        for part in re.split(r"^\.\.\.\n", body, flags=re.MULTILINE):
            if part.strip():
                yield Stretch(hit[1], UNKNOWN, part)


def observed(content: str) -> Iterator[Stretch]:
    """`The content of path is:` with lines behind their numbers."""
    hits = list(_CONTENT.finditer(content))
    ends = [*(hit.start() for hit in hits[1:]), len(content)]
    for hit, end in zip(hits, ends, strict=False):
        yield from numbered(hit[1], content[hit.end() : end], BLANK)


def tool_uses(output: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and arguments of every tool call in an output; arguments that are no JSON are empty."""
    uses = []
    for hit in _TOOL_USE.finditer(output):
        try:
            arguments = json.loads(hit[2])
        except ValueError:
            arguments = {}
        uses.append((hit[1], arguments))
    return uses


def tool_result(name: str, arguments: dict[str, Any], content: str) -> Iterator[Stretch]:
    """What a tool's result shows of the file it was called for, and what it wrote."""
    path = arguments.get("file_path")
    if not isinstance(path, str):
        return
    written = arguments.get("content")
    if name == "Write" and isinstance(written, str):
        yield Stretch(path, 1, written)
    elif not content.startswith("<tool_use_error>"):
        yield from numbered(path, content, ARROW)


def command_output(content: str) -> list[str]:
    """What a command printed: the whole of it, or its beginning and its end; empty if unknown."""
    whole = _between(content, "<output>\n", "</output>")
    if whole is not None:
        return [whole]
    head = _between(content, "<output_head>\n", "</output_head>")
    tail = _between(content, "<output_tail>\n", "</output_tail>")
    if head is None or tail is None:
        return []
    # Both were cut within a line.
    return [head.rstrip("\n").rpartition("\n")[0] + "\n", tail.partition("\n")[2]]


def _between(content: str, opening: str, closing: str) -> str | None:
    """The text from the first opening tag to the last closing one; None without both."""
    start, end = content.find(opening), content.rfind(closing)
    return content[start + len(opening) : end] if 0 <= start < end else None
