"""Durations as people write them: 1h30m, 45s."""

import re

UNITS = {"h": 3600, "m": 60, "s": 1}


def parse_duration(text):
    """Seconds of a duration such as 1h30m."""
    text = text.strip().lower()
    parts = re.findall(r"(\d+)([a-z])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is no duration")
    seconds = 0
    for number, unit in parts:
        if unit not in UNITS:
            raise ValueError(f"unknown unit {unit!r}")
        seconds += int(number) * UNITS[unit]
    return seconds
