"""Makes foreign text safe and true to show: nothing in it can steer the terminal or hide."""

from collections.abc import Iterator
from pathlib import Path

from rich.cells import cell_len, split_graphemes

TAB = "    "
"""What a tab is shown as; fixed, because a streamed line has no column to align to yet."""

_HIDDEN = (
    *range(0x80, 0xA0),  # C1 controls
    0x00AD,  # soft hyphen
    0x061C,
    *range(0x200B, 0x2010),  # zero width and direction marks
    *range(0x2028, 0x202F),  # line separators and bidirectional overrides
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *range(0xD800, 0xE000),  # lone surrogates cannot be encoded to the terminal
)
_VISIBLE: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    **{code: f"<U+{code:04X}>" for code in _HIDDEN},
    0x09: TAB,
    0x7F: "\u2421",
    # Variation selectors change how wide terminals draw a character, and each does it differently.
    0xFE0E: "",
    0xFE0F: "",
}


def visible(text: str) -> str:
    """One line of foreign text with every control or hidden character shown as a visible one.

    Escape becomes `␛`, a direction override `<U+202E>`: a diff must not be able to look like
    another diff. Line feeds are shown too, so split into lines first.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_VISIBLE)


def below_home(path: Path) -> str:
    """A path as people write it: `~/src/project`."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def one_line(text: str) -> str:
    """Foreign text as one visible line; runs of white space become one space."""
    return visible(" ".join(text.split()))


def fit(text: str, width: int) -> str:
    """Cut to at most `width` cells, with `…` where something was cut."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    kept, used = [], 0
    for piece, size in _cells(text):
        if used + size > width - 1:
            break
        kept.append(piece)
        used += size
    return "".join(kept) + "…"


def pad(text: str, width: int) -> str:
    """Exactly `width` cells: cut or filled with spaces on the right."""
    cut = fit(text, width)
    return cut + " " * (width - cell_len(cut))


def break_points(text: str, width: int) -> list[int]:
    """Character offsets at which `text` is broken so that no row is wider than `width` cells.

    A break falls behind the last space of a row's last third, else between two characters.
    """
    if width <= 0 or (text.isascii() and len(text) <= width):
        return []
    points: list[int] = []
    row_start, used, offset, last_space = 0, 0, 0, -1
    for piece, size in _cells(text):
        if used + size > width and offset > row_start:
            at_space = last_space > row_start and (offset - last_space) * 3 <= offset - row_start
            row_start = last_space if at_space else offset
            points.append(row_start)
            used = cell_len(text[row_start:offset])
        offset += len(piece)
        used += size
        if piece == " ":
            last_space = offset
    return points


def _cells(text: str) -> Iterator[tuple[str, int]]:
    if text.isascii():
        for character in text:
            yield character, 1
        return
    spans, _ = split_graphemes(text)
    for start, end, size in spans:
        yield text[start:end], size
