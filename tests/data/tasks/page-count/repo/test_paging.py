import unittest

from paging import label, page, page_count


class PagingTest(unittest.TestCase):
    def test_a_part_of_a_page_is_a_page(self):
        self.assertEqual(page_count(25, 10), 3)
        self.assertEqual(page_count(1, 10), 1)

    def test_full_pages(self):
        self.assertEqual(page_count(20, 10), 2)

    def test_nothing(self):
        self.assertEqual(page_count(0, 10), 0)

    def test_last_page(self):
        self.assertEqual(page(list(range(25)), 3, 10), [20, 21, 22, 23, 24])

    def test_label(self):
        self.assertEqual(label(1, 11, 10), "page 1 of 2")


if __name__ == "__main__":
    unittest.main()
