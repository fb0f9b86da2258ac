import unittest

from suppliers import ParseError, Supplier, parse_line, parse_text


class ParseTest(unittest.TestCase):
    def test_a_line_has_a_name_an_address_and_goods(self):
        expected = Supplier("Green Farm", "hello@green.example", ("eggs", "milk"))
        self.assertEqual(parse_line("Green Farm;hello@green.example;eggs, milk"), expected)

    def test_spaces_around_the_fields_do_not_matter(self):
        expected = Supplier("Blue Door Bakery", "orders@bluedoor.example", ("bread",))
        line = "Blue Door Bakery ; orders@bluedoor.example ; bread"
        self.assertEqual(parse_line(line), expected)

    def test_a_line_with_too_few_fields_is_refused(self):
        with self.assertRaises(ParseError):
            parse_line("Green Farm;hello@green.example")

    def test_a_line_without_an_address_is_refused(self):
        with self.assertRaises(ParseError):
            parse_line("Green Farm;hello;eggs")

    def test_empty_lines_and_comments_are_skipped(self):
        text = "# name; e-mail; goods\n\nGreen Farm;hello@green.example;eggs\n"
        self.assertEqual(len(parse_text(text)), 1)


if __name__ == "__main__":
    unittest.main()
