import unittest

from money.reading import from_text
from money.showing import show, show_all


class MoneyTest(unittest.TestCase):
    def test_reading_is_exact(self):
        for text, cents in {"19.99": 1999, "0.29": 29, "7": 700, "1.10": 110}.items():
            self.assertEqual(from_text(text), cents)

    def test_no_amounts(self):
        for text in ("1.005", "x", "-1"):
            with self.assertRaises(ValueError):
                from_text(text)

    def test_showing(self):
        self.assertEqual(show(5), "0.05")
        self.assertEqual(show(1250), "12.50")

    def test_column(self):
        self.assertEqual(show_all([100, 205]), "1.00\n2.05\n-----\n3.05")
