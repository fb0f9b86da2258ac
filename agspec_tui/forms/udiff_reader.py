"""Reads unified diffs as small models print them, line by line."""

import re
from dataclasses import dataclass, field, replace

from agspec_tui.errors import EditError
from agspec_tui.forms.paths import settle
from agspec_tui.forms.types import FileEdit, Hunk

_OLD = re.compile(r"^---[ \t]+(\S.*)$")
_NEW = re.compile(r"^\+\+\+[ \t]+(\S.*)$")
_HUNK = re.compile(r"^@@+[ \t]*(.*?)[ \t]*(?:@@+[ \t]*(.*?))?[ \t]*$")
_NUMBERS = re.compile(r"^-(\d+)(?:,(\d+))?[ \t]+\+(\d+)(?:,(\d+))?[ \t]*")
_STAMP = re.compile(r"(?:\t.*|\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*)$")
_IGNORED = ("index ", "old mode ", "new mode ", "similarity index ", "dissimilarity index ")
_OCTAL = re.compile(r'\\([0-7]{3}|["\\abfnrtv])')
_NULL = "/dev/null"


@dataclass(slots=True)
class _Body:
    """A hunk while it is read."""

    hint: str = ""
    """Text between or behind the `@@` marks."""
    line: int = 0
    """Stated first line of the old side."""
    counts: tuple[int, int] | None = None
    """Stated numbers of old and new lines; only to tell a deleted `-- x` from a header."""
    rows: list[tuple[str, str]] = field(default_factory=list)
    """Mark and text of each line; mark `?` for a line without any."""
    bare_old: bool = False
    """The old side ends without a line end."""
    bare_new: bool = False
    """The new side ends without a line end."""

    def seen(self) -> tuple[int, int]:
        """Old and new lines so far."""
        old = sum(mark != "+" for mark, _ in self.rows)
        return old, sum(mark != "-" for mark, _ in self.rows)


@dataclass(slots=True)
class _File:
    """A file while its hunks are read."""

    path: str
    """The path, cleaned of prefixes and time stamps; empty if none was given."""
    create: bool = False
    """The headers say that it is new."""
    delete: bool = False
    """The headers say that it goes."""
    bodies: list[_Body] = field(default_factory=list)
    """Its hunks, in order."""


