"""Unified diffs of landed changes, for the screen and the JSON report; `git apply` reads them."""

import re
from collections.abc import Iterable

from agspec_tui.forms.sides import DiffHunk, Sides, shown, sides_of
from agspec_tui.forms.types import FileChange

_QUOTED = re.compile(r'["\\\x00-\x1f\x7f]')
_BOM = "\ufeff"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def unified(changed: Iterable[FileChange]) -> str:
    """Git-style unified diff of all files, three lines of context; empty if nothing differs.

    Line ends are content, as git has it: a CR stands before the LF of its line. Bytes that are not
    UTF-8 appear as `\\xNN`, so the text can always be shown and sent, but only UTF-8 files can be
    patched with it. UTF-16 with a byte order mark is shown decoded. Binary files get one line.
    """
    return "".join(_one(change) for change in changed if change.before != change.after)


def _one(change: FileChange) -> str:
    head = [f"diff --git {_name('a', change.path)} {_name('b', change.path)}\n"]
    if change.before is None:
        head.append("new file mode 100644\n")
    if change.after is None:
        head.append("deleted file mode 100644\n")
    sides = sides_of(change)
    left = "/dev/null" if change.before is None else _name("a", change.path)
    right = "/dev/null" if change.after is None else _name("b", change.path)
    if sides is None:
        return "".join(head) + f"Binary files {left} and {right} differ\n"
    hunks = sides.hunks()
    if not hunks:  # an empty file that appears or goes has a header only
        return "".join(head)
    head.append(f"--- {left}{_tab(left)}\n+++ {right}{_tab(right)}\n")
    return "".join(head) + "".join(_hunk(sides, hunk) for hunk in hunks)


def _name(side: str, path: str) -> str:
    full = f"{side}/{path}"
    if not _QUOTED.search(full):
        return full
    return '"' + _QUOTED.sub(lambda m: _ESCAPES.get(m[0], f"\\{ord(m[0]):03o}"), full) + '"'


def _tab(name: str) -> str:
    """A tab ends an unquoted name that holds a space, as git writes it."""
    return "\t" if " " in name and not name.startswith('"') else ""


def _hunk(sides: Sides, hunk: DiffHunk) -> str:
    lines = [f"@@ -{_range(hunk.i1, hunk.i2)} +{_range(hunk.j1, hunk.j2)} @@\n"]
    at = hunk.i1
    for run in hunk.runs:
        lines += [_line(" ", line) for line in sides.old[at : run.i1]]
        lines += [_line("-", line) for line in sides.old[run.i1 : run.i2]]
        lines += [_line("+", line) for line in sides.new[run.j1 : run.j2]]
        at = run.i2
    lines += [_line(" ", line) for line in sides.old[at : hunk.i2]]
    text = "".join(lines)
    return text.replace(_BOM, "") if sides.encoding.startswith("utf-16") else text


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"


def _line(mark: str, line: str) -> str:
    line = shown(line)
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
