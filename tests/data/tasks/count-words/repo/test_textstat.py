import unittest

import textstat

TEXT = "The cat and the dog and the bird. A cat!"


class TextStatTest(unittest.TestCase):
    def test_most_frequent(self):
        self.assertEqual(textstat.most_frequent(TEXT, 3), ["the", "and", "cat"])

    def test_ties_are_in_order(self):
        self.assertEqual(textstat.most_frequent("b a c", 2), ["a", "b"])

    def test_fewer_words_than_wanted(self):
        self.assertEqual(textstat.most_frequent("one", 5), ["one"])

    def test_counts(self):
        self.assertEqual(textstat.counts("a b a"), {"a": 2, "b": 1})
