"""From a tool call, or an object of JSON, to the edit that it carries."""

from collections.abc import Mapping, Sequence

from agspec_tui.errors import EditError
from agspec_tui.forms.carriers import Call, calls_in
from agspec_tui.forms.jsontext import Value, doubt_of
from agspec_tui.forms.paths import settle
from agspec_tui.forms.text import lines_of, normalise
from agspec_tui.forms.types import FileEdit, Hunk

_WRITERS_TEXT = (
    "write_file write create_file create writefile save_file save write_to_file overwrite_file "
    "file_write str_replace_editor str_replace_based_edit_tool"
)
_REPLACERS_TEXT = (
    "edit edit_file replace replace_in_file str_replace search_replace str_replace_editor "
    "str_replace_based_edit_tool apply_edit update_file modify_file multi_edit multiedit"
)
_WRITERS = frozenset(_WRITERS_TEXT.split())
_REPLACERS = frozenset(_REPLACERS_TEXT.split())
_PATHS = ("path", "file_path", "filepath", "filePath", "filename", "file_name", "file")
_CONTENTS = ("content", "contents", "file_text", "text", "code", "new_content", "file_content")
_OLD = ("old_string", "old_str", "old_text", "oldString", "old", "search", "find")
_NEW = ("new_string", "new_str", "new_text", "newString", "new", "replace", "replacement")
_LISTS = ("edits", "changes", "replacements")
_OTHER = ("command", "description", "explanation", "replace_all", "expected_replacements")
_KNOWN = frozenset((*_PATHS, *_CONTENTS, *_OLD, *_NEW, *_LISTS, *_OTHER))

Object = Mapping[str, Value]


def carried(lines: Sequence[str], expected: tuple[str, ...]) -> tuple[FileEdit, ...]:
    """The edits that a reply's tool calls carry; empty if it does not answer with calls.

    Args:
        lines: The reply without its reasoning.
        expected: Paths the coder was asked to change.

    Raises:
        EditError: a call is cut off, is no edit, or says it in a way that leaves a doubt.
    """
    edits: list[FileEdit] = []
    for call in calls_in(lines):
        for edit in _of_call(call, expected):
            add(edits, edit)
    return tuple(edits)


def add(edits: list[FileEdit], edit: FileEdit) -> None:
    """Add an edit to those of a reply: the same one counts once, hunks of one file are joined.

    Raises:
        EditError: the file is given in another way already.
    """
    for index, other in enumerate(edits):
        if other.path != edit.path:
            continue
        if other == edit:
            return
        if not (other.hunks and edit.hunks):
            raise EditError(f"{edit.path}: the reply gives this file twice", "give each file once")
        edits[index] = FileEdit(edit.path, hunks=joined(other.hunks, edit.hunks))
        return
    edits.append(edit)


def joined(first: Sequence[Hunk], second: Sequence[Hunk]) -> tuple[Hunk, ...]:
    """Hunks of one file in one sequence, numbered through; those said before are left out."""
    said = {(hunk.old, hunk.new) for hunk in first}
    hunks = [*first, *(hunk for hunk in second if (hunk.old, hunk.new) not in said)]
    return tuple(Hunk(n, hunk.old, hunk.new) for n, hunk in enumerate(hunks, 1))


def _of_call(call: Call, expected: tuple[str, ...]) -> tuple[FileEdit, ...]:
    name = call.name.rsplit(".", 1)[-1].lower().replace("-", "_")
    if name not in _WRITERS | _REPLACERS:
        what = repr(call.name) if call.name else "no tool"
        raise EditError(f"the reply calls {what}, which is no edit", "answer with the edit itself")
    strange = next((key for key in call.arguments if key not in _KNOWN), "")
    if strange:
        raise EditError(
            f"the call of {call.name} has an argument {strange!r} that no edit has",
            "give the path and the text, nothing else",
        )
    edits = edits_of_object(call.arguments, expected)
    if any(edit.whole is not None for edit in edits) and name not in _WRITERS:
        raise EditError(
            f"the call of {call.name} gives a text but not what it replaces",
            "give the old text and the new one",
        )
    return edits


def edits_of_object(given: Object, expected: tuple[str, ...]) -> tuple[FileEdit, ...]:
    """The edit of one file from an object: a path, and a text or what is replaced by what.

    Raises:
        EditError: the path or the text is missing, or the text was not read beyond doubt.
    """
    path = _path(given, expected)
    listed = next((given[key] for key in _LISTS if isinstance(given.get(key), list)), None)
    if isinstance(listed, list):
        hunks: tuple[Hunk, ...] = ()
        for one in listed:
            if not isinstance(one, dict):
                raise EditError(f"{path}: an edit is no object", "give the old and the new text")
            hunks = joined(hunks, [_hunk(path, one)])
        return (FileEdit(path, hunks=hunks),)
    if any(given.get(key) is not None for key in _OLD):
        if _text(path, given, _OLD) == "":
            return (FileEdit(path, whole=_needed(path, given, _NEW), create=True),)
        return (FileEdit(path, hunks=(_hunk(path, given),)),)
    return (FileEdit(path, whole=_needed(path, given, _CONTENTS)),)


def _path(given: Object, expected: tuple[str, ...]) -> str:
    for key in _PATHS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return settle(value.strip(), expected)
    if len(expected) == 1:
        return expected[0]
    raise EditError("the reply names no file", 'give it as "path"')


def _hunk(path: str, given: Object) -> Hunk:
    old = lines_of(_needed(path, given, _OLD))
    new = lines_of(_needed(path, given, _NEW))
    if not old:
        raise EditError(f"{path}: the text to be replaced is empty", "give the lines that go")
    return Hunk(1, tuple(old), tuple(new))


def _needed(path: str, given: Object, keys: Sequence[str]) -> str:
    text = _text(path, given, keys)
    if text is None:
        raise EditError(f"{path}: the reply gives no {keys[0]!r}", f"give it as {keys[0]!r}")
    return text


def _text(path: str, given: Object, keys: Sequence[str]) -> str | None:
    """The text under the first of the keys that is given; a list of strings is its lines.

    Raises:
        EditError: the text was read leniently, so that it may not be what was meant.
    """
    value = next((given[key] for key in keys if given.get(key) is not None), None)
    parts = value if isinstance(value, list) else [value]
    for part in parts:
        if part is not None and not isinstance(part, str):
            raise EditError(f"{path}: the text is no string", "give the text as one JSON string")
        doubt = doubt_of(part or "")
        if doubt:
            raise EditError(
                f"{path}: the text cannot be taken from its JSON string, it {doubt}",
                'escape every line end as \\n, every quote as \\" and every backslash as \\\\',
            )
    if value is None:
        return None
    if isinstance(value, list):
        return "".join(f"{str(part).removesuffix(chr(10))}\n" for part in value)
    return normalise(str(value))
