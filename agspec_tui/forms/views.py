"""Emission views: a file as one text, in each of the forms in which a reply may emit it.

The drafter matches tokens, so a file has to be indexed the way the agent will write it: with the
marks of a diff before its lines, or escaped as the content of a JSON string. Each view is one text
with its prefixes in it, since they merge with the first token of a line. From a place in a view one
can go back to the line of the file.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence

from agspec_tui.commands import DocumentView
from agspec_tui.forms.text import lines_of, normalise

_LINE_END = re.compile(rb"\n")
_ESCAPE = re.compile(rb"\\(.)")
_ESCAPED = ("escaped", "escaped-ascii")


def raw(text: str) -> str:
    """The file itself."""
    return text


def space(text: str) -> str:
    """Every line behind a space: a line that a diff keeps."""
    return "".join(f" {line}\n" for line in lines_of(text))


def minus(text: str) -> str:
    """Every line behind a minus: a line that a diff takes away."""
    return "".join(f"-{line}\n" for line in lines_of(text))


def escaped(text: str) -> str:
    """The file as the content of a JSON string, characters beyond ASCII as they are."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def escaped_ascii(text: str) -> str:
    r"""The file as the content of a JSON string, characters beyond ASCII as `\uXXXX`."""
    return json.dumps(text)[1:-1]


View = tuple[str, Callable[[str], str]]
"""Name of a view, and what makes it from a file's text."""


def views(text: str, makers: Sequence[View]) -> tuple[DocumentView, ...]:
    r"""Views of a file, in the order of their makers.

    `escaped-ascii` is left out where it equals the view before it.

    Args:
        text: the file, with any line ends; views have `\n` only.
        makers: name and maker of each view.
    """
    plain = normalise(text)
    made: list[DocumentView] = []
    for name, make in makers:
        view = DocumentView(name, make(plain))
        if name != "escaped-ascii" or not made or view.text != made[-1].text:
            made.append(view)
    return tuple(made)


def line_starts(view: DocumentView) -> list[int]:
    """Byte offset in a view's UTF-8 text at which each line of the file begins, line 1 first.

    A line begins with its prefix. An empty file has no line.
    """
    data = view.text.encode()
    if not data:
        return []
    starts = [0]
    if view.name in _ESCAPED:
        starts += [hit.end() for hit in _ESCAPE.finditer(data) if hit[1] == b"n"]
    else:
        starts += [hit.end() for hit in _LINE_END.finditer(data)]
    if starts[-1] == len(data):
        starts.pop()  # a last line end opens no further line
    return starts


def line_at(starts: Sequence[int], offset: int) -> int:
    """Line of the file, from 1, that a byte offset of a view belongs to; 0 if there is none.

    Args:
        starts: what `line_starts` gives for the view.
        offset: byte offset in its UTF-8 text; the end of the text belongs to the last line.
    """
    return bisect_right(starts, offset)
