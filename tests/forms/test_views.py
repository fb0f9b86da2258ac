import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.commands import DocumentView
from agspec_tui.errors import UsageError
from agspec_tui.forms.choose import NAMES, form, views_of
from agspec_tui.forms.text import lines_of, normalise
from agspec_tui.forms.views import line_at, line_starts

CODE = 'def f():\n\treturn "a\\n"\n'

VIEWS = [
    ("whole", CODE, [("raw", CODE)]),
    ("search-replace", CODE, [("raw", CODE)]),
    (
        "udiff",
        CODE,
        [
            ("space", ' def f():\n \treturn "a\\n"\n'),
            ("minus", '-def f():\n-\treturn "a\\n"\n'),
            ("raw", CODE),
        ],
    ),
    (
        "whole-json",
        CODE,
        [("escaped", 'def f():\\n\\treturn \\"a\\\\n\\"\\n'), ("raw", CODE)],
    ),
    (
        "whole-json",
        "é\u2028😀\n",
        [
            ("escaped", "é\u2028😀\\n"),
            ("escaped-ascii", "\\u00e9\\u2028\\ud83d\\ude00\\n"),
            ("raw", "é\u2028😀\n"),
        ],
    ),
    (
        "udiff",
        "a\r\nb\rc",
        [("space", " a\n b\n c\n"), ("minus", "-a\n-b\n-c\n"), ("raw", "a\nb\nc")],
    ),
    ("udiff", "", [("space", ""), ("minus", ""), ("raw", "")]),
    ("whole-json", "", [("escaped", ""), ("raw", "")]),
]


@pytest.mark.parametrize(("name", "text", "expected"), VIEWS)
def test_a_form_has_its_views_in_the_order_of_indexing(name, text, expected):
    assert [(view.name, view.text) for view in views_of(name, text)] == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_form_with_a_parser_indexes_these_very_views(name):
    assert form(name).index_views(CODE) == views_of(name, CODE)


def test_an_unknown_form_is_refused():
    with pytest.raises(UsageError, match="nonsense"):
        views_of("nonsense", CODE)


@pytest.mark.parametrize(
    ("view", "text", "starts"),
    [
        ("raw", "", []),
        ("raw", "a", [0]),
        ("raw", "a\n", [0]),
        ("raw", "\n\n", [0, 1]),
        ("raw", "é\nb", [0, 3]),
        ("raw", "a\u2028b\n\x0cc\n", [0, 6]),
        ("space", " a\n \n b\n", [0, 3, 5]),
        ("escaped", "a\\nb", [0, 3]),
        ("escaped", "a\\\\nb\\n", [0]),
        ("escaped", "\\\\\\nb", [0, 4]),
        ("escaped-ascii", "\\u00e9\\n\\u006e", [0, 8]),
    ],
)
def test_line_starts_are_byte_offsets(view, text, starts):
    assert line_starts(DocumentView(view, text)) == starts


def test_the_end_of_a_view_belongs_to_its_last_line_and_an_empty_file_has_none():
    starts = line_starts(DocumentView("raw", "a\nb\n"))
    assert [line_at(starts, offset) for offset in range(5)] == [1, 1, 2, 2, 2]
    assert line_at([], 0) == 0


def line_by_line(name, text):
    """Bytes of each line of a view, made from the line alone."""
    rows = normalise(text).split("\n")
    ends = [*["\n"] * (len(rows) - 1), ""]
    if rows[-1] == "":
        rows, ends = rows[:-1], ends[:-1]
    if name in ("space", "minus"):
        mark = {"space": " ", "minus": "-"}[name]
        return [f"{mark}{row}\n".encode() for row in rows]
    parts = [row + end for row, end in zip(rows, ends, strict=True)]
    if name == "raw":
        return [part.encode() for part in parts]
    return [json.dumps(part, ensure_ascii=name == "escaped-ascii")[1:-1].encode() for part in parts]


TEXTS = st.lists(
    st.sampled_from(
        ["\n", "\r\n", "\r", "\t", '"', "\\", "\\n", "n", "\u2028", "é", "😀", " ", "\0"]
    )
    | st.text(max_size=4).filter(lambda text: text.isprintable()),
    max_size=24,
).map("".join)


@settings(max_examples=150)
@given(TEXTS, st.sampled_from(["whole", "udiff", "search-replace", "whole-json"]))
def test_every_offset_of_every_view_maps_to_the_line_it_came_from(text, name):
    for view in views_of(name, text):
        lines = line_by_line(view.name, text)
        assert b"".join(lines) == view.text.encode()
        assert len(lines) == len(lines_of(normalise(text)))
        starts = line_starts(view)
        owners = [number for number, line in enumerate(lines, 1) for _ in line]
        assert [line_at(starts, offset) for offset in range(len(owners))] == owners
