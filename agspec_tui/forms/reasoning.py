"""What comes before parsing: line ends, and reasoning, of which nothing is ever carried out."""

import re
from collections.abc import Sequence

from agspec_tui.errors import EditError
from agspec_tui.forms import jsontext
from agspec_tui.forms.blocks import OPEN, parts
from agspec_tui.forms.carriers import opens, span_of_call
from agspec_tui.forms.fences import Fence, closing_fence, fence_at
from agspec_tui.forms.text import normalise

_PAIRS = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
_MARK = re.compile(r"</?think(?:ing)?>|\[/?THINK\]")
_OPENED = re.compile(  # behind prose, but not in quotes, in JSON or behind other marks
    r"(?!\s*(?:\{|\[(?!THINK\]))|@@)"
    r"((?:</tool_call>|<end_function_call>|`[^`]*`|\"[^\"]*\"|(?<=\w)'(?=\w)|[^`\"'<])*?)"
    r"(<think>|<thinking>|\[THINK\])"
)
_EDIT = re.compile(r" {0,3}(?:```|~~~)|<{5,}|@@|diff --git |--- \S|\s*[{\[]")
_OBJECT = re.compile(r"\s*(?:\[\s*)?\{\s*[\"'}]")
_MARKS = ("", " ", "+", "-", "@", "\\")


def prepare(reply: str) -> list[str]:
    """Lines of a reply with `\\n` line ends and without its reasoning.

    Raises:
        EditError: the reply ends inside its reasoning, its edit stands there alone, or reasoning
            follows a part of the edit whose end is not sure.
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
    _refuse_hidden(dropped, out)
    return out


def _refuse_hidden(dropped: Sequence[str], kept: Sequence[str]) -> None:
    """Say so where the reasoning holds an edit and what is left of the reply holds none.

    Raises:
        EditError: that is the case.
    """
    if _has_edit(dropped) and not _has_edit(kept):
        raise EditError(
            "the edit stands in the reasoning, and is not carried out from there",
            "give it again, outside of the reasoning",
        )


def _has_edit(lines: Sequence[str]) -> bool:
    return any(_EDIT.match(line) or opens(lines, at) for at, line in enumerate(lines))


def _after_orphan(lines: list[str]) -> list[str]:
    """Templates may open the reasoning in the prompt: then only its end is in the reply.

    A file may hold such a line itself. So the mark must stand outside content, and a whole answer,
    with as many fences that open as close, must follow it.

    Raises:
        EditError: the edit stands before the mark alone.
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
                if not even:
                    return lines
                _refuse_hidden([*lines[:at], head], after)
                return after
        at += 1
    return lines


def _behind_content(lines: list[str], at: int) -> int:
    """Line behind the fence, block, diff, call or object that begins at a line; `at` if none does.

    What has no end that can be told reaches to the end of the reply.

    Raises:
        EditError: there is reasoning behind such a beginning: it may be text of the edit.
    """
    line = lines[at]
    headers = line.startswith("--- ") and "".join(lines[at + 1 : at + 2]).startswith("+++ ")
    if headers or line.startswith("@@"):
        following = range(at + 1, len(lines))
        return next((i for i in following if lines[i][:1] not in _MARKS), len(lines))
    try:
        if fence := fence_at(line):
            return _behind_fence(lines, at, fence)
        if OPEN.match(line):
            return parts(lines, at)[1] + 1
        return _behind_call(lines, at)
    except EditError:
        if any(_OPENED.match(one) for one in lines[at + 1 :]):
            raise
        return len(lines)


def _behind_fence(lines: Sequence[str], at: int, fence: Fence) -> int:
    """Line behind a fenced block: as files are read, else as diffs are."""
    close = closing_fence(lines, at, fence)
    if close is None:
        fences = ((i, fence_at(lines[i])) for i in range(at + 1, len(lines)))
        close = next((i for i, one in fences if one and one.closes(fence)), None)
    if close is None:
        raise EditError(
            "the reply ends inside a block", "the closing fence is missing: answer again"
        )
    return close + 1


def _behind_call(lines: list[str], at: int) -> int:
    """Line behind the tool call or the object of JSON that begins at a line; `at` if none does.

    Marks of reasoning that stand on its last line behind it are put on a line of their own.

    Raises:
        EditError: it cannot be read.
    """
    start = end = 0
    if opens(lines, at):
        text = "\n".join(lines[at:])
        start, end = span_of_call(text)
    elif lines[at].lstrip()[:1] in ("{", "[") and _OBJECT.match(text := "\n".join(lines[at:])):
        end = jsontext.read(text)[1]
    if not end or "\n" in text[:start].strip() or _MARK.search(text[:start]):
        return at
    last = at + text.count("\n", 0, end)
    begins = text.rfind("\n", 0, end) + 1
    tail = lines[last][end - begins :]
    if _MARK.search(tail):
        lines[last : last + 1] = [lines[last][: end - begins], tail]
    return last + 1
