"""Files that shell commands show or write: from a command and what it printed to stretches."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agspec_tui.replay.blocks import Lines
from agspec_tui.replay.shown_shapes import TAB, UNKNOWN, Stretch, numbered

_BLOCK = re.compile(r"^```(?:bash|sh|shell)[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_WRITES = re.compile(r"\s*cat\b[^|&;>]*(>>?)[ \t]*([^\s<>|&;'\"]+)[^|&;]*")
_RANGE = re.compile(r"(\d+)(?:,(\d+|\$))?p")
_SILENT = frozenset(
    ("cd", "export", "rm", "mkdir", "touch", "mv", "cp", "chmod", "true", ":", "set", "source")
)


@dataclass(frozen=True, slots=True)
class _Display:
    """A command that prints a file."""

    path: str
    """The file."""
    start: int
    """Number of the first line it prints; `UNKNOWN` if that cannot be told."""
    is_numbered: bool
    """Whether every line is printed behind its number."""


def commands_of(output: str) -> str:
    """The shell script in a reply: its first fenced block of one; empty without one."""
    hit = _BLOCK.search(output)
    return hit[1] if hit else ""


def files_of(script: str, printed: Sequence[str]) -> Iterator[Stretch]:
    """Files that a script wrote with here-documents, and the one that it printed.

    What was printed is a file's only where one command printed one file and nothing else could
    have printed anything.

    Args:
        script: the commands.
        printed: what they printed, in parts where the middle is missing; empty if it is unknown.
    """
    rest: list[str] = []
    for line, body in _with_bodies(script):
        written = _WRITES.match(line)
        if body is not None and written is not None:
            yield Stretch(written[2], 1 if written[1] == ">" else UNKNOWN, body)
            line = line[written.end() :]
        rest.append(line)
    display = _only_display("\n".join(rest))
    if display is None:
        return
    for number, text in enumerate(printed):
        if display.is_numbered:
            yield from numbered(display.path, text, TAB)
        elif text.strip():
            yield Stretch(display.path, UNKNOWN if number else display.start, text)


def _with_bodies(script: str) -> Iterator[tuple[str, str | None]]:
    """Lines of a script, each with the here-document that it begins; None without one."""
    text = Lines(script)
    number = 0
    while number < len(text.lines):
        line = text.lines[number]
        number += 1
        mark = _HEREDOC.search(line)
        end = text.closing(mark[2], number) if mark else None
        if end is None:
            yield line, None
        else:
            yield line, text.between(number, end)
            number = end + 1


def _only_display(script: str) -> _Display | None:
    """The command that prints a file, if it is the only one that prints anything."""
    found: _Display | None = None
    for command in re.split(r"\n|;(?![^']*p')|&&", script):
        try:
            words = shlex.split(command, comments=True)
        except ValueError:
            return None
        if not words or words[0] in _SILENT or words[:2] == ["sed", "-i"]:
            continue
        display = _display(words)
        if display is None or found is not None:
            return None
        found = display
    return found


def _display(words: Sequence[str]) -> _Display | None:
    """What a pipeline prints of one file; None if it prints something else."""
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    first = _printed_by(stages[0])
    for stage in stages[1:]:
        if first is None or not stage:
            return None
        cut = _cut_by(stage)
        if cut is None:
            return None
        unknown = UNKNOWN in (first.start, cut)
        start = UNKNOWN if unknown else first.start + cut - 1
        first = _Display(first.path, start, first.is_numbered)
    return first


def _printed_by(words: Sequence[str]) -> _Display | None:
    """What `cat`, `nl`, `head`, `tail` or `sed -n` prints of one file."""
    if len(words) < 2 or any(word.startswith(("<", ">", "2>")) for word in words):
        return None
    path, flags = words[-1], words[1:-1]
    if path.startswith("-") or "." not in path:
        return None
    if words[0] in ("cat", "nl"):
        if not all(flag.startswith("-") for flag in flags):
            return None
        is_numbered = words[0] == "nl" or any("n" in flag for flag in flags)
        return _Display(path, 1, is_numbered)
    start = _cut_by(words[:-1])
    return None if start is None else _Display(path, start, False)


def _cut_by(words: Sequence[str]) -> int | None:
    """First line that `head`, `tail` or `sed -n` lets through; None for any other command."""
    match words[0]:
        case "head":
            return 1
        case "tail":
            plus = next((word for word in words[1:] if word.startswith("+")), "")
            return int(plus[1:]) if plus[1:].isdigit() else UNKNOWN
        case "sed" if len(words) == 3 and words[1] == "-n":
            hit = _RANGE.fullmatch(words[2])
            return int(hit[1]) if hit else UNKNOWN
    return None
