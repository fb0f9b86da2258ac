"""Lines and rows in blocks, against the plain way: one list of each."""

from hypothesis import given
from hypothesis import strategies as st

from agspec_tui.tui.lines import line, rows
from agspec_tui.tui.wrapped import WrappedLines

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.text("ab ", max_size=60)),
        st.tuples(st.just("grow"), st.text("ab ", max_size=30)),
        st.tuples(st.just("width"), st.integers(4, 40)),
        st.tuples(st.just("wrap"), st.integers(1, 3)),
        st.tuples(st.just("drop"), st.just(0)),
    ),
    max_size=60,
)


def told(held):
    return [held.row(at) for at in range(held.n_rows)]


@given(ACTIONS, st.integers(10, 40))
def test_rows_are_those_of_the_lines_whatever_happened_before(actions, max_lines):
    held, kept = WrappedLines(max_lines), []
    for what, value in actions:
        if what == "add" or not kept:
            kept.append(str(value))
            held.add(line(str(value)))
        elif what == "grow":
            last = list(held)[-1]
            last.append(str(value))
            kept[-1] += str(value)
            held.rewrap_last()
        elif what == "width":
            held.set_width(value, 0, 3)
        elif what == "wrap":
            held.wrap_some(value)
        else:
            n_before = held.n_rows
            n_gone = held.drop_oldest()
            assert held.n_rows == n_before - n_gone
            assert held.n_lines <= max(max_lines, 1)
            kept = kept[len(kept) - held.n_lines :]
    assert [item.text() for item in held] == kept
    assert held.n_lines == len(kept)
    for number in range(held.n_lines):
        start = held.start_of(number)
        stop = held.start_of(number + 1) if number + 1 < held.n_lines else held.n_rows
        assert {held.line_at(row) for row in range(start, stop)} <= {number}
    while held.is_stale:
        held.wrap_some(1)
    assert told(held) == [row for text in kept for row in rows(line(text), held.width)]


def test_what_is_in_view_is_wrapped_at_once_and_the_rest_when_asked():
    held = WrappedLines(5_000)
    for number in range(3_000):
        held.add(line(f"{number} " + "x" * 60))
    held.set_width(20, 1_200, 1_240)
    assert held.is_stale
    for number in (1_200, 1_240, 2_999):
        assert held.start_of(number) + 4 == held.start_of(number + 1) or number == 2_999
    assert held.row(held.n_rows) is None
    n_more = 0
    while held.is_stale:
        held.wrap_some(1)
        n_more += 1
    assert n_more == 4  # of 6 blocks of 512 lines; that in view and the last one were
    assert held.n_rows == 3_000 * 4


def test_little_more_is_dropped_than_has_to_be():
    held = WrappedLines(1_000)
    for number in range(1_001):
        held.add(line(str(number)))
    assert held.drop_oldest() == 100
    assert (held.n_lines, held.n_dropped) == (901, 100)
    assert held.row(0)[0].text == "100"
