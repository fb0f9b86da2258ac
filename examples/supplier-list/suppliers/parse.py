"""Read suppliers from text, one a line: name; e-mail; goods."""

from dataclasses import dataclass

N_FIELDS = 3


class ParseError(ValueError):
    """A line is no supplier."""


@dataclass(frozen=True)
class Supplier:
    """One supplier."""

    name: str
    email: str
    goods: tuple[str, ...]


def parse_line(line):
    """One line as a supplier; goods are separated by commas."""
    fields = line.split(";")
    if len(fields) != N_FIELDS:
        raise ParseError(f"expected {N_FIELDS} fields, found {len(fields)}: {line!r}")
    name, email, goods = fields
    if "@" not in email:
        raise ParseError(f"not an e-mail address: {email!r}")
    return Supplier(name, email, tuple(item.strip() for item in goods.split(",")))


def parse_text(text):
    """All suppliers of a text; empty lines and lines that begin with `#` are skipped."""
    suppliers = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        suppliers.append(parse_line(line))
    return suppliers
