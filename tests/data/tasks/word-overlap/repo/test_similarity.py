import unittest

from similarity import most_alike, similarity


class SimilarityTest(unittest.TestCase):
    def test_equal_texts(self):
        self.assertEqual(similarity("the red house", "The red house."), 1.0)

    def test_nothing_shared(self):
        self.assertEqual(similarity("red house", "blue car"), 0.0)

    def test_a_part_is_shared(self):
        self.assertEqual(similarity("red house", "red car"), 1 / 3)

    def test_empty_texts(self):
        self.assertEqual(similarity("", "..."), 0.0)

    def test_most_alike(self):
        others = ["a red house", "the blue car", "the car"]
        self.assertEqual(most_alike("the car!", others), "the car")
