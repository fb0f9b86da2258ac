import unittest

from grades import average, report


class GradesTest(unittest.TestCase):
    def test_no_grades(self):
        self.assertIsNone(average([]))
        self.assertEqual(report("Maths", []), "Maths: no grades")

    def test_grades(self):
        self.assertEqual(average([1, 2, 3]), 2)
        self.assertEqual(report("Maths", [1, 2]), "Maths: 1.5 (best 1)")
