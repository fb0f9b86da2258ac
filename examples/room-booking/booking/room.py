"""A meeting room and its bookings of one day."""

from booking.slot import Slot


class Conflict(Exception):
    """The room is taken."""


class Room:
    """Keeps bookings apart from each other."""

    def __init__(self, name, opens=8 * 60, closes=18 * 60):
        self.name = name
        self.hours = Slot(opens, closes)
        self.bookings = []

    def book(self, slot):
        """Book the room; raises `Conflict` if it is taken or closed."""
        if slot.start < self.hours.start or slot.end > self.hours.end:
            raise Conflict(f"{slot} is outside the opening hours {self.hours}")
        for taken in self.bookings:
            if slot.overlaps(taken):
                raise Conflict(f"{slot} overlaps {taken}")
        self.bookings.append(slot)
        self.bookings.sort()

    def cancel(self, slot):
        """Give a booking up."""
        self.bookings.remove(slot)

    def free(self):
        """The spans of the day that are not booked."""
        gaps = []
        start = self.hours.start
        for taken in self.bookings:
            if taken.start > start:
                gaps.append(Slot(start, taken.start))
            start = taken.end
        if start < self.hours.end:
            gaps.append(Slot(start, self.hours.end))
        return gaps

    def use(self):
        """Share of the day that is booked, from 0 to 1."""
        booked = sum(slot.minutes for slot in self.bookings)
        return booked / self.hours.minutes
