"""Numbers as people read them."""


def count(n: int) -> str:
    """`1 812`: groups of three, parted by a space, which no language reads as a decimal sign."""
    return f"{n:,}".replace(",", " ")


def counted(n: int, what: str) -> str:
    """`1 hunk`, `2 hunks`."""
    return f"{count(n)} {what}{'s'[: n != 1]}"


def short(n: int) -> str:
    """`16k`, `1.8k`, `812`: for places with no room."""
    if n < 1000:
        return str(n)
    thousands = n / 1000
    return f"{thousands:.1f}k" if thousands < 10 else f"{thousands:.0f}k"


def seconds(s: float) -> str:
    """`0.4 s`, `42 s`, `3 min 05 s`."""
    if s < 10:
        return f"{s:.1f} s"
    if s < 60:
        return f"{s:.0f} s"
    minutes, rest = divmod(round(s), 60)
    return f"{minutes} min {rest:02d} s"
