import unittest

from logview import head, matching, tail

TEXT = "one\ntwo\nthree\nfour\nfive\n"


class LogViewTest(unittest.TestCase):
    def test_tail(self):
        self.assertEqual(tail(TEXT, 3), "three\nfour\nfive")
        self.assertEqual(tail(TEXT, 1), "five")

    def test_tail_of_a_short_text(self):
        self.assertEqual(tail("a\nb\n", 5), "a\nb")

    def test_no_lines_wanted(self):
        self.assertEqual(tail(TEXT, 0), "")

    def test_head(self):
        self.assertEqual(head(TEXT, 2), "one\ntwo")

    def test_matching(self):
        self.assertEqual(matching(TEXT, "f"), [(4, "four"), (5, "five")])
