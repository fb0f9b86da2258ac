"""What comes before parsing: line ends, and reasoning, of which nothing is ever carried out."""

import re
from collections.abc import Sequence

from agspec_tui.errors import EditError
from agspec_tui.forms.fences import Fence, fence_at
from agspec_tui.forms.text import normalise

_PAIRS = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("[THINK]", "[/THINK]"))
_OPENERS = tuple(opener for opener, _ in _PAIRS)
_EDIT = re.compile(
    r" {0,3}(?:```|~~~)|<{5,}|@@|--- \S|\s*(?:<tool_call>|<function=|\[TOOL_CALLS\]|[{\[])"
)
_CALL = re.compile(r"\s*(?:<tool_call>|<function=)")
_CALL_END = re.compile(r".*(?:</tool_call>|</function>)\s*$")
_BLOCK = re.compile(r"<{5,9}[ \t]*(?:SEARCH|ORIGINAL|OLD|FIND)\b", re.IGNORECASE)
_MARKS = ("", " ", "+", "-", "@", "\\")
_BLOCK_END = re.compile(r">{5,9}(?:[ \t]|$)")


def prepare(reply: str) -> list[str]:
    """Lines of a reply with `\\n` line ends and without its reasoning.

    Raises:
        EditError: the reply ends inside its reasoning, or its edit stands there alone.
    """
    lines = normalise(reply.removeprefix("\ufeff")).split("\n")
    return _without_reasoning(lines)


class _Content:
    """Whether lines are the content of an edit: in a fence, a block, a call, or a bare diff."""

    def __init__(self) -> None:
        self._fence: Fence | None = None
        self._until: re.Pattern[str] | None = None
        self._diff = False

    def __bool__(self) -> bool:
        return self._fence is not None or self._until is not None

    def holds(self, line: str) -> bool:
        """Whether the next line is content; in a bare diff those that begin with a mark are."""
        return bool(self) or (self._diff and line[:1] in _MARKS)

    def take(self, line: str) -> None:
        """Go on by one line."""
        if self._until is not None:
            self._until = None if self._until.match(line) else self._until
            return
        inside = self._fence is not None
        self._diff = (not inside and line.startswith("@@")) or (self._diff and line[:1] in _MARKS)
        if self._diff:
            return
        fence = fence_at(line)
        if fence is not None:
            opener = self._fence
            self._fence = fence if opener is None else None if fence.closes(opener) else opener
        elif self._fence is None and _BLOCK.match(line):
            self._until = _BLOCK_END
        elif self._fence is None and _CALL.match(line) and not _CALL_END.match(line):
            self._until = _CALL_END


def _without_reasoning(lines: list[str]) -> list[str]:
    """Drop the blocks of reasoning that begin outside content, and all before an orphan end."""
    out: list[str] = []
    dropped: list[str] = []
    content = _Content()
    closer = ""
    for line in _after_orphan(lines):
        rest = line
        if not closer and not content.holds(line) and line.lstrip().startswith(_OPENERS):
            closer = next(end for begin, end in _PAIRS if line.lstrip().startswith(begin))
        if closer:
            head, closing, rest = line.partition(closer)
            dropped.append(head)
            closer = "" if closing else closer
            if closer or not rest.strip():
                continue
        out.append(rest)
        content.take(rest)
    if closer:
        raise EditError("the reply ends inside its reasoning", "answer with the edit itself")
    if _has_edit(dropped) and not _has_edit(out):
        raise EditError(
            "the edit stands in the reasoning, and is not carried out from there",
            "give it again, outside of the reasoning",
        )
    return out


def _has_edit(lines: Sequence[str]) -> bool:
    return any(_EDIT.match(line) for line in lines)


def _after_orphan(lines: list[str]) -> list[str]:
    """Templates may open the reasoning in the prompt: then only its end is in the reply.

    A file may hold such a line itself. So the mark must stand outside content, and a whole answer,
    with as many fences that open as close, must follow it.
    """
    content = _Content()
    for index, line in enumerate(lines):
        if content.holds(line):
            content.take(line)
            continue
        if line.lstrip().startswith(_OPENERS):
            return lines
        content.take(line)
        if content:
            continue
        for _, closer in _PAIRS:
            head, closing, rest = line.partition(closer)
            if closing and not (head.strip() and rest.strip()):
                after = [rest, *lines[index + 1 :]] if rest.strip() else lines[index + 1 :]
                even = sum(fence_at(kept) is not None for kept in after) % 2 == 0
                return after if even else lines
    return lines
