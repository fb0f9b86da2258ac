import unittest

from basket import Basket


class BasketTest(unittest.TestCase):
    def test_baskets_are_apart(self):
        one = Basket("ada")
        one.put("pen", 2)
        self.assertEqual(Basket("bob").items, {})

    def test_a_filled_basket(self):
        given = {"pen": 1}
        basket = Basket("ada", given)
        basket.put("pen")
        self.assertEqual(basket.items, {"pen": 2})

    def test_total(self):
        basket = Basket("ada")
        basket.put("pen", 2)
        basket.put("book")
        self.assertEqual(basket.total({"pen": 3, "book": 10}), 16)
        self.assertEqual(basket.take("pen"), 2)
