"""Both sides of a landed change as lines, with the hunks of its diff; and back to bytes.

Lines are as git has them: a CR stands before the LF of its line. Bytes that are not UTF-8 are kept
in the lines (`surrogateescape`), so that a side made of such lines has exactly its bytes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from agspec_tui.errors import EditError
from agspec_tui.forms.linediff import Change, changes
from agspec_tui.forms.text import lines_of, normalise
from agspec_tui.forms.types import FileChange

_CONTEXT = 3
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """One hunk of a diff: lines `i1` to `i2` of the old side become lines `j1` to `j2`."""

    runs: tuple[Change, ...]
    """The changes in it."""
    i1: int
    """First old line shown."""
    i2: int
    """Old line after the last one shown."""
    j1: int
    """First new line shown."""
    j2: int
    """New line after the last one shown."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The lines of a change, each with its end, as far as it has one."""

    old: tuple[str, ...]
    """Lines before; none if there was no file."""
    new: tuple[str, ...]
    """Lines after; none if there is no file."""
    encoding: str
    """Encoding of both; empty if lines cannot be turned back into bytes."""

    def hunks(self) -> list[DiffHunk]:
        """The hunks, in order; changes whose context lines would touch share one."""
        runs = changes(self.old, self.new)
        groups: list[list[Change]] = []
        for run in runs:
            if groups and run.i1 - groups[-1][-1].i2 <= 2 * _CONTEXT:
                groups[-1].append(run)
            else:
                groups.append([run])
        return [self._hunk(group) for group in groups]

    def _hunk(self, group: Sequence[Change]) -> DiffHunk:
        first, last = group[0], group[-1]
        lead = min(_CONTEXT, first.i1)
        i2 = min(len(self.old), last.i2 + _CONTEXT)
        return DiffHunk(tuple(group), first.i1 - lead, i2, first.j1 - lead, last.j2 + i2 - last.i2)


def sides_of(change: FileChange) -> Sides | None:
    """The sides of a change; None if one of them is binary."""
    known = [data for data in (change.before, change.after) if data is not None]
    encodings = {_UTF16.get(data[:2], "utf-8") for data in known}
    encoding = encodings.pop() if len(encodings) == 1 else ""
    old, new = (_text(data, encoding) for data in (change.before, change.after))
    if (old is None or new is None) and encoding.startswith("utf-16"):  # half a character
        encoding = ""
        old, new = (_text(data, "") for data in (change.before, change.after))
    if old is None or new is None:
        return None
    return Sides(tuple(_git_lines(old)), tuple(_git_lines(new)), encoding)


def chosen(
    change: FileChange, left_out: Collection[int], written: Mapping[int, str] | None = None
) -> FileChange:
    """A change as far as the person wants it.

    Args:
        change: the change.
        left_out: numbers of the hunks that they do not want, from 0.
        written: by the number of a hunk the lines that they want in place of its new side, its
            context included, with `\\n` line ends; a line that was there keeps its own end, any
            other gets that of the line before it.

    Returns:
        The change without those hunks. Where its lines cannot be turned back into bytes it is
        taken or left as a whole.
    """
    sides = sides_of(change)
    if sides is None or not sides.encoding:
        if written:
            raise _not_exact(change.path, "has bytes of no encoding that is known")
        return replace(change, after=change.before) if left_out else change
    hunks = sides.hunks()
    if not hunks or not (left_out or written):
        return change
    lines: list[str] = []
    at = 0
    for number, hunk in enumerate(hunks):
        lines += sides.old[at : hunk.i1]
        old, new = sides.old[hunk.i1 : hunk.i2], sides.new[hunk.j1 : hunk.j2]
        if number in left_out:
            lines += old
        elif written and number in written:
            is_last = hunk.i2 == len(sides.old)
            lines += _as_written(change.path, written[number], [*new, *old], lines, is_last=is_last)
        else:
            lines += new
        at = hunk.i2
    lines += sides.old[at:]
    if change.before is None and len(left_out) == len(hunks):
        return replace(change, after=None)
    if change.after is None and not lines:
        return change
    return replace(change, after="".join(lines).encode(sides.encoding, _errors(sides.encoding)))


def shown(line: str) -> str:
    """A line of a side as a diff shows it: what is no text is escaped."""
    try:
        data = line.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a pair of UTF-16
        return line.encode("utf-8", "backslashreplace").decode()
    return data.decode("utf-8", "backslashreplace")


def _as_written(
    path: str, text: str, known: Sequence[str], before: Sequence[str], *, is_last: bool
) -> list[str]:
    """Lines of a text; those that were there with their own bytes, the others with a line end.

    Raises:
        EditError: a known line has separators that editors take for its end, or a line that was
            not there has characters that the file has no bytes for.
    """
    own: dict[str, str] = {}
    for line in known:
        bare = line.removesuffix("\n").removesuffix("\r")
        if len(bare.splitlines()) > 1 or bare.splitlines() != [bare][: bool(bare)]:
            raise _not_exact(path, "has other line separators than line feeds")
        same = own.setdefault(shown(bare), line)
        if same.removesuffix("\n").removesuffix("\r") != bare:
            raise _not_exact(path, "has lines that look alike")
    is_legacy = any("\udc80" <= char <= "\udcff" for line in known for char in line)
    usual = next((line for line in (*known, *before) if line.endswith("\n")), "\n")
    end = "\r\n" if usual.endswith("\r\n") else "\n"
    texts = lines_of(normalise(text)) if text else []
    found = []
    for number, bare in enumerate(texts):
        if bare not in own and is_legacy and not bare.isascii():
            raise _not_exact(path, "is not UTF-8")
        line = own.get(bare, bare + end)
        inside = number < len(texts) - 1 or not is_last
        found.append(line if line.endswith("\n") or not inside else line + end)
    return found


def _not_exact(path: str, why: str) -> EditError:
    return EditError(
        f"{path} {why}: lines of your own cannot be written there exactly",
        "leave the hunk out, or take it as it is and change the file in your editor",
    )


def _text(data: bytes | None, encoding: str) -> str | None:
    """Text of one side; None if it is binary. A missing file is empty."""
    if data is None:
        return ""
    if data[:2] in _UTF16 and encoding:
        try:
            return data.decode(encoding, errors="surrogatepass")
        except UnicodeDecodeError:
            return None
    if data[:2] in _UTF16:
        return data.decode("utf-16", errors="backslashreplace")
    if b"\0" in data:
        return None
    return data.decode("utf-8", errors="surrogateescape")


def _errors(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "surrogatepass"


def _git_lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
