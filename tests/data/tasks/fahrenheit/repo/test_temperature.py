import unittest

from temperature import to_celsius, to_fahrenheit


class TemperatureTest(unittest.TestCase):
    def test_to_fahrenheit(self):
        self.assertEqual(to_fahrenheit(100), 212)
        self.assertEqual(to_fahrenheit(0), 32)
        self.assertEqual(to_fahrenheit(-40), -40)

    def test_and_back(self):
        self.assertAlmostEqual(to_celsius(to_fahrenheit(36.6)), 36.6)

    def test_too_cold(self):
        with self.assertRaises(ValueError):
            to_fahrenheit(-300)
