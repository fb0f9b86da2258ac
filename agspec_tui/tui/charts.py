"""Charts out of characters: block columns and braille lines, as rows of equal width."""

from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"
"""Eighths of a cell."""
FULL = "━"
EMPTY = "─"
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # left and right column, top to bottom


def columns(
    values: Sequence[float], width: int, height: int, top: float, *, floor: float = 0.0
) -> list[str]:
    """Block columns of the newest `width` values, right-aligned; the first row is the top one.

    A value above `floor` shows at least one eighth, so that something is never drawn as nothing.
    """
    if width < 1 or height < 1:  # a panel may have no room for a moment while the window shrinks
        return [""] * height
    shown = list(values)[-width:]
    span = max(top - floor, 1e-9)
    eighths = []
    for value in shown:
        level = round(min(max((value - floor) / span, 0.0), 1.0) * height * 8)
        eighths.append(max(level, 1))
    made = []
    for row in range(height - 1, -1, -1):
        cells = (BLOCKS[min(max(level - row * 8, 0), 8)] for level in eighths)
        made.append("".join(cells).rjust(width))
    return made


def braille(values: Sequence[float], width: int, height: int, low: float, high: float) -> list[str]:
    """A braille line of the newest 2 · `width` values, right-aligned; the first row is the top."""
    if width < 1 or height < 1:
        return [""] * height
    shown = list(values)[-2 * width :]
    cells = [[0] * width for _ in range(height)]
    offset = 2 * width - len(shown)
    span = max(high - low, 1e-9)
    previous: int | None = None
    for index, value in enumerate(shown, offset):
        level = round(min(max((value - low) / span, 0.0), 1.0) * (height * 4 - 1))
        y = height * 4 - 1 - level
        start, stop = sorted((y, y if previous is None else previous))
        for dot in range(start, stop + 1):
            if dot == y or (previous is not None and start < dot < stop):
                cells[dot // 4][index // 2] |= _DOTS[index % 2][dot % 4]
        previous = y
    return ["".join(chr(0x2800 + bits) if bits else " " for bits in row) for row in cells]


def bar(share: float, width: int) -> str:
    """A horizontal bar of `width` cells; any share above nothing fills at least one."""
    share = min(max(share, 0.0), 1.0)
    filled = min(width, max(round(share * width), 1 if share > 0 else 0))
    return FULL * filled + EMPTY * (width - filled)
