"""Form `udiff`: a reply gives unified diffs; their line numbers and counts are only hints."""

from agspec_tui.errors import EditError
from agspec_tui.forms.base import Form
from agspec_tui.forms.fences import fence_at
from agspec_tui.forms.paths import from_line
from agspec_tui.forms.types import FileEdit
from agspec_tui.forms.udiff_reader import Reader
from agspec_tui.forms.views import minus, raw, space

_TAGS = ("diff", "patch", "udiff")

_INSTRUCTIONS = """\
Answer with unified diffs in fenced blocks, and nothing else.
Begin each file with its `---` and `+++` lines, each change with a line `@@ ... @@`;
line numbers are not needed, the name of the function between the marks helps.
Every line of a change begins with a space (it stays), `-` (it goes) or `+` (it is new).
Copy the lines that stay or go exactly, with their indentation; never write `...` for lines.
Give two or three lines around each change. Rather replace a whole function than bits of it.
`--- /dev/null` makes a new file, `+++ /dev/null` deletes one.

Example:

```diff
--- a/src/greet.py
+++ b/src/greet.py
@@ def greet @@
 def greet(name):
-    print("Hello")
+    print(f"Hello, {name}!")
     return name
```
"""


class UDiff(Form):
    """Unified diffs, located by their text."""

    name = "udiff"
    complete = False
    how = _INSTRUCTIONS
    emitted = (("space", space), ("minus", minus), ("raw", raw))  # `raw` for new lines

    def read(self, lines: list[str], expected: tuple[str, ...]) -> tuple[FileEdit, ...]:
        """Read the diffs of a reply.

        Raises:
            EditError: it holds no diff, ends inside one, changes nothing, renames a file, or names
                no file where not exactly one is expected.
        """
        reader = Reader(expected)
        fenced = False
        for start, stop in _diff_blocks(lines):
            fenced = True
            reader.beside = _beside(lines, start, expected)
            reader.read(lines[start:stop], fenced=True)
        if not fenced:
            reader.read(lines, fenced=False)
        return reader.edits()


def _diff_blocks(lines: list[str]) -> list[tuple[int, int]]:
    """Bodies of the fenced blocks that hold diffs, as line ranges.

    No line of a diff body begins with a fence, so the first bare fence at the left edge ends it.

    Raises:
        EditError: the last such block is not closed.
    """
    blocks: list[tuple[int, int]] = []
    index = 0
    while index < len(lines):
        opener = fence_at(lines[index])
        index += 1
        if opener is None:
            if not blocks and lines[index - 1].startswith(("@@", "--- ", "diff --git ")):
                return []  # a diff without a fence around it: fences in it are content
            continue
        start = index
        while index < len(lines):
            fence = fence_at(lines[index])
            if fence is not None and fence.closes(opener):
                break
            index += 1
        if _is_diff(opener.info, lines[start:index]):
            if index == len(lines):
                raise EditError(
                    "the reply ends inside a diff",
                    "the closing fence is missing: answer again, with every hunk to its end",
                )
            blocks.append((start, index))
        index += 1
    return blocks


def _is_diff(info: str, body: list[str]) -> bool:
    """By its tag, or by a hunk header or a pair of file headers in it."""
    if info.split(" ")[0].lower() in _TAGS:
        return True
    heads = [row for row in body if row.startswith(("@@", "--- ", "+++ "))]
    return any(row.startswith("@@") for row in heads) or len(heads) >= 2


def _beside(lines: list[str], start: int, expected: tuple[str, ...]) -> str | None:
    """A path on the line before the fence, for diffs that have no headers."""
    if start < 2:
        return None
    found = from_line(lines[start - 2], expected)
    return found[0] if found else None
