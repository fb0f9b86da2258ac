"""Amounts of money from text."""

import re


def from_text(text):
    """Cents of an amount such as 12.50 or 7."""
    found = re.fullmatch(r"(\d+)(?:\.(\d\d))?", text.strip())
    if not found:
        raise ValueError(f"{text!r} is no amount")
    return int(float(text) * 100)
