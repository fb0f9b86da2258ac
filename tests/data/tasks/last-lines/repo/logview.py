"""Shows parts of log files."""


def head(text, n):
    """The first n lines."""
    return "\n".join(text.splitlines()[:n])


def tail(text, n):
    """The last n lines; the whole text if it has fewer."""
    lines = text.splitlines()
    if n <= 0:
        return ""
    start = max(0, len(lines) - n + 1)
    return "\n".join(lines[start:])


def matching(text, word):
    """The lines that hold a word, each with its number from 1."""
    return [
        (number, line) for number, line in enumerate(text.splitlines(), 1) if word in line
    ]
