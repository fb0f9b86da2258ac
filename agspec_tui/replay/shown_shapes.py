"""Files in prompts and tool results: one function a shape, each from text to the files in it.

A recording has no repository, so that what a session showed of a file is all there is of it. Line
numbers are stripped; where they leave a gap, another stretch begins.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
_FENCED = re.compile(rf"^({_PATH})\n(`{{3,}})\w*\n(.*?)^\2[ \t]*$", re.MULTILINE | re.DOTALL)
_SEARCH = "<<<<<<< SEARCH"
_HEADING = re.compile(rf"^### (?:File: )?({_PATH})(?: ###)?[ \t]*\n", re.MULTILINE)
_SECTION_END = re.compile(r"^(?:###|--- END FILE ---|`{3,}[ \t]*$)", re.MULTILINE)
_OPENING_FENCE = re.compile(r"\s*`{3,}\w*\n")
_CONTENT = re.compile(rf"^Observation: The content of ({_PATH})\b[^\n]*\n", re.MULTILINE)
_TOOL_USE = re.compile(r"^\[tool_use ([^\]\n]+)\]\n(\{.*)$", re.MULTILINE)
_OUTPUT = re.compile(r"<output>\n(.*)</output>", re.DOTALL)
_HEAD_TAIL = re.compile(
    r"<output_head>\n(.*?)\n?</output_head>.*?<output_tail>\n(.*?)</output_tail>", re.DOTALL
)


def numbered(path: str, text: str, number: re.Pattern[str]) -> Iterator[Stretch]:
    """Stretches of the lines that carry a number; other lines are left out.

    Args:
        path: the file.
        text: lines, some of them numbered.
        number: matches a numbered line; groups are the number and the line without it.
    """
    start, last = 0, -1
    lines: list[str] = []
    for line in text.splitlines():
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
    for hit in _FENCED.finditer(content):
        if _SEARCH not in hit[3]:
            yield Stretch(hit[1], 1, hit[3])


def sections(content: str) -> Iterator[Stretch]:
    """Sections under `### path`: a skeleton, or parts of a file with `...` between them."""
    for hit in _HEADING.finditer(content):
        start = hit.end()
        if opening := _OPENING_FENCE.match(content, start):
            start = opening.end()
        end = _SECTION_END.search(content, start)
        body = content[start : end.start() if end else len(content)]
        if any(BAR.fullmatch(line) for line in body.splitlines()[:3]):
            yield from numbered(hit[1], body, BAR)
            continue
        for part in re.split(r"^\.\.\.\n", body, flags=re.MULTILINE):
            if part.strip():
                yield Stretch(hit[1], UNKNOWN, part)


def observed(content: str) -> Iterator[Stretch]:
    """`The content of path is:` with lines behind their numbers."""
    for hit in _CONTENT.finditer(content):
        yield from numbered(hit[1], content[hit.end() :], BLANK)


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
    if hit := _OUTPUT.search(content):
        return [hit[1]]
    if hit := _HEAD_TAIL.search(content):
        return [hit[1].rpartition("\n")[0] + "\n", hit[2].partition("\n")[2]]
    return []
