import unittest

from reader.parsing import parse_line
from reader.table import read_table


class ReaderTest(unittest.TestCase):
    def test_a_table(self):
        rows = read_table("name; age\nada; 36\n\nbob; 5\n")
        self.assertEqual(rows, [{"name": "ada", "age": "36"}, {"name": "bob", "age": "5"}])

    def test_nothing(self):
        self.assertEqual(read_table(""), [])

    def test_a_line(self):
        self.assertEqual(parse_line(" a ;b"), ["a", "b"])
