"""A table with a head."""

from reader.parsing import parse


def read_table(text):
    """Rows of a text as dictionaries; the first line holds the names."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    names = parse(lines[0])
    return [dict(zip(names, parse(line))) for line in lines[1:]]
