import unittest

from booking import Conflict, Room, Slot, parse_slot


class SlotTest(unittest.TestCase):
    def test_text_and_slot_are_the_same(self):
        self.assertEqual(str(parse_slot("09:05-10:30")), "09:05-10:30")

    def test_a_slot_must_not_end_before_it_begins(self):
        with self.assertRaises(ValueError):
            Slot(600, 540)

    def test_slots_that_share_time_overlap(self):
        self.assertTrue(parse_slot("09:00-10:00").overlaps(parse_slot("09:30-11:00")))
        self.assertTrue(parse_slot("09:00-12:00").overlaps(parse_slot("10:00-11:00")))

    def test_slots_apart_do_not_overlap(self):
        self.assertFalse(parse_slot("09:00-10:00").overlaps(parse_slot("11:00-12:00")))

    def test_slots_that_touch_do_not_overlap(self):
        self.assertFalse(parse_slot("09:00-10:00").overlaps(parse_slot("10:00-11:00")))
        self.assertFalse(parse_slot("10:00-11:00").overlaps(parse_slot("09:00-10:00")))


class RoomTest(unittest.TestCase):
    def setUp(self):
        self.room = Room("Blue room")
        self.room.book(parse_slot("09:00-10:00"))

    def test_a_taken_room_cannot_be_booked(self):
        with self.assertRaises(Conflict):
            self.room.book(parse_slot("09:59-10:30"))

    def test_a_room_can_be_booked_right_after_another_booking(self):
        self.room.book(parse_slot("10:00-11:00"))
        self.assertEqual([str(slot) for slot in self.room.bookings], ["09:00-10:00", "10:00-11:00"])

    def test_a_closed_room_cannot_be_booked(self):
        with self.assertRaises(Conflict):
            self.room.book(parse_slot("07:00-08:30"))

    def test_a_cancelled_booking_frees_the_room(self):
        self.room.cancel(parse_slot("09:00-10:00"))
        self.assertEqual(self.room.free(), [parse_slot("08:00-18:00")])

    def test_the_gaps_between_bookings_are_free(self):
        self.room.book(parse_slot("11:00-12:00"))
        free = ["08:00-09:00", "10:00-11:00", "12:00-18:00"]
        self.assertEqual(self.room.free(), [parse_slot(text) for text in free])

    def test_the_use_is_the_share_of_the_day(self):
        self.assertAlmostEqual(self.room.use(), 0.1)


if __name__ == "__main__":
    unittest.main()
