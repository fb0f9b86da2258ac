"""What a refused hunk is told: the first line that is not there, and the nearest real ones."""

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from agspec_tui.errors import EditError
from agspec_tui.forms.locate import Place
from agspec_tui.forms.types import Hunk

_WIDTH = 120
_NEAR = 8
_SEARCHED = 5000
_ELISIONS = ("...", "…")


def refuse_elision(path: str, hunk: Hunk, lines: Sequence[str]) -> None:
    """Refuse a hunk whose old side leaves lines out by `...`, unless the file has that line.

    Raises:
        EditError: it does.
    """
    elided = next((line.strip() for line in hunk.old if _is_elision(line)), None)
    if elided is not None and not any(line.strip() == elided for line in lines):
        raise EditError(
            f"{path}, hunk {hunk.number}: the old side leaves lines out: {elided!r}",
            "write every line between the first and the last of a hunk, or use two hunks",
        )


def not_found(path: str, hunk: Hunk, lines: Sequence[str]) -> EditError:
    """The hunk's old side is nowhere in the file."""
    offset = _best_offset(hunk.old, lines)
    wrong = _first_wrong(hunk.old, lines, offset)
    where = f"; line {wrong + 1} of its old side is not there: {_cut(hunk.old[wrong])!r}"
    return EditError(
        f"{path}, hunk {hunk.number}: the file has no such lines{where}",
        "copy the lines that stay or go exactly as the file has them",
        _nearest(hunk.old[wrong], lines, None if offset is None else offset + wrong),
    )


def not_unique(path: str, hunk: Hunk, places: Sequence[Place]) -> EditError:
    """The hunk's old side stands in several places and nothing singles one out."""
    starts = ", ".join(str(place.start + 1) for place in places[:8])
    more = ", …" if len(places) > 8 else ""
    return EditError(
        f"{path}, hunk {hunk.number}: not unique, it fits at lines {starts}{more}",
        "give more unchanged lines around the change, or name the function in the @@ line",
    )


def together(errors: Sequence[EditError]) -> EditError:
    """One refusal for all that is wrong in a turn: the first, with the others listed."""
    first = errors[0]
    if len(errors) == 1:
        return first
    others = [f"also: {error.message}" for error in errors[1:7]]
    detail = "\n".join([*first.detail.splitlines(), *others])
    return EditError(f"{first.message} (and {len(errors) - 1} more)", first.hint, detail)


def _is_elision(line: str) -> bool:
    text = line.strip().strip("#/*-<!> \t")
    return bool(text) and (text in _ELISIONS or text.startswith(_ELISIONS))


def _best_offset(old: Sequence[str], lines: Sequence[str]) -> int | None:
    """The shift of line numbers under which most old lines are where they should be."""
    where: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        where.setdefault(line.strip(), []).append(number)
    votes: Counter[int] = Counter()
    for index, line in enumerate(old):
        if line.strip():
            votes.update(number - index for number in where.get(line.strip(), ())[:200])
    return votes.most_common(1)[0][0] if votes else None


def _first_wrong(old: Sequence[str], lines: Sequence[str], offset: int | None) -> int:
    for index, line in enumerate(old):
        if offset is None:
            if line.strip():
                return index
            continue
        at = offset + index
        if not 0 <= at < len(lines) or lines[at].strip() != line.strip():
            return index
    return 0


def _nearest(wanted: str, lines: Sequence[str], at: int | None) -> str:
    """Real lines around the place, else those most like the line that is missing."""
    if at is not None:
        low = max(0, min(at - _NEAR // 2, len(lines) - _NEAR))
        numbers = list(range(low, min(len(lines), low + _NEAR)))
    else:
        like = get_close_matches(wanted, list(lines[:_SEARCHED]), n=3, cutoff=0.5)
        numbers = [i for i, line in enumerate(lines[:_SEARCHED]) if line in like][:_NEAR]
    if not numbers:
        return ""
    return "nearest lines of the file:\n" + "\n".join(
        f"{number + 1:>5}  {_cut(lines[number])}" for number in numbers
    )


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
