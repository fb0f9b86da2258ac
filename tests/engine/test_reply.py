import pytest

from agspec_tui.engine.reply import Reply
from tests.engine.ngram_backend import EOG, NgramBackend


class ByteBackend(NgramBackend):
    """Tokens are bytes, so that characters can be split between tokens."""

    def detokenize(self, ids):
        return bytes(ids)


def reply(max_tokens=99, stop=()):
    return Reply(ByteBackend(0), max_tokens, stop)


def test_an_accepted_end_token_ends_the_reply_and_is_not_part_of_it():
    under_way = reply()
    taken, n_accepted_chars = under_way.commit([97, EOG, 98], 99)
    assert (taken, n_accepted_chars, under_way.stop_reason) == ([97], 1, "eog")
    assert under_way.n_tokens == 2
    assert under_way.text == "a"


def test_the_budget_ends_the_reply_inside_an_accepted_run():
    under_way = reply(max_tokens=2)
    assert under_way.commit([97, 98, 99], 100) == ([97, 98], 2)
    assert under_way.stop_reason == "length"


def test_a_stop_text_may_span_tokens_and_stays_in_the_reply():
    under_way = reply(stop=("END",))
    under_way.commit(list(b"xE"), ord("N"))
    assert under_way.stop_reason == ""
    taken, _ = under_way.commit([], ord("D"))
    assert (taken, under_way.stop_reason, under_way.text) == ([ord("D")], "stop", "xEND")


def test_text_waits_for_whole_characters():
    under_way = reply()
    snowman = "☃".encode()
    under_way.commit([], snowman[0])
    assert under_way.text == ""
    under_way.commit([snowman[1]], snowman[2])
    assert under_way.text == "☃"


@pytest.mark.parametrize("broken", [b"\xe2\x98", b"\xff"])
def test_bytes_that_are_no_text_become_replacement_characters_at_the_end(broken):
    under_way = reply()
    for byte in broken:
        under_way.commit([], byte)
    under_way.end("cancelled")
    assert under_way.text == "\N{REPLACEMENT CHARACTER}"
    assert under_way.stop_reason == "cancelled"


def test_only_accepted_characters_count_as_drafted():
    _, n_accepted_chars = reply().commit(list(b"abc"), ord("d"))
    assert n_accepted_chars == 3