class Reader:
    """Collects the files of one reply; `read` may be called for several blocks."""

    def __init__(self, expected: tuple[str, ...] = ()) -> None:
        self.beside: str | None = None
        """Path that stands beside the block now read, for a diff without headers."""
        self._expected = expected
        self._files: list[_File] = []
        self._file: _File | None = None
        self._body: _Body | None = None
        self._mode = ""

    def read(self, lines: list[str], *, fenced: bool) -> None:
        """Read the lines of one block, or of a whole reply that has none.

        Args:
            lines: Lines without ends.
            fenced: In a fence every line belongs to the diff; outside, prose ends a hunk.
        """
        self._body = None
        self._mode = ""
        if self.beside is not None:
            self._file = None
        index = 0
        while index < len(lines):
            taken = self._header(lines, index)
            if taken == 0:
                self._content(lines[index], fenced)
                taken = 1
            index += taken
        self._body = None

    def edits(self) -> tuple[FileEdit, ...]:
        """What was read, one edit a file.

        Raises:
            EditError: there is no diff in the reply, or it changes nothing.
        """
        if not self._files:
            raise EditError("the reply holds no diff", "answer with a ```diff block")
        merged: dict[str, FileEdit] = {}
        for file in self._files:
            edit = _file_edit(file)
            if edit is None:
                continue
            other = merged.get(edit.path)
            merged[edit.path] = edit if other is None else _joined(other, edit)
        if not merged:
            raise EditError("the diff changes nothing", "mark the lines that change with - and +")
        return tuple(merged.values())

    def _header(self, lines: list[str], at: int) -> int:
        """Lines taken as headers at `at`: 0 if the line is content."""
        line = lines[at]
        if line.startswith("@@"):
            self._start_hunk(line)
            return 1
        if line.startswith("diff --git "):
            self._body, self._file, self._mode = None, None, ""
            return 1
        old, new = _OLD.match(line), _NEW.match(lines[at + 1]) if at + 1 < len(lines) else None
        if self._body is not None:
            if old is None or new is None or not self._triple(lines, at):
                return 0
        elif line.startswith(("rename from ", "rename to ", "copy from ", "copy to ")):
            raise EditError("the diff renames a file", "delete it and create the new one")
        elif line.startswith(("new file mode ", "deleted file mode ")):
            self._mode = line.split(" ")[0]
            return 1
        elif line.startswith(_IGNORED):
            return 1
        if old is not None and new is not None:
            self._start_file(old[1], new[1])
            return 2
        follows = lines[at + 1].startswith("@@") if at + 1 < len(lines) else False
        single = (old or _NEW.match(line)) if self._body is None and follows else None
        if single is not None:
            self._start_file(single[1], single[1])
            return 1
        return 0

    def _triple(self, lines: list[str], at: int) -> bool:
        """Whether `---`, `+++` inside a hunk begin the next file: a third line `@@` follows.

        A hunk may also delete a line `-- x` and add `++ y` as its last; its counts, where they fit
        one reading exactly, decide.
        """
        if not (at + 2 < len(lines) and lines[at + 2].startswith("@@")):
            return False
        body = self._body
        if body is None or body.counts is None:
            return True
        old, new = body.seen()
        return body.counts == (old, new) or body.counts != (old + 1, new + 1)

    def _start_file(self, old: str, new: str) -> None:
        left, right = _named(old), _named(new)
        self._body = None
        create = left == _NULL or self._mode == "new"
        delete = right == _NULL or self._mode == "deleted"
        if left == right == _NULL:
            raise EditError("the diff names no file", "give its path in the --- or +++ line")
        if left == _NULL or right == _NULL:
            path = self._single(right if left == _NULL else left)
        else:
            path = self._pair(left, right)
        self._file = _File(path, create, delete)
        self._files.append(self._file)

    def _single(self, name: str) -> str:
        if name in self._expected:
            return name
        return settle(name[2:] if name[:2] in ("a/", "b/") else name, self._expected)

    def _pair(self, left: str, right: str) -> str:
        if left.startswith("a/") and right.startswith("b/"):
            left, right = left[2:], right[2:]
        if left == right:
            return self._single(left)
        left, right = self._single(left), self._single(right)
        known = {path for path in (left, right) if path in self._expected}
        if len(known) == 1:
            return known.pop()
        if left != right:
            raise EditError(f"the diff renames {left} to {right}", "delete it and create the new")
        return left

    def _start_hunk(self, line: str) -> None:
        match = _HUNK.match(line)
        inside, behind = (match[1], match[2] or "") if match else ("", "")
        numbers = _NUMBERS.match(inside)
        body = _Body()
        if numbers is not None:
            inside = inside[numbers.end() :]
            body.line = int(numbers[1])
            body.counts = int(numbers[2] or 1), int(numbers[4] or 1)
        hint = behind or inside
        body.hint = hint if hint.strip(". …") else ""
        self._add(body)

    def _add(self, body: _Body) -> None:
        if self._file is None:
            self._file = _File(self._default())
            self._files.append(self._file)
        self._file.bodies.append(body)
        self._body = body

    def _default(self) -> str:
        """The path of a diff without headers."""
        if self.beside is not None:
            return self.beside
        if len(self._expected) == 1:
            return self._expected[0]
        raise EditError("the diff names no file", "begin each file with its --- and +++ lines")

    def _content(self, line: str, fenced: bool) -> None:
        """One line that is no header."""
        if self._body is None:
            # Headers may be followed by the change itself, without any @@.
            if not line.startswith((" ", "-", "+")) or not (fenced or self._implied()):
                return
            self._add(_Body())
        body = self._body
        if body is None:
            return
        if line == "":
            body.rows.append(("", ""))
        elif line[0] in " -+":
            body.rows.append((line[0], line[1:]))
        elif line.startswith("\\ "):
            last = body.rows[-1][0] if body.rows else " "
            body.bare_old |= last != "+"
            body.bare_new |= last != "-"
        elif fenced:
            body.rows.append(("?", line))
        else:
            self._body = None
            self._file = None

    def _implied(self) -> bool:
        return self._file is not None and not self._file.bodies


