import pytest

from agspec_tui.tui.charts import bar, braille, columns
from agspec_tui.tui.numbers import count, seconds, short


def test_columns_show_the_newest_values_on_the_right():
    assert columns([1, 2, 4, 8], 3, 1, 8) == ["▂▄█"]
    assert columns([8], 3, 2, 8) == ["  █", "  █"]
    assert columns([4, 8], 2, 2, 8) == [" █", "██"]


def test_nothing_is_drawn_as_something():
    assert columns([0.0], 1, 1, 8) == ["▁"]


def test_braille_puts_high_values_high():
    top, bottom = braille([1.0, 1.0, 0.0, 0.0], 2, 2, 0.0, 1.0)
    assert top[0] == "⠉"
    assert bottom[0] == " "
    assert bottom[1] == "⣇"  # both low dots, and the fall that leads to them


@pytest.mark.parametrize("values", [[], [1.0], [float(n) for n in range(500)]])
@pytest.mark.parametrize("size", [(1, 1), (7, 3), (40, 2), (0, 0), (36, 0), (0, 3)])
def test_charts_have_exactly_their_size(values, size):
    width, height = size
    for chart in (columns(values, width, height, 10.0), braille(values, width, height, 0.0, 10.0)):
        assert [len(row) for row in chart] == [width] * height


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0.0, "────"), (0.001, "━───"), (0.5, "━━──"), (1.0, "━━━━"), (9.0, "━━━━"), (-1.0, "────")],
)
def test_a_bar_fills_from_the_left(share, drawn):
    assert bar(share, 4) == drawn


def test_numbers_are_written_for_people():
    assert [count(812), count(1812), count(1_234_567)] == ["812", "1 812", "1 234 567"]
    assert [short(812), short(1812), short(16384)] == ["812", "1.8k", "16k"]
    assert [seconds(0.44), seconds(42.3), seconds(185)] == ["0.4 s", "42 s", "3 min 05 s"]
