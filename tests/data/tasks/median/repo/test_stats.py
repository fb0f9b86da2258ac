import unittest

import stats


class StatsTest(unittest.TestCase):
    def test_odd(self):
        self.assertEqual(stats.median([9, 1, 5]), 5)

    def test_even(self):
        self.assertEqual(stats.median([4, 1, 3, 2]), 2.5)

    def test_the_list_stays_as_it_is(self):
        values = [3, 1, 2]
        stats.median(values)
        self.assertEqual(values, [3, 1, 2])

    def test_none(self):
        with self.assertRaises(ValueError):
            stats.median([])

    def test_all(self):
        self.assertEqual(stats.statistics_of([1, 2, 6]), {"mean": 3, "spread": 5, "median": 2})
