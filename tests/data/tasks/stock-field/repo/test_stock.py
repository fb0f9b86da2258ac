import unittest

from stock.loading import load
from stock.report import low, total

TEXT = "name,quantity\nbolt,40\nnut,7\nscrew,3\n"


class StockTest(unittest.TestCase):
    def test_loading(self):
        self.assertEqual(load(TEXT)[1], {"name": "nut", "quantity": 7})

    def test_total(self):
        self.assertEqual(total(load(TEXT)), 50)

    def test_low(self):
        self.assertEqual(low(load(TEXT), 10), ["nut", "screw"])
