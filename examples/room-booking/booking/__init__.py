"""Bookings of meeting rooms."""

from booking.room import Conflict, Room
from booking.slot import Slot, parse_slot

__all__ = ["Conflict", "Room", "Slot", "parse_slot"]
