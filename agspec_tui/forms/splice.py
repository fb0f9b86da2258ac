"""Replaces lines of a file as byte spans; every byte outside the spans stays as it is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agspec_tui.forms.text import Text


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines `start` to `end` of the old file become `new`."""

    start: int
    """First line replaced."""
    end: int
    """Line after the last one replaced; equal to `start` for an insertion."""
    new: tuple[str, ...]
    """Lines that take their place, without line ends."""
    hunk: int
    """Number of the hunk it comes from."""
    rule: str
    """Rule that placed the hunk."""
    likeness: float = 1.0
    """How alike its place is to what the reply gave, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes `start` to `end` of the old file become `new`."""

    start: int
    """First byte replaced."""
    end: int
    """Byte after the last one replaced."""
    new: bytes
    """What takes their place."""
    line: int
    """First line of the span, from 1."""
    hunk: int
    """Number of the hunk it comes from."""
    rule: str
    """Rule that placed the hunk."""
    likeness: float = 1.0
    """How alike its place is to what the reply gave, 0 to 1."""


def spans(text: Text, edits: Sequence[LineEdit], final: bool | None = None) -> list[Span]:
    """Line edits as byte spans.

    A new line takes the end of the line it replaces, else of its neighbour above, else below.

    Args:
        text: The old file.
        edits: Ascending and not overlapping.
        final: Whether the file shall end with a line end; None leaves that to the edits: what
            replaces the last line has its end, and untouched bytes stay.

    Raises:
        EditError: new text cannot be written in the file's encoding.
    """
    out: list[Span] = []
    reached = -1
    for index, edit in enumerate(edits):
        last = index == len(edits) - 1
        body = _body(text, edit, tail=last and edit.end == len(text.lines))
        if edit.new and edit.start == len(text.lines) > reached and not text.ends_with_newline():
            body = _end_near(text, edit.start, edit.end) + body
        reached = edit.end
        start, end = text.offsets[edit.start], text.offsets[edit.end]
        new = text.encode(body)
        line = edit.start + 1
        out.append(Span(start, end, new, line, edit.hunk, edit.rule, edit.likeness))
    return out if final is None else _with_final(text, out, final)


def splice(data: bytes, replaced: Sequence[Span]) -> bytes:
    """The bytes with all spans replaced; spans ascend and do not overlap."""
    out: list[bytes] = []
    at = 0
    for span in replaced:
        out += [data[at : span.start], span.new]
        at = span.end
    out.append(data[at:])
    return b"".join(out)


def _body(text: Text, edit: LineEdit, *, tail: bool) -> str:
    ends = []
    for k in range(len(edit.new)):
        own = edit.start + k
        end = text.ends[own] if own < edit.end else ""
        ends.append(end or _end_near(text, edit.start, edit.end))
    # A last line without text is there by its end alone, so it keeps one.
    if tail and ends and edit.new[-1] and not text.ends_with_newline():
        ends[-1] = ""
    return "".join(line + end for line, end in zip(edit.new, ends, strict=True))


def _end_near(text: Text, start: int, end: int) -> str:
    """The line end new lines take: of the last line replaced, the line above, or the one below."""
    order: list[int] = [*range(end - 1, start - 1, -1), start - 1, end]
    for line in order:
        if 0 <= line < len(text.ends) and text.ends[line]:
            return text.ends[line]
    return text.usual_end()


def _with_final(text: Text, out: list[Span], final: bool) -> list[Span]:
    """Spans corrected so that the result ends with a line end, or without."""
    after = splice(text.data, out)
    body = after[text.offsets[0] :]
    stop = next((e for e in ("\r\n", "\n", "\r") if body.endswith(e.encode(text.encoding))), "")
    if not body or bool(stop) == final:
        return out
    size = len(text.data)
    touched = bool(out) and out[-1].end == size
    blank = Span(size, size, b"", max(1, len(text.lines)), 1, "end of file")
    tail = out[-1] if touched else replace(blank, hunk=out[-1].hunk) if out else blank
    rest = out[:-1] if touched else out
    if final:
        usual = _end_near(text, len(text.lines), len(text.lines)).encode(text.encoding)
        return [*rest, replace(tail, new=tail.new + usual)]
    length = len(stop.encode(text.encoding))
    if len(tail.new) >= length:
        return [*rest, replace(tail, new=tail.new[:-length])]
    return [*rest, replace(tail, start=tail.start - length)]
