import unittest

from wordcount import STOP_WORDS, count, longest_word, most_common, report, summarise, words


class WordsTest(unittest.TestCase):
    def test_punctuation_is_no_part_of_a_word(self):
        self.assertEqual(words("rain, wind - and sun!"), ["rain", "wind", "and", "sun"])

    def test_an_apostrophe_within_a_word_belongs_to_it(self):
        self.assertEqual(words("it isn't 'here'"), ["it", "isn't", "here"])

    def test_numbers_are_no_words(self):
        self.assertEqual(words("room 101 b2"), ["room", "b"])


class CountTest(unittest.TestCase):
    def test_repeated_words_are_counted(self):
        self.assertEqual(count("rain and rain"), {"rain": 2, "and": 1})

    def test_capitals_make_no_difference(self):
        expected = {"the": 2, "cat": 1, "saw": 1, "dog": 1}
        self.assertEqual(count("The cat saw the dog"), expected)

    def test_skipped_words_are_left_out(self):
        self.assertEqual(count("The rain and the wind", skip=STOP_WORDS), {"rain": 1, "wind": 1})

    def test_an_empty_text_has_no_words(self):
        self.assertEqual(count(""), {})


class SummaryTest(unittest.TestCase):
    def test_equal_counts_come_in_alphabetical_order(self):
        self.assertEqual(most_common("wind rain wind rain sun", 2), [("rain", 2), ("wind", 2)])

    def test_the_first_longest_word_wins(self):
        self.assertEqual(longest_word("sun wind rain"), "wind")

    def test_different_words_are_counted_once(self):
        summary = summarise("Rain in the north. rain in the south. RAIN!")
        self.assertEqual(summary.n_words, 9)
        self.assertEqual(summary.n_different, 5)

    def test_the_report_lists_the_top_words(self):
        text = report("wind and wind and sun")
        self.assertEqual(text.splitlines()[-2:], ["    2  wind", "    1  sun"])


if __name__ == "__main__":
    unittest.main()
