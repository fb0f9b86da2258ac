import time

import pytest

from agspec_tui.session.output import (
    LEFT_OUT,
    MAX_LINE_CHARS,
    OutputBuffer,
    cap,
    clean,
    cut_lines,
    left_out,
)


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain text\n", "plain text\n"),
        ("tab\tstays\n", "tab\tstays\n"),
        ("\x1b[31mred\x1b[0m \x1b[1;38;2;1;2;3mbold\x1b[m", "red bold"),
        ("\x1b[2J\x1b[H\x1b[10;20Hmoved\x1b[?25l\x1b[?1049h", "moved"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]2;a title\x1b\\text", "text"),
        ("\x1b]52;c;aGVsbG8=\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended\nnext line", "\nnext line"),
        ("\x1bPq#0;2;0;0;0~~@@\x1b\\text", "text"),
        ("\x1bPnever ended", "never ended"),
        ("\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\text", "text"),
        ("\x9b31mred\x9d0;title\x9ctext\x90dcs\x9cend", "redtextend"),
        ("\x1b(B\x1b)0\x1b=\x1b>\x1b7\x1b8\x1bctext", "text"),
        ("cut short \x1b[3", "cut short "),
        ("cut short \x1b", "cut short "),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("doubled\r\r\nends\r\r\n", "doubled\nends\n"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("10%\r\x1b[K100%\r\n", "100%\n"),
        ("waiting\r", "waiting"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("_\bu_\bn_\bd", "und"),
        ("|\b/\b-\b\\", "\\"),
        ("\b\bstart", "start"),
        ("bell\x07 nul\x00 del\x7f ff\x0c vt\x0b", "bell nul del ff vt"),
        ("ünïcödé 漢字 ✓\n", "ünïcödé 漢字 ✓\n"),
    ],
)
def test_clean_shows_what_a_reader_would_see(raw, seen):
    assert clean(raw) == seen


@pytest.mark.parametrize(
    "flood",
    [
        "x" * 4_000_000,
        "\x1b[31mred\x1b[0m line\n" * 200_000,
        "\x1bP" * 1_000_000,
        "\x1b]" * 1_000_000,
        "\x1b[" + "1;" * 1_000_000,
        "a\b" * 1_000_000,
        "a" * 500_000 + "\b" * 500_000,
        "12%\r" * 700_000,
        "\r\n" * 1_000_000,
        "\r" * 2_000_000,
    ],
    ids=["line", "colour", "dcs", "osc", "csi", "overstrike", "erase", "progress", "crlf", "cr"],
)
def test_clean_is_linear_in_megabytes(flood):
    started = time.process_time()
    clean(flood)
    assert time.process_time() - started < 5.0


def test_a_line_of_megabytes_is_cut_and_says_so():
    text, n_cut = cut_lines("before\n" + "x" * 1_700_000 + "\nafter")
    assert n_cut == 1_700_000 - MAX_LINE_CHARS
    assert text == f"before\n{'x' * MAX_LINE_CHARS} {left_out(n_cut)}\nafter"


def test_a_line_at_the_limit_is_whole():
    line = "x" * MAX_LINE_CHARS
    assert cut_lines(line) == (line, 0)


def test_cap_keeps_head_and_tail_and_counts_the_middle():
    text = "".join(f"line {i}\n" for i in range(1000))
    capped, n_cut = cap(text, 70, 90)
    assert capped.startswith(text[:70])
    assert capped.endswith(text[-90:])
    assert n_cut == len(text) - 160
    assert left_out(n_cut) in capped.split("\n")


def test_short_text_is_not_capped():
    assert cap("short\n", 3, 3) == ("short\n", 0)


def test_the_mark_contains_the_constant_that_the_write_path_refuses():
    assert LEFT_OUT in left_out(12)


def test_the_buffer_of_a_short_output_is_the_clean_output():
    buffer = OutputBuffer()
    for piece in ("one \x1b[3", "1mred\x1b[0m\r", "\ntwo\n"):
        buffer.feed(piece)
    assert buffer.result() == ("one red\ntwo\n", 0)


@pytest.mark.parametrize("size", [1, 7, 1000, 65_536, 3_000_000])
def test_the_buffer_keeps_head_and_tail_whatever_the_pieces(size):
    n_lines = 3000 if size == 1 else 100_000
    text = "".join(f"line {i}\n" for i in range(n_lines))
    buffer = OutputBuffer(n_head=100, n_tail=200)
    for at in range(0, len(text), size):
        buffer.feed(text[at : at + size])
    output, n_cut = buffer.result()
    assert output.startswith(text[:100])
    assert output.endswith(text[-200:])
    assert n_cut == len(text) - 300
    assert left_out(n_cut) in output.split("\n")


def test_the_buffer_holds_little_of_a_flood():
    buffer = OutputBuffer(n_head=100, n_tail=200)
    piece = "y" * 999 + "\n"
    for _ in range(20_000):
        buffer.feed(piece)
    held = sum(map(len, buffer._head)) + sum(map(len, buffer._tail))
    assert held <= 4 * 300 + len(piece)
    output, n_cut = buffer.result()
    assert len(output) < 400
    assert n_cut == 20_000_000 - 300
