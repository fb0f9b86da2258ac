import unittest

from series import differences, moving_average


class SeriesTest(unittest.TestCase):
    def test_every_window_counts(self):
        self.assertEqual(moving_average([1, 2, 3, 4], 2), [1.5, 2.5, 3.5])

    def test_one_window(self):
        self.assertEqual(moving_average([3, 6, 9], 3), [6.0])

    def test_too_few_values(self):
        self.assertEqual(moving_average([1], 2), [])

    def test_windows_of_one(self):
        self.assertEqual(moving_average([4, 8], 1), [4.0, 8.0])

    def test_differences(self):
        self.assertEqual(differences([1, 4, 2]), [3, -2])
