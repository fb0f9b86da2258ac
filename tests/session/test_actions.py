import pytest

from agspec_tui.session.actions import ActionLoop


def said(actions, **bounds):
    loop = ActionLoop(**bounds)
    return [loop.take(action) for action in actions]


@pytest.mark.parametrize(
    ("bug", "actions", "warned", "stopped"),
    [
        ("L02", "aaaaa", 3, 5),
        ("L03", "xaaaaa", 4, 6),
        ("L05", "ababababab", 6, 10),
        ("L05, of three", "abcabcabcabcabc", 9, 15),
        ("L06", ["no diff"] * 5, 3, 5),
    ],
)
def test_what_repeats_is_warned_of_and_then_stopped(bug, actions, warned, stopped):
    found = said(actions)
    assert found.index("warn") + 1 == warned, bug
    assert found.index("stop") + 1 == stopped, bug


@pytest.mark.parametrize("actions", ["abcdefgh", "aabbccdd", "abacadae", ""])
def test_what_goes_on_is_left_alone(actions):
    assert set(said(actions)) <= {""}


def test_bounds_can_be_closer():
    assert said("aa", n_warn=2, n_stop=2) == ["", "stop"]
