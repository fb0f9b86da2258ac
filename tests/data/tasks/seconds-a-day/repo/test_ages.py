import unittest

from ages import age_in_days, describe


class AgeTest(unittest.TestCase):
    def test_days(self):
        self.assertEqual(age_in_days(172_800), 2.0)

    def test_describe(self):
        for seconds, text in {5: "5 s", 120: "2 min", 7200: "2 h", 86_399: "23 h", 86_400: "1 d"}.items():
            self.assertEqual(describe(seconds), text)
