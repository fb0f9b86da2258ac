import unittest

from settings import lookup, merged


class SettingsTest(unittest.TestCase):
    def test_merged(self):
        found = merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 9}})
        self.assertEqual(found, {"a": {"b": 9, "c": 2}, "d": 3})

    def test_lookup(self):
        self.assertEqual(lookup({"a": {"b": 1}}, "a.b"), 1)
        self.assertEqual(lookup({"a": 1}, "a.b", 5), 5)
