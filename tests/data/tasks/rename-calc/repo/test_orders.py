import unittest

import invoice
import orders

ORDER = {
    "lines": [{"name": "desk", "price": 300, "count": 2}, {"name": "lamp", "price": 50, "count": 1}],
    "discount": 10,
}


class OrdersTest(unittest.TestCase):
    def test_total_price(self):
        self.assertEqual(orders.total_price(ORDER), 585)

    def test_the_old_name_is_gone(self):
        self.assertFalse(hasattr(orders, "calc"))
        self.assertFalse(hasattr(invoice, "calc"))

    def test_is_large(self):
        self.assertFalse(orders.is_large(ORDER))

    def test_invoice(self):
        self.assertEqual(invoice.invoice(ORDER), "2 x desk\n1 x lamp\ntotal: 585.00")
