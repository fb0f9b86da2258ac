import unittest

from duration import parse_duration


class DurationTest(unittest.TestCase):
    def test_days(self):
        self.assertEqual(parse_duration("2d"), 172_800)
        self.assertEqual(parse_duration("1d12h"), 129_600)

    def test_what_worked_before(self):
        self.assertEqual(parse_duration("1h30m"), 5400)
        self.assertEqual(parse_duration(" 45S "), 45)

    def test_unknown_units(self):
        with self.assertRaises(ValueError):
            parse_duration("3w")

    def test_garbage(self):
        for text in ("", "h", "1h-", "ten"):
            with self.subTest(text), self.assertRaises(ValueError):
                parse_duration(text)
