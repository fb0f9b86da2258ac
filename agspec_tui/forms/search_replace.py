"""Form `search-replace`: a reply gives lines of a file and the lines that take their place."""

from collections.abc import Sequence
from dataclasses import dataclass

from agspec_tui.errors import EditError
from agspec_tui.forms.base import Form
from agspec_tui.forms.blocks import OPEN, parts, refuse_stray
from agspec_tui.forms.carried import add
from agspec_tui.forms.fences import Fence, fence_at
from agspec_tui.forms.paths import from_info, from_line
from agspec_tui.forms.types import FileEdit, Hunk
from agspec_tui.forms.views import raw

_N_ABOVE = 3

_INSTRUCTIONS = """\
Answer with search/replace blocks, and nothing else.
For each change write the path of the file alone on a line, then one block in a fence.
Copy the lines to be replaced exactly as the file has them, with their indentation; enough of them
that they stand only once in the file. Never write `...` for lines.
To add lines, search for a line beside them and give it again with the new ones.
An empty search part makes a new file.

Example:

src/greet.py
```
<<<<<<< SEARCH
    print("Hello")
=======
    print(f"Hello, {name}!")
>>>>>>> REPLACE
```
"""


@dataclass(frozen=True, slots=True)
class _Block:
    """One block of a reply."""

    path: str
    """The file, as far as the reply says it."""
    old: tuple[str, ...]
    """Lines to be searched for."""
    new: tuple[str, ...]
    """Lines in their place."""


class SearchReplace(Form):
    """Blocks of lines and their replacement, located by their text."""

    name = "search-replace"
    complete = False
    how = _INSTRUCTIONS
    emitted = (("raw", raw),)  # both parts of a block are lines as the file has them

    def read(self, lines: list[str], expected: tuple[str, ...]) -> tuple[FileEdit, ...]:
        """Read the blocks of a reply.

        Raises:
            EditError: it holds no block, ends inside one, has marks that allow two readings,
                changes nothing, or names no file where not exactly one is expected.
        """
        edits: list[FileEdit] = []
        blocks = _blocks(lines, expected)
        for block in blocks:
            if block.old == block.new:
                continue
            if not any(line.strip() for line in block.old):
                text = "".join(f"{line}\n" for line in block.new)
                add(edits, FileEdit(block.path, whole=text, create=True))
            else:
                add(edits, FileEdit(block.path, hunks=(Hunk(1, block.old, block.new),)))
        if not edits:
            what = "changes nothing" if blocks else "holds no search/replace block"
            raise EditError(f"the reply {what}", "give the old lines and the new ones")
        return tuple(edits)


def _blocks(lines: Sequence[str], expected: tuple[str, ...]) -> list[_Block]:
    """The blocks in their order.

    Raises:
        EditError: a mark stands where none can be: a part then holds such a line itself, or the
            reply was cut off, and where a block ends is not sure.
    """
    blocks: list[_Block] = []
    index = floor = 0
    while index < len(lines):
        opener = OPEN.match(lines[index])
        if opener is None:
            if blocks:
                refuse_stray(lines[index])
            index += 1
            continue
        divide, close = parts(lines, index)
        known = blocks[-1].path if blocks else ""
        path = _path(lines, index, floor, opener[1] or "", expected) or known
        if not path:
            if len(expected) != 1:
                raise EditError(
                    "the reply names no file", "put the path alone on the line before each block"
                )
            path = expected[0]
        old, new = _unfenced(lines[index + 1 : divide], lines[divide + 1 : close])
        blocks.append(_Block(path, tuple(old), tuple(new)))
        index = floor = close + 1
    return blocks


def _path(lines: Sequence[str], at: int, floor: int, behind: str, expected: tuple[str, ...]) -> str:
    """The file a block is for: behind its first mark, in the fence's info string, or above."""
    if behind:
        found = from_line(behind, expected)
        return found[0] if found else ""
    above = [line for line in lines[floor:at] if line.strip()][-_N_ABOVE:]
    for line in reversed(above):
        fence = fence_at(line)
        if fence is None:
            found = from_line(line, expected)
            return found[0] if found else ""
        named = from_info(fence.info, expected) if fence.info else None
        if named:
            return named
    return ""


def _unfenced(old: Sequence[str], new: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Both parts without a fence that stands around each of them.

    Where the fences are equal on both sides, dropping them changes nothing of what is replaced.
    """
    bare_old, bare_new = _inside(old), _inside(new)
    if bare_old is None or bare_new is None or (old[0], old[-1]) != (new[0], new[-1]):
        return old, new
    return bare_old, bare_new


def _inside(part: Sequence[str]) -> Sequence[str] | None:
    """The lines within a fence that is the first and the last line of a part."""
    opener: Fence | None = fence_at(part[0]) if len(part) >= 2 else None
    closer = fence_at(part[-1]) if len(part) >= 2 else None
    if opener is None or closer is None or not closer.closes(opener):
        return None
    return part[1:-1]
