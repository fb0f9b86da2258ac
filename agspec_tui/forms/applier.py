"""Lands edits in memory: exactly where they were meant, or not at all.

Nothing here touches the disk. The caller reads files through `read` and writes what `land` returns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agspec_tui.errors import EditError
from agspec_tui.forms import refusals
from agspec_tui.forms.diff import unified
from agspec_tui.forms.fences import end_in_doubt
from agspec_tui.forms.guards import refuse_placeholders
from agspec_tui.forms.hunks import edits_of, placements
from agspec_tui.forms.linediff import changes
from agspec_tui.forms.paths import clean
from agspec_tui.forms.splice import LineEdit, Span, spans, splice
from agspec_tui.forms.syntax import refuse_broken
from agspec_tui.forms.text import Text, decode, lines_of, normalise
from agspec_tui.forms.types import FileChange, FileEdit, Landing, Placement

Read = Callable[[str], bytes | None]

_FENCES = ("```", "~~~")
_MARKDOWN = (".md", ".markdown", ".mdx", ".rst", ".mkd")
_SHRINK_FROM = 20
_SHRINK_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class _Landed:
    """One file landed."""

    change: FileChange
    """Bytes before and after."""
    spans: tuple[Span, ...]
    """Replaced bytes, ascending."""


def land(
    edits: Sequence[FileEdit],
    read: Read,
    *,
    root: str = "",
    allow_shrink: bool = False,
    fuzzy: bool = False,
) -> Landing:
    """Land a turn's edits: all, or none.

    Args:
        edits: What the reply wants, from `Form.parse`.
        read: Bytes of a file by its path relative to the repository; None if there is none.
        root: Absolute path of the repository; absolute paths inside it become relative.
        allow_shrink: Let a whole file lose more than 40 % of 20 or more lines, or all of them.
        fuzzy: Also land a hunk at the one place it is clearly most like. Only for a caller that
            asks the person about every line of `Landing.doubtful` before anything is written.

    Raises:
        EditError: any edit was refused, or nothing would change. The message names the file and
            the hunk, `detail` the nearest real lines.
    """
    landed: list[_Landed] = []
    errors: list[EditError] = []
    for edit in _by_path(edits, root):
        try:
            one = _land_file(edit, read, allow_shrink=allow_shrink, fuzzy=fuzzy)
            refuse_broken(edit.path, one.change.before, one.change.after)
            landed.append(one)
        except EditError as error:
            errors.append(_naming(edit.path, error))
    if errors:
        raise refusals.together(errors)
    changed = [one for one in landed if one.change.before != one.change.after]
    if not changed:
        raise EditError("no change: the files are already as the reply gives them", "change them")
    placed = [_placement(one, span) for one in changed for span in one.spans]
    all_changes = tuple(one.change for one in changed)
    return Landing(all_changes, unified(all_changes), tuple(placed))


def _by_path(edits: Sequence[FileEdit], root: str) -> list[FileEdit]:
    """Edits with cleaned paths, the hunks of one file joined."""
    if not edits:
        raise EditError("the reply holds no edit", "answer with the files that change")
    merged: dict[str, FileEdit] = {}
    for edit in edits:
        path = clean(edit.path, root)
        other = merged.get(path)
        if other is None:
            merged[path] = replace(edit, path=path)
        elif other.hunks and edit.hunks:
            more = [replace(h, number=len(other.hunks) + i) for i, h in enumerate(edit.hunks, 1)]
            merged[path] = replace(other, hunks=(*other.hunks, *more))
        else:
            raise EditError(f"{path}: the reply gives this file twice", "give each file once")
    return list(merged.values())


def _naming(path: str, error: EditError) -> EditError:
    if error.message.startswith(path):
        return error
    return EditError(f"{path}: {error.message}", error.hint, error.detail)


def _land_file(edit: FileEdit, read: Read, *, allow_shrink: bool, fuzzy: bool) -> _Landed:
    before = read(edit.path)
    if edit.delete:
        if before is None:
            raise EditError(f"{edit.path}: there is no such file to delete", "check the path")
        gone = Span(0, len(before), b"", 1, 1, "delete")
        return _Landed(FileChange(edit.path, before, None), (gone,))
    if before is None:
        return _created(edit, read)
    text = decode(before)
    if edit.whole is None:
        return _patched(edit, text, fuzzy)
    if edit.create and before:
        raise EditError(
            f"{edit.path}: cannot be created, it exists and is not empty",
            "change the lines that are there instead",
        )
    return _rewritten(edit, text, allow_shrink)


def _created(edit: FileEdit, read: Read) -> _Landed:
    """A new file: UTF-8, `\\n` line ends."""
    path = edit.path
    new = edit.whole
    if new is None:
        if any(hunk.old for hunk in edit.hunks):
            raise EditError(f"{path}: there is no such file", "check the path, or create the file")
        new = "".join(f"{line}\n" for hunk in edit.hunks for line in hunk.new)
    if edit.whole_long is not None and path.lower().endswith(_MARKDOWN):
        new = edit.whole_long
    parts = path.split("/")
    for depth in range(1, len(parts)):
        if read("/".join(parts[:depth])) is not None:
            raise EditError(f"{path}: {'/'.join(parts[:depth])} is a file", "use another folder")
    last_word = path.split(" ")[-1]
    if last_word != path and read(last_word) is not None:
        raise EditError(f"{path!r} is no file, but {last_word} is", "give the path alone")
    new = normalise(new.removeprefix("\ufeff"))
    if "\0" in new:
        raise EditError(f"{path}: the new text holds a NUL character", "write plain text")
    refuse_placeholders(path, (), lines_of(new), stubs=True)
    try:
        after = new.encode("utf-8")
    except UnicodeEncodeError as error:
        raise EditError(f"{path}: the new text holds half a character", "write it again") from error
    return _Landed(FileChange(path, None, after), (Span(0, 0, after, 1, 1, "create"),))


def _rewritten(edit: FileEdit, text: Text, allow_shrink: bool) -> _Landed:
    """A whole file as a line diff, so that lines that stay keep their own bytes."""
    new = lines_of(normalise(_reading(edit, text).removeprefix("\ufeff")))
    if edit.label and text.lines and text.lines[0].strip() == edit.label.strip():
        new.insert(0, text.lines[0])
    _refuse_shrink(edit.path, len(text.lines), len(new), allow_shrink)
    runs = changes(text.lines, new)
    edits = [
        LineEdit(run.i1, run.i2, tuple(new[run.j1 : run.j2]), number, "whole")
        for number, run in enumerate(runs, 1)
    ]
    keeps_end = bool(edits) and bool(new) and new[-1] != ""
    return _spliced(edit.path, text, edits, text.ends_with_newline() if keeps_end else None)


def _reading(edit: FileEdit, text: Text) -> str:
    """The reading of a reply's fences that fits the file.

    Where the outer fence was too short, bare fences inside the file look like its end. A file that
    has fences, or is Markdown, is read up to the last one; any other up to the first, unless what
    would be words between blocks then are lines of the file.

    Raises:
        EditError: both readings may be meant.
    """
    short = edit.whole or ""
    if edit.whole_long is None:
        return short
    fenced = any(line.startswith(_FENCES) for line in text.lines)
    if fenced or edit.path.lower().endswith(_MARKDOWN):
        return edit.whole_long
    known = {line.strip() for line in text.lines} - {""}
    inside = True
    for line in edit.whole_long.removeprefix(short).split("\n"):
        if line.lstrip().startswith(_FENCES):
            inside = not inside
        elif not inside and line.strip() in known:
            raise end_in_doubt(edit.path)
    return short


def _refuse_shrink(path: str, n_old: int, n_new: int, allowed: bool) -> None:
    lost = n_old - n_new
    if allowed or lost <= 0:
        return
    if n_new == 0 or (n_old >= _SHRINK_FROM and lost > _SHRINK_SHARE * n_old):
        raise EditError(
            f"{path}: the new text drops {lost} of {n_old} lines",
            "give the complete file, every line that stays included",
        )


def _patched(edit: FileEdit, text: Text, fuzzy: bool) -> _Landed:
    placed = placements(edit, text.lines, fuzzy=fuzzy)
    line_edits = edits_of(edit.path, placed, len(text.lines))
    final: bool | None = None
    for hunk, place in placed:
        if hunk.final_newline is not None and (place is None or place.end == len(text.lines)):
            final = hunk.final_newline
    return _spliced(edit.path, text, line_edits, final)


def _spliced(path: str, text: Text, edits: list[LineEdit], final: bool | None) -> _Landed:
    """The file with the edits in it, after the guards."""
    added = [line for edit in edits for line in edit.new]
    if any("\0" in line for line in added):
        raise EditError(f"{path}: the new text holds a NUL character", "write plain text")
    stubs = _new_stubs(path, text, edits)
    refuse_placeholders(path, text.lines, added, stubs=stubs)
    replaced = spans(text, edits, final)
    after = splice(text.data, replaced)
    if list(decode(after).lines) != _planned(text, edits):  # e.g. a lone CR now before an LF
        raise EditError(f"{path}: its mixed line ends do not allow this edit", "make them equal")
    return _Landed(FileChange(path, text.data, after), tuple(replaced))


def _planned(text: Text, edits: Sequence[LineEdit]) -> list[str]:
    """The lines the edited file must have."""
    lines: list[str] = []
    at = 0
    for edit in edits:
        lines += [*text.lines[at : edit.start], *edit.new]
        at = edit.end
    return [*lines, *text.lines[at:]]


def _new_stubs(path: str, text: Text, edits: Sequence[LineEdit]) -> bool:
    """Whether every added `...` follows a line that is new too: a new stub, not a dropped body."""
    known = {line.strip() for line in text.lines}
    for edit in edits:
        above = text.lines[edit.start - 1].strip() if edit.start else ""
        for line in edit.new:
            if line.strip() == "..." and above in known and not path.endswith(".pyi"):
                return False
            above = line.strip() or above
    return True


def _placement(landed: _Landed, span: Span) -> Placement:
    return Placement(
        landed.change.path,
        span.hunk,
        span.rule,
        span.line,
        span.start,
        span.end,
        len(span.new),
        span.likeness,
    )
