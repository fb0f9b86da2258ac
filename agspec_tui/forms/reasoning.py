"""What comes before parsing: line ends, and reasoning, of which nothing is ever carried out."""

import re
from collections.abc import Sequence

from agspec_tui.errors import EditError
from agspec_tui.forms import jsontext
from agspec_tui.forms.carriers import opens, span_of_call
from agspec_tui.forms.fences import fence_at
from agspec_tui.forms.text import normalise

_PAIRS = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
_MARK = re.compile(r"</?think(?:ing)?>|\[/?THINK\]")
_OPENED = re.compile(
    r"((?:</tool_call>|<end_function_call>|[^`\"'{\[<@])*)(<think>|<thinking>|\[THINK\])"
)
_EDIT = re.compile(r" {0,3}(?:```|~~~)|<{5,}|@@|diff --git |--- \S|\s*[{\[]")
_BLOCK = re.compile(r"<{5,9}[ \t]*(?:SEARCH|ORIGINAL|OLD|FIND)\b", re.IGNORECASE)
_BLOCK_END = re.compile(r">{5,9}(?:[ \t]|$)")
_OBJECT = re.compile(r"\s*(?:\[\s*)?\{\s*[\"'}]")
_MARKS = ("", " ", "+", "-", "@", "\\")


def prepare(reply: str) -> list[str]:
    """Lines of a reply with `\\n` line ends and without its reasoning.

    Raises:
        EditError: the reply ends inside its reasoning, its edit stands there alone, or reasoning
            follows a call that cannot be read, so that what is its text is not sure.
    """
    lines = normalise(reply.removeprefix("\ufeff")).split("\n")
    return _without_reasoning(_after_orphan(lines))


def _without_reasoning(lines: list[str]) -> list[str]:
    """Drop the blocks of reasoning that begin outside the content of an edit.

    Args:
        lines: The reply; lines that reasoning shares with other text are split in place.
    """
    out: list[str] = []
    dropped: list[str] = []
    closer = ""
    at = 0
    while at < len(lines):
        if closer:
            head, closing, rest = lines[at].partition(closer)
            dropped.append(head)
            closer = "" if closing else closer
            lines[at] = rest
            at += not rest.strip()
        elif opened := _OPENED.match(lines[at]):
            closer = _PAIRS[opened[2]]
            out += [opened[1]] if opened[1].strip() else []
            lines[at] = lines[at][opened.end() :]
        else:
            behind = max(_behind_content(lines, at), at + 1)
            out += lines[at:behind]
            at = behind
    if closer:
        raise EditError("the reply ends inside its reasoning", "answer with the edit itself")
    if _has_edit(dropped) and not _has_edit(out):
        raise EditError(
            "the edit stands in the reasoning, and is not carried out from there",
            "give it again, outside of the reasoning",
        )
    return out


def _has_edit(lines: Sequence[str]) -> bool:
    return any(_EDIT.match(line) or opens(lines, at) for at, line in enumerate(lines))


def _after_orphan(lines: list[str]) -> list[str]:
    """Templates may open the reasoning in the prompt: then only its end is in the reply.

    A file may hold such a line itself. So the mark must stand outside content, and a whole answer,
    with as many fences that open as close, must follow it.
    """
    at = 0
    while at < len(lines) and not _OPENED.match(lines[at]):
        behind = _behind_content(lines, at)
        if behind > at:
            at = behind
            continue
        for closer in _PAIRS.values():
            head, closing, rest = lines[at].partition(closer)
            if closing and not (head.strip() and rest.strip()):
                after = [rest, *lines[at + 1 :]] if rest.strip() else lines[at + 1 :]
                even = sum(fence_at(kept) is not None for kept in after) % 2 == 0
                return after if even else lines
        at += 1
    return lines


def _behind_content(lines: list[str], at: int) -> int:
    """Line behind the fence, block, diff, call or object that begins at a line; `at` if none does.

    What is never closed reaches to the end.
    """
    line = lines[at]
    following = range(at + 1, len(lines))
    fence = fence_at(line)
    if fence is not None:
        ends = (i for i in following if (end := fence_at(lines[i])) and end.closes(fence))
        return next(ends, len(lines) - 1) + 1
    if _BLOCK.match(line):
        return next((i for i in following if _BLOCK_END.match(lines[i])), len(lines) - 1) + 1
    headers = line.startswith("--- ") and "".join(lines[at + 1 : at + 2]).startswith("+++ ")
    if headers or line.startswith("@@"):
        return next((i for i in following if lines[i][:1] not in _MARKS), len(lines))
    return _behind_call(lines, at)


def _behind_call(lines: list[str], at: int) -> int:
    """Line behind the tool call or the object of JSON that begins at a line; `at` if none does.

    Marks of reasoning that stand on its last line behind it are put on a line of their own.
    """
    if not opens(lines, at) and lines[at].lstrip()[:1] not in ("{", "["):
        return at
    text = "\n".join(lines[at:])
    try:
        if opens(lines, at):
            start, end = span_of_call(text)
        else:
            start, end = 0, jsontext.read(text)[1] if _OBJECT.match(text) else 0
    except EditError:
        if any(_OPENED.match(line) for line in lines[at + 1 :]):
            raise
        return len(lines)
    if not end or "\n" in text[:start].strip() or _MARK.search(text[:start]):
        return at
    last = at + text.count("\n", 0, end)
    begins = text.rfind("\n", 0, end) + 1
    tail = lines[last][end - begins :]
    if _MARK.search(tail):
        lines[last : last + 1] = [lines[last][: end - begins], tail]
    return last + 1
