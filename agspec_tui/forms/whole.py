"""Form `whole`: a reply gives complete files, each as a path line and a fenced block."""

import re
from dataclasses import dataclass, replace

from agspec_tui.errors import EditError
from agspec_tui.forms.base import Form
from agspec_tui.forms.carriers import is_call
from agspec_tui.forms.fences import Fence, closing_fence, end_in_doubt, fence_at
from agspec_tui.forms.paths import (
    expected_path,
    from_first_line,
    from_info,
    from_line,
    looks_like_path,
    settle,
)
from agspec_tui.forms.types import FileEdit
from agspec_tui.forms.views import raw

_SHELLS_TEXT = "bash sh shell zsh fish console terminal powershell cmd bat output log"
_SHELLS = frozenset(_SHELLS_TEXT.split())
_SHELL_FILES = (".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd", ".log")
_DIFFS = frozenset(("diff", "patch", "udiff"))
_COMMENT = re.compile(
    r"^\s*(?:#|//|--|;|/\*|<!--)\s*(?:[Ff]ile(?:name)?:\s*)?(.+?)\s*(?:\*/|-->)?$"
)

# No example: small models copy one into their reply, and the files in the prompt show the form.
_INSTRUCTIONS = """\
Answer with the complete new text of every file you change, and nothing else.
Write each file in the way files are shown to you: its path alone on a line, then a fenced block
with the whole file, from its first line to its last.
Write every line of the file, also those that stay as they are; never abbreviate.
If the file itself has lines that begin with ```, use a longer fence around it.
Files that stay as they are must not appear. A new file is given in the same way.
"""


@dataclass(frozen=True, slots=True)
class _Block:
    """One fenced block of a reply, by line numbers."""

    opener: Fence
    """Its first fence."""
    start: int
    """First line of the body."""
    stop: int
    """Line of the closing fence."""
    path: str | None
    """The path beside the opener."""
    alone: bool
    """The path's line or info string says nothing else."""
    last: int
    """Line of the last bare fence that may close it instead; `stop` where there is no doubt."""


class Whole(Form):
    """Complete files. The default for small models: nothing has to be located."""

    name = "whole"
    complete = True
    how = _INSTRUCTIONS
    emitted = (("raw", raw),)

    def read(self, lines: list[str], expected: tuple[str, ...]) -> tuple[FileEdit, ...]:
        """Read the files of a reply.

        Raises:
            EditError: it holds no file, ends inside one, names one twice with two contents, or
                names none where not exactly one is expected.
        """
        blocks = _blocks(lines, expected)
        named = [block for block in blocks if block.path is not None]
        if named:
            return _merged([(_edit(lines, block), block.alone) for block in named])
        for block in blocks:
            if _begins_with_file(lines[block.start : block.stop], expected):
                return self.read(lines[block.start : block.stop], expected)  # a fence around all
        return _unnamed(lines, blocks, expected)


def _blocks(lines: list[str], expected: tuple[str, ...]) -> list[_Block]:
    """All blocks outside one another. A bare block behind a named one leaves its end in doubt.

    Such a block may be prose's own, or it may be the inside of a file whose outer fence was too
    short; the old text of the file decides when the edit is landed.
    """
    blocks: list[_Block] = []
    index = floor = 0
    while index < len(lines):
        opener = fence_at(lines[index])
        if opener is None:
            index += 1
            continue
        path, alone = _path_beside(lines, index, floor, opener, expected)
        stop = closing_fence(lines, index, opener)
        if stop is None and path is None and _begins_with_file(lines[index + 1 :], expected):
            index += 1  # a fence around the whole reply that is never closed
            continue
        if stop is None:
            where = f" {path}" if path else ""
            raise EditError(
                f"the reply ends inside a file{where}",
                "the closing fence is missing: answer again, with every file to its end",
            )
        if path is None and blocks and blocks[-1].path and index == floor:
            raise end_in_doubt(
                blocks[-1].path
            )  # no word between the two: both may be the file's own
        if path is not None and stop == index + 1 and any(map(fence_at, lines[stop + 1 :])):
            raise end_in_doubt(path)  # an empty file, or one that begins with a fence
        owner = next((i for i, block in reversed([*enumerate(blocks)]) if block.path), None)
        if path is None and not opener.info and owner is not None:
            blocks[owner] = replace(blocks[owner], last=stop)
        else:
            blocks.append(_Block(opener, index + 1, stop, path, alone, stop))
        index = floor = stop + 1
    return blocks


