import unittest

from suppliers import Supplier, SupplierList

BAKERY = Supplier("Blue Door Bakery", "orders@bluedoor.example", ("bread", "rolls"))
FARM = Supplier("Green Farm", "Hello@Green.example", ("eggs", "milk"))
MILL = Supplier("Old Mill", "flour@oldmill.example", ("flour", "bread"))


class SupplierListTest(unittest.TestCase):
    def setUp(self):
        self.suppliers = SupplierList([MILL, FARM, BAKERY])

    def test_names_are_sorted(self):
        self.assertEqual(self.suppliers.names(), ["Blue Door Bakery", "Green Farm", "Old Mill"])

    def test_a_supplier_of_the_same_name_is_replaced(self):
        moved = Supplier("Old Mill", "new@oldmill.example", ("flour",))
        self.suppliers.add(moved)
        self.assertEqual(len(self.suppliers), 3)
        self.assertEqual(self.suppliers.find("Old Mill"), [moved])

    def test_names_and_addresses_are_searched(self):
        self.assertEqual(self.suppliers.find("Bakery"), [BAKERY])
        self.assertEqual(self.suppliers.find("flour@"), [MILL])

    def test_nothing_is_found_for_an_unknown_text(self):
        self.assertEqual(self.suppliers.find("harbour"), [])

    def test_sellers_of_an_item_are_named(self):
        self.assertEqual(self.suppliers.selling("bread"), ["Blue Door Bakery", "Old Mill"])

    def test_goods_are_listed_once(self):
        self.assertEqual(self.suppliers.goods(), ["bread", "eggs", "flour", "milk", "rolls"])


if __name__ == "__main__":
    unittest.main()
