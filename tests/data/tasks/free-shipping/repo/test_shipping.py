import unittest

from shipping import missing_for_free_shipping, shipping_cost


class ShippingTest(unittest.TestCase):
    def test_exactly_the_limit_is_free(self):
        self.assertEqual(shipping_cost(50.00), 0.0)

    def test_below_and_above(self):
        self.assertEqual(shipping_cost(49.99), 4.90)
        self.assertEqual(shipping_cost(80), 0.0)

    def test_express_is_never_free(self):
        self.assertEqual(shipping_cost(80, express=True), 9.90)

    def test_missing(self):
        self.assertEqual(missing_for_free_shipping(30), 20)
        self.assertEqual(missing_for_free_shipping(60), 0)
