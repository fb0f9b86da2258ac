"""Files as a prompt shows them: those to change whole, a test file where it failed."""

import re
from collections.abc import Mapping, Sequence

from agspec_tui.session.handover import RunResult
from agspec_tui.session.outline import failing_tests
from agspec_tui.session.prompts import ShownFile
from agspec_tui.session.workspace import Workspace

_N_SMALL_LINES = 120
_N_AROUND_LINES = 16


def whole_files(workspace: Workspace, paths: Sequence[str]) -> list[ShownFile]:
    """Those of the files that can be read, whole."""
    texts = ((path, workspace.text(path)) for path in paths)
    return [ShownFile(path, text) for path, text in texts if text is not None]


def relevant_tests(tests: Mapping[str, str], run: RunResult) -> list[ShownFile]:
    """The first failing test file: whole if it is small, else the lines around its failures."""
    for path in failing_tests(tests, run.output, run.failing)[:1]:
        lines = tests[path].split("\n")
        if len(lines) <= _N_SMALL_LINES:
            return [ShownFile(path, tests[path])]
        numbers = re.findall(rf"{re.escape(path)}(?:\"?, line |:|\()(\d+)", run.output)
        shown = sorted(
            {
                line
                for number in numbers[:4]
                for line in range(int(number) - _N_AROUND_LINES, int(number) + _N_AROUND_LINES // 2)
                if 0 <= line < len(lines)
            }
        )
        if shown:
            return [ShownFile(path, _with_gaps(lines, shown))]
    return []


def _with_gaps(lines: Sequence[str], shown: Sequence[int]) -> str:
    """The lines with these ascending numbers, and a line that says how many are not shown."""
    text: list[str] = []
    for before, line in zip([-1, *shown], [*shown, len(lines)], strict=True):
        if line - before > 1:
            text.append(f"[{line - before - 1} lines left out]")
        text += lines[line : line + 1]
    return "\n".join(text)
