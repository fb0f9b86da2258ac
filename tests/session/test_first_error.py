import pytest

from agspec_tui.session.counting import first_error

UNITTEST_ERROR = """\
===
ERROR: test_few (test_stat.StatTest.test_few)
---
Traceback (most recent call last):
  File "test_stat.py", line 16, in test_few
    self.assertEqual(stat.most("one", 5), ["one"])
  File "stat.py", line 21, in most
    counts = counts(text)
   ^^^^^^
UnboundLocalError: cannot access local variable 'counts'

===
ERROR: test_many (test_stat.StatTest.test_many)
"""
PYTEST_ERROR = """\
____ test_add ____
test_calc.py:4: in test_add
    assert calc.add(1, 2) == 3
calc.py:2: in add
    return a + c
E   NameError: name 'c' is not defined
==== 1 failed in 0.02s ====
"""
NODE_ERROR = """\
not ok 1 - adds
  location: 'test.js:3:1'
AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

3 !== 4
"""
LOADER_ERROR = """\
===
ERROR: test_settings (unittest.loader._FailedTest.test_settings)
---
ImportError: Failed to import test module: test_settings
Traceback (most recent call last):
  File "test_settings.py", line 3, in <module>
    import settings
  File "settings.py", line 3, in <module>
    from collections.abc import Mapping, OrderedDict
ImportError: cannot import name 'OrderedDict' from 'collections.abc'
"""


@pytest.mark.parametrize(
    ("output", "first", "last"),
    [
        (
            LOADER_ERROR,
            "    import settings",
            "ImportError: cannot import name 'OrderedDict' from 'collections.abc'",
        ),
        (
            UNITTEST_ERROR,
            '  File "stat.py", line 21, in most',
            "UnboundLocalError: cannot access local variable 'counts'",
        ),
        (PYTEST_ERROR, "    assert calc.add(1, 2) == 3", "E   NameError: name 'c' is not defined"),
        (
            NODE_ERROR,
            "not ok 1 - adds",
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
        ),
        ("ErrorHandler.test passes\n2 passed in 0.1s", "", ""),
        ("", "", ""),
    ],
)
def test_the_first_error_is_shown_with_the_lines_that_say_where(output, first, last):
    lines = first_error(output).split("\n")
    assert (lines[0], lines[-1]) == (first, last)
    assert len(lines) <= 7