def _named(text: str) -> str:
    """A header's path without time stamp and quotes; octal escapes are undone as UTF-8 bytes."""
    name = text.strip()
    if name.startswith('"'):
        end = re.match(r'"((?:[^"\\]|\\.)*)"', name)
        if end is not None:
            return _unescaped(end[1])
    name = _STAMP.sub("", text).strip()
    return name.strip("`") or text.strip()


def _unescaped(text: str) -> str:
    plain = dict(zip('"\\abfnrtv', '"\\\a\b\f\n\r\t\v', strict=True))

    def byte(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code, 8) & 255) if code.isdigit() else plain[code]

    raw = _OCTAL.sub(byte, text)
    try:
        return raw.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return raw


def _file_edit(file: _File) -> FileEdit | None:
    """The edit of one file; None if it changes nothing."""
    if file.delete:
        return FileEdit(file.path, delete=True)
    stated_new = [body for body in file.bodies if body.counts and body.counts[0] == body.line == 0]
    if file.create or (stated_new and len(file.bodies) == 1 and not _old_side(file.bodies[0])):
        return FileEdit(file.path, whole=_created(file), create=True)
    hunks: list[Hunk] = []
    for number, body in enumerate(file.bodies, 1):
        hunk = _hunk(number, body)
        if hunk.old != hunk.new or body.bare_old != body.bare_new:
            hunks.append(hunk)
    return FileEdit(file.path, hunks=tuple(hunks)) if hunks else None


def _old_side(body: _Body) -> bool:
    return any(mark in " -" and mark for mark, _ in body.rows)


def _created(file: _File) -> str:
    """Text of a new file: its `+` lines, or all lines where the marks were left out throughout."""
    rows = [row for body in file.bodies for row in _trimmed(body.rows)]
    if all(mark in ("+", "") for mark, _ in rows):
        lines = [text for _, text in rows]
    elif not any(mark == "+" for mark, _ in rows):
        lines = [text if mark in ("?", "") else mark + text for mark, text in rows]
    else:
        raise EditError(
            f"{file.path}: a new file has lines that are not marked +", "mark every line with +"
        )
    bare = bool(file.bodies) and file.bodies[-1].bare_new
    return "\n".join(lines) + ("" if bare or not lines else "\n")


def _trimmed(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Rows without empty lines at the end: those separate hunks, they state nothing."""
    end = len(rows)
    while end and rows[end - 1] == ("", ""):
        end -= 1
    return rows[:end]


def _hunk(number: int, body: _Body) -> Hunk:
    rows = _trimmed(body.rows)
    if all(mark == "+" for mark, _ in rows):
        rows = body.rows  # blank context is all there is: no reason to take it for nothing
    # Where one context line lost its leading space, all of them did: a space then is indentation.
    unmarked = any(mark == "?" for mark, _ in rows)
    texts = [(mark, " " + text if unmarked and mark == " " else text) for mark, text in rows]
    final = False if body.bare_new else True if body.bare_old else None
    return Hunk(
        number,
        old=tuple(text for mark, text in texts if mark != "+"),
        new=tuple(text for mark, text in texts if mark != "-"),
        hint=body.hint,
        line=body.line,
        marks="".join(mark if mark in ("-", "+") else " " for mark, _ in rows),
        final_newline=final,
    )


def _joined(first: FileEdit, second: FileEdit) -> FileEdit:
    """Two edits of one path as one; only hunks can be joined."""
    if not (first.hunks and second.hunks):
        raise EditError(f"{first.path}: the reply gives two edits that exclude each other")
    start = first.hunks[-1].number
    more = tuple(replace(hunk, number=start + i) for i, hunk in enumerate(second.hunks, 1))
    return FileEdit(first.path, hunks=first.hunks + more)
