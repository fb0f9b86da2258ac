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
        ("shop/cart.py:9", ["has 4 lines"], ["class"]),
        ("../secret.txt", ["There is no file"], []),
        ("/etc/passwd", ["There is no file"], ["root:"]),
    ],
)
def test_a_file_is_read_in_part_and_only_if_agents_may_see_it(asked, parts, absent):
    shown = show(Look(read=asked), TEXTS)
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
    shown = show(Look(grep=pattern), TEXTS)
    assert all(hit in shown for hit in hits), shown
    assert bool(hits) != ("No line holds" in shown)


def test_many_hits_are_counted_and_not_shown():
    assert "(180 more lines)" in show(Look(grep="def f"), {"long.py": TEXTS["long.py"]})


@pytest.mark.parametrize("pattern", ["", "|", ".*", "x" * 200, ".*a" * 9, "(a+)+$", "a.*b.*c.*d"])
def test_no_pattern_is_slow(pattern):
    started = time.monotonic()
    show(Look(grep=pattern), {"a.txt": ("a" * 5000 + "\n") * 20})
    assert time.monotonic() - started < 2
