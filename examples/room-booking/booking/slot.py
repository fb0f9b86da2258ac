"""A span of time within one day."""

from dataclasses import dataclass

MINUTES_PER_DAY = 24 * 60


@dataclass(frozen=True, order=True)
class Slot:
    """From `start` to `end`, both in minutes since midnight."""

    start: int
    end: int

    def __post_init__(self):
        if not 0 <= self.start < self.end <= MINUTES_PER_DAY:
            raise ValueError(f"not a span of one day: {self.start} to {self.end}")

    @property
    def minutes(self):
        """How long it is."""
        return self.end - self.start

    def overlaps(self, other):
        """Whether the two spans share some time."""
        return self.start < other.end and other.start < self.end

    def __str__(self):
        return f"{format_time(self.start)}-{format_time(self.end)}"


def format_time(minutes):
    """Minutes since midnight as `HH:MM`."""
    hours, rest = divmod(minutes, 60)
    return f"{hours}:{rest:02d}"


def parse_time(text):
    """`HH:MM` as minutes since midnight."""
    hours, _, minutes = text.strip().partition(":")
    if not (hours.isdigit() and minutes.isdigit() and len(minutes) == 2 and int(minutes) < 60):
        raise ValueError(f"not a time: {text!r}")
    return int(hours) * 60 + int(minutes)


def parse_slot(text):
    """`HH:MM-HH:MM` as a slot."""
    start, dash, end = text.partition("-")
    if not dash:
        raise ValueError(f"not a span of time: {text!r}")
    return Slot(parse_time(start), parse_time(end))
