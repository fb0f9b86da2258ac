import pytest

from agspec_tui.engine.reply import Reply
from agspec_tui.errors import EngineError
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


STOPS = [
    (("END",), "aENENDx", "aENEND"),
    (("abc", "bcd"), "aabcd", "aabc"),
    (("aab",), "aaab", "aaab"),
    (("</answer>", "<"), "x<y", "x<"),
    (("☃☃",), "a☃b☃☃c", "a☃b☃☃"),
    (("\n\n",), "a\n b\n\nc", "a\n b\n\n"),
    (("é!",), "éé!é!", "éé!"),
    (("none of these",), "none of this", "none of this"),
]


@pytest.mark.parametrize(("stop", "said", "kept"), STOPS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 40])
def test_a_stop_ends_the_reply_at_its_last_byte_wherever_steps_end(stop, said, kept, size):
    under_way = reply(stop=stop)
    data = said.encode()
    for start in range(0, len(data), size):
        block = list(data[start : start + size])
        under_way.commit(block[:-1], block[-1])
        if under_way.stop_reason:
            break
    assert under_way.text == kept
    assert bytes(under_way.ids) == kept.encode()
    assert under_way.n_tokens == len(kept.encode())
    assert under_way.stop_reason == ("" if kept == said and "none" in said else "stop")


class LongBackend(ByteBackend):
    """Token 200 is a stop text with much behind it."""

    def detokenize(self, ids):
        return b"".join(b"END" + b"-" * 300 if token == 200 else bytes([token]) for token in ids)


@pytest.mark.parametrize("before", ["", "E", "EN"])
def test_a_stop_at_the_front_of_a_long_token_is_found_and_the_token_kept_whole(before):
    under_way = Reply(LongBackend(0), 99, ("END",))
    for byte in before.encode():
        under_way.commit([], byte)
    taken, _ = under_way.commit([200, 97], 98)
    assert taken == [200]
    assert under_way.text == before + "END" + "-" * 300
    assert under_way.stop_reason == "stop"


def test_an_empty_stop_text_is_refused():
    with pytest.raises(EngineError, match="empty"):
        reply(stop=("END", ""))


def test_any_end_token_ends_the_reply():
    class TwoEnds(ByteBackend):
        def is_eog(self, token):
            return token in (EOG, 9)

    for end in (EOG, 9):
        under_way = Reply(TwoEnds(0), 99, ())
        assert under_way.commit([97, end, 98], 99) == ([97], 1)
        assert under_way.stop_reason == "eog"


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
