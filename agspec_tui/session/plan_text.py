"""A plan as text that a person edits: a line of paths, and the change below it, step by step."""

import json
import re
from collections.abc import Sequence

from agspec_tui.commands import StepEdit
from agspec_tui.errors import UsageError
from agspec_tui.events import PlanStep

HELP = (
    "One step: a line of paths with commas between, then the change.",
    "An empty line ends it. Add, drop and reorder steps as you like.",
    'Paths with spaces or commas stand in quotes: "my file.py".',
)
"""What the text looks like, line by line."""

_PATH = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|([^,"]*))\s*(?:,|$)')


def plan_text(steps: Sequence[PlanStep]) -> str:
    """The text of a plan; `read_plan_text` reads it.

    Empty lines of a change are left out, and what cannot be printed becomes a space.
    """
    return "\n".join(
        "\n".join([", ".join(map(_written, step.files)), *_change_lines(step.change), ""])
        for step in steps
    )


def read_plan_text(text: str) -> tuple[StepEdit, ...]:
    """The steps that a text gives.

    Whether their files can be changed or made is for the session to say.

    Raises:
        UsageError: there is no step, or the paths of one cannot be read; the message names it.
    """
    steps: list[StepEdit] = []
    for block in re.split(r"\n(?:[ \t]*\n)+", text.replace("\r\n", "\n").strip("\n")):
        first, _, change = block.strip().partition("\n")
        if first:
            lines = (line.strip() for line in change.split("\n"))
            steps.append(StepEdit(_paths(first, len(steps) + 1), "\n".join(lines)))
    if not steps:
        raise UsageError("the plan has no step", "write one, or reject it")
    return tuple(steps)


def _paths(line: str, number: int) -> tuple[str, ...]:
    """The paths of a step's first line.

    Raises:
        UsageError: a path is missing, or is not one by its looks.
    """
    paths: list[str] = []
    at = 0
    while at < len(line):
        found = _PATH.match(line, at)
        if found is None:
            raise UsageError(
                f"step {number} of the plan: a path's quotes are wrong: {line[at:].strip()}",
                'a path with spaces or commas is written "my file.py"',
            )
        path = _unquoted(found[1], number) if found[1] else found[2].strip()
        if not path:
            raise UsageError(
                f"step {number} of the plan: a comma stands without a path",
                "the first line of a step has its paths, with commas between them",
            )
        if not found[1] and len(path.split()) > 1:
            raise UsageError(
                f"step {number} of the plan: {path} is no path",
                "the first line of a step has its paths; put one with spaces in quotes",
            )
        paths.append(path)
        at = found.end()
    return tuple(paths)


def _written(path: str) -> str:
    """A path as it stands in the text: quoted if it would not be read, or be seen, otherwise."""
    if path.isprintable() and path and not re.search(r'[\s",]', path):
        return path
    return json.dumps(path, ensure_ascii=not path.isprintable())


def _unquoted(quoted: str, number: int) -> str:
    try:
        path: str = json.loads(quoted)
    except ValueError as error:
        raise UsageError(
            f"step {number} of the plan: a path's quotes are wrong: {quoted}",
            r'inside quotes, " is written \" and \ is written \\',
        ) from error
    return path


def _change_lines(change: str) -> list[str]:
    lines = (
        "".join(char if char.isprintable() else " " for char in line).strip()
        for line in change.splitlines()
    )
    return [line for line in lines if line]
