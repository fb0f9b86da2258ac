import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agspec_tui.tui.lines import MAX_LINE_CHARS, Line, Span, line, rows
from agspec_tui.tui.text import below_home, break_points, fit, one_line, pad, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\tb", "a    b"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("bell\x07", "bell␇"),
        ("end\r", "end␍"),
        ("\x7f", "␡"),
        ("user\u202etxt.exe", "user<U+202E>txt.exe"),
        ("zero\u200bwidth", "zero<U+200B>width"),
        ("\x9b31m", "<U+009B>31m"),
        ("\ud800", "<U+D800>"),
        ("漢字 😀", "漢字 😀"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
    ],
)
def test_control_and_hidden_characters_are_shown(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_visible_text_can_always_be_sent_to_a_terminal(text):
    shown = visible(text)
    shown.encode("utf-8")
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c == "\u202e" for c in shown)


@given(st.text(max_size=60), st.integers(0, 20))
def test_fit_and_pad_keep_to_the_width(text, width):
    assert cell_len(fit(visible(text), width)) <= width
    assert cell_len(pad(visible(text), width)) == width


def test_one_line_joins_all_white_space():
    assert one_line(" a\n\tb \r\n c ") == "a b c"


@settings(max_examples=200)
@given(st.text(max_size=120), st.integers(2, 30))
def test_wrapped_rows_hold_the_whole_text_within_the_width(text, width):
    source = line((text.replace("\n", " "), "added"))
    wrapped = rows(source, width)
    assert "".join(span.text for row in wrapped for span in row) == source.text()
    assert all(cell_len("".join(span.text for span in row)) <= width for row in wrapped)


def test_a_break_falls_behind_a_late_space():
    text = "one two three four"
    points = break_points(text, 10)
    assert [text[a:b] for a, b in zip([0, *points], [*points, None], strict=True)] == [
        "one two ",
        "three four",
    ]


def test_wide_characters_are_not_cut_in_half():
    wrapped = rows(line("漢字漢字"), 5)
    assert [row[0].text for row in wrapped] == ["漢字", "漢字"]


@pytest.mark.parametrize(("repeat", "second"), [(True, "> def"), (False, "  def")])
def test_the_gutter_stands_before_the_first_row_or_before_all(repeat, second):
    source = line("abcdef", gutter=Span("> ", "muted"))
    source.repeat = repeat
    wrapped = rows(source, 5)
    assert ["".join(span.text for span in row) for row in wrapped] == ["> abc", second]


def test_a_line_that_may_not_wrap_is_cut():
    assert rows(line("abcdef", wrap=False), 4) == [(Span("abcd", ""),)]


def test_runs_of_one_style_are_joined_and_styles_kept():
    made = Line()
    for text, style in (("a", ""), ("b", ""), ("c", "accepted"), ("d", "")):
        made.append(text, style)
    assert made.spans == [Span("ab", ""), Span("c", "accepted"), Span("d", "")]


def test_a_huge_line_is_cut_and_says_so():
    made = Line()
    for _ in range(1000):
        made.append("x" * 1000)
    assert len(made.text()) < MAX_LINE_CHARS + 40
    assert made.text().endswith("line cut here")


def test_paths_of_the_person_are_short(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert below_home(tmp_path / "src" / "a b") == "~/src/a b"
    assert below_home(tmp_path.parent) == str(tmp_path.parent)
