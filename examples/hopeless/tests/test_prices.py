import unittest

from prices import round_price, total, with_tax


class PricesTest(unittest.TestCase):
    def test_whole_prices_stay(self):
        self.assertEqual(round_price(7), 7)

    def test_the_nearest_coin_is_taken(self):
        self.assertEqual(total([1.2, 1.8]), 3)

    def test_tax_comes_on_top(self):
        self.assertEqual(with_tax(100, 19), 119)

    def test_the_shop_rounds_halves_up(self):
        self.assertEqual(round_price(2.5), 3)

    def test_the_book_keeping_rounds_halves_down(self):
        self.assertEqual(round_price(2.5), 2)


if __name__ == "__main__":
    unittest.main()
