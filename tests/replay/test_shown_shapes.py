import pytest

from agspec_tui.replay.shown_shapes import (
    ARROW,
    BAR,
    BLANK,
    TAB,
    UNKNOWN,
    Stretch,
    command_output,
    fenced,
    numbered,
    observed,
    sections,
    tool_result,
    tool_uses,
    whole_message,
)

CODE = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (ARROW, "     7→def f(x):\n     8→    return x + 1"),
        (TAB, "     7\tdef f(x):\n     8\t    return x + 1\n"),
        (BAR, "7|def f(x):\n8|    return x + 1\n"),
        (BLANK, "7 def f(x):\n8     return x + 1\nThought:"),
    ],
)
def test_line_numbers_are_stripped(number, text):
    assert list(numbered("a.py", text, number)) == [Stretch("a.py", 7, CODE)]


def test_a_gap_in_the_numbers_begins_another_stretch():
    text = " 1→a\n 2→b\n10→c\n\n<system-reminder>no line\n"
    assert list(numbered("a.py", text, ARROW)) == [
        Stretch("a.py", 1, "a\nb\n"),
        Stretch("a.py", 10, "c\n"),
    ]


@pytest.mark.parametrize(
    "content",
    [f"src/a.py\n```\n{CODE}```\n", f"src/a.py\n````\n{CODE}````", CODE],
)
def test_a_message_that_is_a_file_loses_path_and_fence(content):
    assert whole_message("src/a.py", content) == Stretch("src/a.py", 1, CODE)


def test_a_file_that_ends_with_a_fence_of_its_own_keeps_it():
    text = "# Use\n```\nx\n```\n"
    assert whole_message("a.md", f"a.md\n````\n{text}````\n").text == text


def test_a_fenced_block_behind_a_path_is_a_file_and_an_edit_block_is_not():
    edit = "b.py\n```python\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n"
    text = f"Here it is:\n\nsrc/a.py\n```python\n{CODE}```\n\n{edit}\nsome words\n```\nls\n```\n"
    assert list(fenced(text)) == [Stretch("src/a.py", 1, CODE)]


def test_sections_with_numbers_know_their_lines():
    text = "### src/a.py\n...\n7|def f(x):\n8|    return x + 1\n...\n20|y\n\n### Examples:\n1|no\n"
    assert list(sections(text)) == [Stretch("src/a.py", 7, CODE), Stretch("src/a.py", 20, "y\n")]


def test_sections_without_numbers_are_parts_in_unknown_places():
    text = f"--- BEGIN FILE ---\n```\n### src/a.py\n...\n{CODE}...\ny = 1\n```\n--- END FILE ---\nz"
    assert list(sections(text)) == [
        Stretch("src/a.py", UNKNOWN, CODE),
        Stretch("src/a.py", UNKNOWN, "y = 1\n"),
    ]


def test_a_skeleton_in_a_fence_is_a_section():
    text = f"### File: src/a.py ###\n```python\n{CODE}```\n\nno more"
    assert list(sections(text)) == [Stretch("src/a.py", UNKNOWN, CODE)]


def test_headings_of_a_text_are_no_files():
    assert not list(sections("### Steps to reproduce\nx\n### Version 2.1\ny\n"))


def test_an_observation_names_the_file_that_it_shows():
    text = "\nObservation: The content of src/a.py is: \nResults for keyword: f\n7 def f(x):\n"
    text += "8     return x + 1\nThought:\n"
    assert list(observed(text)) == [Stretch("src/a.py", 7, CODE)]


def test_tool_calls_are_found_in_an_output():
    output = 'I read it.\n[tool_use Read]\n{"file_path": "/r/a.go"}\n[tool_use Bash]\n{"command": '
    assert tool_uses(output) == [("Read", {"file_path": "/r/a.go"}), ("Bash", {})]


def test_arguments_that_are_no_object_are_as_good_as_none():
    assert tool_uses('[tool_use Read]\n{"a": 1} trailing') == [("Read", {})]


@pytest.mark.parametrize(
    ("name", "arguments", "content", "expected"),
    [
        ("Read", {"file_path": "/r/a.go"}, "  7→x\n  8→y\n", [Stretch("/r/a.go", 7, "x\ny\n")]),
        ("Write", {"file_path": "/r/a.go", "content": "x\n"}, "ok", [Stretch("/r/a.go", 1, "x\n")]),
        ("Edit", {"file_path": "/r/a.go"}, "updated:\n  9→z\n", [Stretch("/r/a.go", 9, "z\n")]),
        ("Read", {"file_path": "/r/a.go"}, "<tool_use_error>1→x</tool_use_error>", []),
        ("Read", {"file_path": 3}, "  7→x\n", []),
        ("Grep", {"pattern": "x"}, "  7→x\n", []),
    ],
)
def test_tool_results_show_the_file_that_was_asked_for(name, arguments, content, expected):
    assert list(tool_result(name, arguments, content)) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<returncode>0</returncode>\n<output>\na\nb\n</output>", ["a\nb\n"]),
        (
            "<returncode>0</returncode>\n<warning>\nlong\n</warning><output_head>\na\nb half\n"
            "</output_head>\n<elided_chars>\n9 characters elided\n</elided_chars>\n<output_tail>\n"
            "half\nz\n</output_tail>",
            ["a\n", "z\n"],
        ),
        ("Please always provide EXACTLY ONE action", []),
    ],
)
def test_the_output_of_a_command_is_taken_out_of_its_wrapper(content, expected):
    assert command_output(content) == expected