def _begins_with_file(lines: list[str], expected: tuple[str, ...]) -> bool:
    """Whether the first two lines that are not blank are a path and a fence."""
    body = [line for line in lines if line.strip()][:2]
    return len(body) == 2 and bool(fence_at(body[1]) and from_line(body[0], expected))


def _path_beside(
    lines: list[str], at: int, floor: int, opener: Fence, expected: tuple[str, ...]
) -> tuple[str | None, bool]:
    """The path a block is given, from its info string or the line before, if it is a file's block.

    Commands and diffs are no files, though prose before them may name one.
    """
    tag = opener.info.split(" ")[0].split(":")[0].lower()
    found: tuple[str, bool] | None = None
    inside = from_info(opener.info, expected) if opener.info else None
    if inside is not None:
        found = inside, True
    else:
        before = [line for line in lines[max(floor, at - 2) : at] if line.strip()]
        gap = at - 1 >= floor and not lines[at - 1].strip()
        if before and (gap or lines[at - 1].strip()):
            found = from_line(before[-1], expected)
    if found is None:
        return None, False
    if not found[1] and not tag:
        return None, False  # a sentence names files for many reasons; their code has a tag
    shell = tag in _SHELLS and not found[0].lower().endswith(_SHELL_FILES)
    diff = tag in _DIFFS and not found[0].lower().endswith((".diff", ".patch"))
    return (None, False) if shell or diff else found


def _edit(lines: list[str], block: _Block, path: str | None = None, label: str = "") -> FileEdit:
    def body(stop: int) -> str:
        rows = lines[block.start + bool(label) : stop]
        pad = " " * block.opener.indent
        if pad:
            rows = [row.removeprefix(pad) if row.strip() else row.strip(" ") for row in rows]
        return "".join(f"{row}\n" for row in rows)

    long = body(block.last) if block.last != block.stop else None
    name = path or block.path or ""
    return FileEdit(name, whole=body(block.stop), whole_long=long, label=label)


def _merged(edits: list[tuple[FileEdit, bool]]) -> tuple[FileEdit, ...]:
    """One edit a path: equal ones once; a path alone on its line before one in a sentence."""
    by_path: dict[str, list[tuple[FileEdit, bool]]] = {}
    for edit, alone in edits:
        by_path.setdefault(edit.path, []).append((edit, alone))
    out: list[FileEdit] = []
    for path, given in by_path.items():
        sure = [edit for edit, alone in given if alone] or [edit for edit, _ in given]
        if any(edit.whole != sure[0].whole for edit in sure):
            raise EditError(
                f"{path}: the reply gives two different texts of this file",
                "give each file once, complete",
            )
        out.append(sure[0])
    return tuple(out)


def _unnamed(
    lines: list[str], blocks: list[_Block], expected: tuple[str, ...]
) -> tuple[FileEdit, ...]:
    """The files of a reply that has no path beside any block."""
    if any(is_call(line) for line in _outside(lines, blocks)):
        raise EditError(
            "the reply holds a tool call behind another block", "answer with the files alone"
        )
    files = [b for b in blocks if b.opener.info.split(" ")[0].lower() not in _SHELLS | _DIFFS]
    hint = "put the path alone on the line before each fenced block"
    if not files:
        diffs = any(b.opener.info.lower() in _DIFFS for b in blocks)
        raise EditError("the reply is a diff" if diffs else "the reply holds no file", hint)
    labelled = [
        _edit(lines, block, path, lines[block.start])
        for block in files
        if (path := _comment_path(lines, block, expected)) is not None
        and (len(expected) != 1 or path == expected[0])
    ]
    if labelled:
        return _merged([(edit, True) for edit in labelled])
    if len(expected) != 1:
        raise EditError("the reply names no file", hint)
    if len(files) > 1:
        raise EditError("the reply has several blocks and names no file", hint)
    return (_edit(lines, files[0], expected[0]),)


def _outside(lines: list[str], blocks: list[_Block]) -> list[str]:
    """The lines that are in no block."""
    inside = {i for block in blocks for i in range(block.start - 1, block.last + 1)}
    return [line for i, line in enumerate(lines) if i not in inside]


def _comment_path(lines: list[str], block: _Block, expected: tuple[str, ...]) -> str | None:
    """The path on a block's first line, in a comment or plain."""
    if block.start == block.stop:
        return None
    match = _COMMENT.match(lines[block.start])
    if match is None:
        return from_first_line(lines[block.start], expected)
    text = match[1]
    if expected_path(text, expected) or (looks_like_path(text) and " " not in text):
        return settle(text, expected)
    return None
