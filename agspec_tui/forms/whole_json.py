"""Form `whole-json`: a reply gives complete files as one JSON object."""

import re
from collections.abc import Sequence

from agspec_tui.errors import EditError
from agspec_tui.forms import jsontext
from agspec_tui.forms.base import Form
from agspec_tui.forms.carried import add, edits_of_object
from agspec_tui.forms.fences import fence_at
from agspec_tui.forms.jsontext import Value
from agspec_tui.forms.paths import expected_path, looks_like_path, settle
from agspec_tui.forms.types import FileEdit
from agspec_tui.forms.views import escaped, escaped_ascii, raw

_LISTS = ("files", "edits", "changes")
_BEHIND = re.compile(r"[\s\]}]*")
_HINT = 'answer with {"files": [{"path": "…", "content": "…"}]} and nothing else'

_INSTRUCTIONS = """\
Answer with one JSON object and nothing else, in this form:
{"files": [{"path": "<path of the file>", "content": "<its complete new text>"}]}
Give every file that changes, complete, from its first line to its last; never abbreviate.
In `content` write \\n for a line end, \\t for a tab, \\" for a quote and \\\\ for a backslash.
Files that stay as they are must not appear. A new file is given in the same way.
"""


class WholeJson(Form):
    """Complete files as strings of JSON: what models write that were trained on tool calls."""

    name = "whole-json"
    complete = True
    how = _INSTRUCTIONS
    emitted = (("escaped", escaped), ("escaped-ascii", escaped_ascii), ("raw", raw))

    def read(self, lines: list[str], expected: tuple[str, ...]) -> tuple[FileEdit, ...]:
        """Read the object of a reply.

        Raises:
            EditError: there is none, it ends inside its JSON, or a text is not beyond doubt.
        """
        edits: list[FileEdit] = []
        for entry in _entries(_value(lines), expected):
            for edit in edits_of_object(entry, expected):
                add(edits, edit)
        if not edits:
            raise EditError("the reply holds no file", _HINT)
        return tuple(edits)


def _value(lines: Sequence[str]) -> Value:
    """The one value of a reply; prose and a fence around it do not count.

    Raises:
        EditError: there is none, or more JSON stands behind it: a quote was not escaped then.
    """
    start = next((i for i, line in enumerate(lines) if line.lstrip()[:1] in ("{", "[")), None)
    if start is None:
        raise EditError("the reply holds no JSON object", _HINT)
    text = "\n".join(lines[start:])
    value, end = jsontext.read(text)
    behind = _BEHIND.match(text, end)
    rest = text[behind.end() if behind else end :]
    if any(char in rest for char in '{}"') or not _fences_close(lines[:start], rest):
        raise EditError(
            "the JSON of the reply ends before its text does", 'escape every quote as \\"'
        )
    return value


def _fences_close(before: Sequence[str], rest: str) -> bool:
    """Whether no fence stands behind the value but the end of one that opened before it."""
    n_before = sum(fence_at(line) is not None for line in before)
    n_behind = sum(fence_at(line) is not None for line in rest.split("\n"))
    return n_behind <= n_before


def _entries(value: Value, expected: tuple[str, ...]) -> list[dict[str, Value]]:
    """The objects that each say one file: listed, alone, or as a mapping from path to text."""
    if isinstance(value, list):
        return [one for part in value for one in _entries(part, expected)]
    if not isinstance(value, dict):
        raise EditError("the reply's JSON is no object", _HINT)
    for key in _LISTS:
        inner = value.get(key)
        if isinstance(inner, (list, dict)) and "path" not in value:
            return _entries(inner, expected)
    named = [key for key in value if expected_path(key, expected) or looks_like_path(key)]
    if named and len(named) == len(value):
        return [{"path": settle(key, expected), "content": value[key]} for key in named]
    return [value]
