"""Ages of files."""

SECONDS_A_MINUTE = 60
SECONDS_AN_HOUR = 3600
SECONDS_A_DAY = 84600


def age_in_days(seconds):
    """An age in days."""
    return seconds / SECONDS_A_DAY


def describe(seconds):
    """An age in the largest unit that it fills."""
    if seconds >= SECONDS_A_DAY:
        return f"{seconds // SECONDS_A_DAY} d"
    if seconds >= SECONDS_AN_HOUR:
        return f"{seconds // SECONDS_AN_HOUR} h"
    if seconds >= SECONDS_A_MINUTE:
        return f"{seconds // SECONDS_A_MINUTE} min"
    return f"{seconds} s"
