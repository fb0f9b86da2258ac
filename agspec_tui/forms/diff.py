"""Unified diffs of landed changes, for the screen and the JSON report; `git apply` reads them."""

import re
from collections.abc import Iterable, Sequence

from agspec_tui.forms.linediff import Change, changes
from agspec_tui.forms.types import FileChange

_CONTEXT = 3
_QUOTED = re.compile(r'["\\\x00-\x1f\x7f]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


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
    before, after = _decoded(change.before), _decoded(change.after)
    left = "/dev/null" if change.before is None else _name("a", change.path)
    right = "/dev/null" if change.after is None else _name("b", change.path)
    if before is None or after is None:
        return "".join(head) + f"Binary files {left} and {right} differ\n"
    old, new = _git_lines(before), _git_lines(after)
    runs = changes(old, new)
    if not runs:  # an empty file that appears or goes has a header only
        return "".join(head)
    head.append(f"--- {left}{_tab(left)}\n+++ {right}{_tab(right)}\n")
    return "".join(head) + "".join(_hunk(old, new, group) for group in _grouped(runs))


def _decoded(data: bytes | None) -> str | None:
    """Text of one side; None if it is binary. A missing file is empty."""
    if data is None:
        return ""
    if data.startswith(_UTF16):
        return data.decode("utf-16", errors="backslashreplace")
    if b"\0" in data:
        return None
    return data.decode("utf-8", errors="backslashreplace")


def _git_lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _name(side: str, path: str) -> str:
    full = f"{side}/{path}"
    if not _QUOTED.search(full):
        return full
    return '"' + _QUOTED.sub(lambda m: _ESCAPES.get(m[0], f"\\{ord(m[0]):03o}"), full) + '"'


def _tab(name: str) -> str:
    """A tab ends an unquoted name that holds a space, as git writes it."""
    return "\t" if " " in name and not name.startswith('"') else ""


def _grouped(runs: Sequence[Change]) -> list[list[Change]]:
    """Changes that share a hunk: those whose context lines would touch."""
    groups = [[runs[0]]]
    for run in runs[1:]:
        if run.i1 - groups[-1][-1].i2 <= 2 * _CONTEXT:
            groups[-1].append(run)
        else:
            groups.append([run])
    return groups


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[Change]) -> str:
    first, last = group[0], group[-1]
    lead = min(_CONTEXT, first.i1)
    i1, i2 = first.i1 - lead, min(len(old), last.i2 + _CONTEXT)
    j1, j2 = first.j1 - lead, min(len(new), last.j2 + _CONTEXT)
    out = [f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@\n"]
    at = i1
    for run in group:
        out += [_line(" ", line) for line in old[at : run.i1]]
        out += [_line("-", line) for line in old[run.i1 : run.i2]]
        out += [_line("+", line) for line in new[run.j1 : run.j2]]
        at = run.i2
    out += [_line(" ", line) for line in old[at:i2]]
    return "".join(out)


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"


def _line(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
