import unittest

from shapes import Shape, by_color


class ShapeTest(unittest.TestCase):
    def test_fill(self):
        shape = Shape("circle", fill="red")
        self.assertEqual(shape.fill, "red")
        self.assertFalse(hasattr(shape, "color"))

    def test_default(self):
        self.assertEqual(Shape("box").fill, "black")

    def test_describe_and_like(self):
        shape = Shape("circle", fill="red").like("box")
        self.assertEqual(shape.describe(), "a red box")

    def test_by_color(self):
        shapes = [Shape("a", fill="red"), Shape("b"), Shape("c", fill="red")]
        self.assertEqual(by_color(shapes), {"red": ["a", "c"], "black": ["b"]})
