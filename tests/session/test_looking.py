import time

import pytest

from agspec_tui.session.looking import Look, read_look, show

TEXTS = {
    "shop/cart.py": "class Cart:\n    def total(self):\n        return price_of(self)\n",
    "shop/money.py": "def price_of(cart):\n    return 0\n",
    "long.py": "".join(f"def f{n}():\n    return {n}\n" for n in range(200)),
}


@pytest.mark.parametrize(
    ("reply", "look"),
    [
        ('{"read": "a.py:1-3"}', Look(read="a.py:1-3")),
        (' {"grep": "total"}\n', Look(grep="total")),
        ('{"steps": []}', None),
        ('{"read": "a.py", "grep": "x"}', None),
        ('{"read": " "}', None),
        ('{"read": 3}', None),
        ("READ a.py", None),
        ("", None),
    ],
)
def test_a_look_is_told_from_a_plan(reply, look):
    assert read_look(reply) == look


@pytest.mark.parametrize(
    ("asked", "parts", "absent"),
    [
        ("shop/cart.py", ["lines 1 to 4 of 4", "class Cart:"], []),
        ("cart.py:2", ["lines 2 to 4", "def total"], ["class Cart"]),
        ("shop/cart.py:2-2", ["lines 2 to 2", "def total"], ["class Cart", "return"]),
        ("long.py", ["lines 1 to 80 of 401", "def f39", "Below, by line: f40 81"], ["def f40"]),
        ("long.py:100-399", ["lines 100 to 179"], ["def f95"]),
        ("long.py:40-10", ["lines 10 to 40", "def f5", "return 19"], ["def f20"]),
        ("long.py:3-0", ["lines 1 to 3"], ["def f2"]),
        ("long.py", ["f59 119, and 140 more"], ["f60 121"]),
        ("long.py:379-380", ["f199 399"], ["more"]),
        (f"long.py:{'9' * 5000}", ["There is no file"], ["def"]),
        ("shop/cart.py:9", ["has 4 lines"], ["class"]),
        ("../secret.txt", ["There is no file"], []),
        ("/etc/passwd", ["There is no file"], ["root:"]),
    ],
)
def test_a_file_is_read_in_part_and_only_if_agents_may_see_it(asked, parts, absent):
    shown = show(Look(read=asked), TEXTS).text
    assert all(part in shown for part in parts), shown
    assert not any(part in shown for part in absent), shown


@pytest.mark.parametrize(
    ("pattern", "hits"),
    [
        ("price_of", ["shop/cart.py:3:", "shop/money.py:1:"]),
        ("class|return 0", ["shop/cart.py:1:", "shop/money.py:2:"]),
        (r"def.*total\(", ["shop/cart.py:2:"]),
        ("(", ["shop/cart.py:2:"]),
        ("nowhere", []),
    ],
)
def test_lines_are_searched_by_text(pattern, hits):
    shown = show(Look(grep=pattern), TEXTS).text
    assert all(hit in shown for hit in hits), shown
    assert bool(hits) != ("No line holds" in shown)


def test_many_hits_are_counted_and_not_shown():
    assert "(180 more lines)" in show(Look(grep="def f"), {"long.py": TEXTS["long.py"]}).text


@pytest.mark.parametrize(
    ("line", "pattern", "hit"),
    [
        ("a" * 300 + "needle" + "b" * 300, "needle", True),
        ("first" + "a" * 90_000 + "needle", "first.*needle", True),
        ("needle" + "a" * 90_000 + "first", "first.*needle", False),
        (" " * 400 + "needle", "needle", True),
    ],
)
def test_a_long_line_is_searched_to_its_end_and_shown_around_the_hit(line, pattern, hit):
    shown = show(Look(grep=pattern), {"a.txt": line}).text
    assert ("No line holds" in shown) != hit
    assert ("a.txt:1: " in shown) == hit
    assert len(shown) < 400
    assert ("characters left out" in shown) == (hit and len(line.strip()) > 200)


def test_what_a_cut_line_lacks_is_counted():
    shown = show(Look(grep="needle"), {"a.txt": "a" * 300 + "needle" + "b" * 300}).text
    assert shown.splitlines()[1] == (
        f"a.txt:1: [… 200 characters left out …] {'a' * 100}needle{'b' * 94} "
        "[… 206 characters left out …]"
    )


@pytest.mark.parametrize(
    ("look", "n_lines"),
    [
        (Look(read="shop/cart.py:1-2"), 2),
        (Look(read="long.py"), 80),
        (Look(read="nowhere.go"), 0),
        (Look(read="shop/cart.py:9"), 0),
        (Look(grep="price_of"), 2),
        (Look(grep="def f"), 20),
        (Look(grep="nowhere"), 0),
        (Look(grep=".*"), 0),
    ],
)
def test_the_lines_that_are_shown_are_counted(look, n_lines):
    assert show(look, TEXTS).n_lines == n_lines


@pytest.mark.parametrize("look", [Look(grep="nowhere"), Look(read="nowhere.go")])
def test_what_was_not_read_is_not_denied(look):
    assert "7 files of the repository were not looked into" in show(look, TEXTS, 7).text


@pytest.mark.parametrize("pattern", ["", "|", ".*", "x" * 200, ".*a" * 9, "(a+)+$", "a.*b.*c.*d"])
def test_no_pattern_is_slow(pattern):
    started = time.monotonic()
    show(Look(grep=pattern), {"a.txt": ("a" * 5000 + "b" * 5000 + "c" * 5000 + "\n") * 20})
    assert time.monotonic() - started < 2
