import pytest

from agspec_tui.errors import EditError
from agspec_tui.forms.choose import form
from agspec_tui.forms.fences import fence_for

WHOLE = form("whole")
CODE = "x = 1\n"
README = "# Use\n\n```bash\nmake\n```\n\nor\n\n```\nrun\n```\nend\n"


def read(reply: str, expected: tuple[str, ...] = ()) -> dict[str, str | None]:
    return {edit.path: edit.whole for edit in WHOLE.parse(reply, expected)}


@pytest.mark.parametrize(
    "before",
    [
        "src/app.py\n```python\n",
        "**src/app.py**\n```python\n",
        "`src/app.py`\n```python\n",
        "**`src/app.py`**\n```python\n",
        "# src/app.py\n```python\n",
        "### `src/app.py`\n```python\n",
        "### 1. `src/app.py`\n```python\n",
        "File: src/app.py\n```python\n",
        "**File: `src/app.py`**\n```python\n",
        "Path: `src/app.py`:\n```python\n",
        "src/app.py:\n```python\n",
        "src/app.py\n\n```python\n",
        "1. src/app.py\n```\n",
        "./src/app.py\n```\n",
        "```python src/app.py\n",
        "```src/app.py\n",
        "```python:src/app.py\n",
        '```python title="src/app.py"\n',
        "Here is the corrected `src/app.py`:\n\n```python\n",
        "Sure! I will fix it.\n\nsrc/app.py\n~~~python\n",
    ],
)
def test_a_path_is_found_wherever_models_put_it(before):
    mark = "~~~" if "~~~" in before else "```"
    reply = f"{before}{CODE}{mark}\nDone."
    (edit,) = WHOLE.parse(reply)
    assert edit.path.removeprefix("./") == "src/app.py"
    assert edit.whole == CODE


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("# src/app.py\nx = 1\n", "x = 1\n"),
        ("// src/app.py\nx = 1\n", "x = 1\n"),
        ("# File: src/app.py\nx = 1\n", "x = 1\n"),
        ("/* src/app.py */\nx = 1\n", "x = 1\n"),
    ],
)
def test_a_comment_on_the_first_line_names_the_file(body, kept):
    (edit,) = WHOLE.parse(f"Fixed:\n```\n{body}```\n")
    assert (edit.path, edit.whole) == ("src/app.py", kept)
    assert edit.label == body.splitlines()[0]


@pytest.mark.parametrize(
    "reply",
    [
        f"````\nsrc/app.py\n```python\n{CODE}```\n````\n",
        f"```markdown\nsrc/app.py\n```python\n{CODE}```\n```\n",
        f"```\nsrc/app.py\n{CODE}```\n",
        f"```python\nsrc/app.py\n{CODE}```\n",
    ],
)
@pytest.mark.parametrize("expected", [(), ("src/app.py",)])
def test_a_path_inside_the_block_is_not_part_of_the_file(reply, expected):
    assert read(reply, expected) == {"src/app.py": CODE}


def test_a_sentence_before_an_untagged_block_names_no_file():
    reply = f"a.py\n```python\n{CODE}```\nRun `tests/test_a.py`, it says:\n```\n1 passed\n```\n"
    assert read(reply) == {"a.py": CODE}


@pytest.mark.parametrize("line", ["import os.path", "x = a/b.c", "Use os.path", "see a/b.py"])
def test_a_line_of_code_or_prose_is_no_path(line):
    with pytest.raises(EditError, match="names no file"):
        WHOLE.parse(f"{line}\n```\n{CODE}```\n")
    assert read(f"```\n{line}\n{CODE}```\n", ("z.py",)) == {"z.py": f"{line}\n{CODE}"}


def test_several_files_come_in_their_order():
    reply = "b.py\n```python\n1\n```\n\nand\n\n**a.py**\n```python\n2\n```\n"
    assert list(read(reply).items()) == [("b.py", "1\n"), ("a.py", "2\n")]


@pytest.mark.parametrize("expected", [(), ("a.py", "b.py")])
def test_a_reply_without_a_path_needs_exactly_one_expected_file(expected):
    with pytest.raises(EditError, match="names no file") as caught:
        WHOLE.parse(f"```python\n{CODE}```\n", expected)
    assert caught.value.hint


def test_a_reply_without_a_path_is_the_one_expected_file():
    assert read(f"Fixed it:\n```python\n{CODE}```\n", ("a/b.py",)) == {"a/b.py": CODE}


def test_a_block_of_commands_is_not_the_expected_file():
    reply = f"```python\n{CODE}```\nThen run `a/b.py`:\n```bash\npython a/b.py\n```\n"
    assert read(reply, ("a/b.py",)) == {"a/b.py": CODE}


def test_a_bare_name_means_the_expected_file_that_ends_with_it():
    assert read(f"app.py\n```\n{CODE}```\n", ("src/app.py",)) == {"src/app.py": CODE}


@pytest.mark.parametrize(
    "line", ["Update in src/app.py", "See src/app.py:", "This is how it looks", "Output:", "e.g."]
)
def test_prose_is_no_path(line):
    assert "src/app.py" not in line or read(f"{line}\n```\nx\n```\n", ("src/app.py",))
    with pytest.raises(EditError):
        WHOLE.parse(f"{line}\n```\nx\n```\n")


def test_a_path_may_hold_spaces_and_parentheses():
    reply = f"dir\\CreateAnItems (1).cpp\n```cpp\n{CODE}```\n"
    assert read(reply) == {"dir\\CreateAnItems (1).cpp": CODE}
    reply = f"dir with space/file.txt\n```\n{CODE}```\n"
    assert read(reply) == {"dir with space/file.txt": CODE}


@pytest.mark.parametrize(
    "reply",
    [
        "src/app.py\n```python\nx = 1\n",
        "src/app.py\n````python\nx = 1\n```\n",
        "a.py\n```\n1\n```\nb.py\n```\n2",
        "README.md\n```md\n# Use\n```bash\nmake\n```\n",
    ],
)
def test_a_reply_that_ends_inside_a_file_is_refused(reply):
    with pytest.raises(EditError, match="ends inside a file") as caught:
        WHOLE.parse(reply)
    assert "to its end" in caught.value.hint


@pytest.mark.parametrize("fence", ["````", "`````"])
def test_only_a_bare_fence_as_long_as_the_opener_closes(fence):
    assert read(f"README.md\n{fence}markdown\n{README}{fence}\n") == {"README.md": README}


def test_tagged_blocks_inside_too_short_a_fence_are_content():
    text = "# Use\n```bash\nmake\n```\nend\n"
    reply = f"README.md\n```markdown\n{text}```\nRun it:\n```bash\nmake\n```\n"
    (edit,) = WHOLE.parse(reply)
    assert (edit.whole, edit.whole_long) == (text, None)


def test_bare_blocks_inside_too_short_a_fence_leave_two_readings():
    (edit,) = WHOLE.parse(f"README.md\n```markdown\n{README}```\n")
    assert edit.whole == "# Use\n\n```bash\nmake\n```\n\nor\n\n"
    assert edit.whole_long == README


def test_the_last_bare_fence_counts_up_to_the_next_file():
    reply = f"README.md\n```markdown\n{README}```\n\na.py\n```python\n{CODE}```\n"
    first, second = WHOLE.parse(reply)
    assert first.whole_long == README
    assert (second.path, second.whole, second.whole_long) == ("a.py", CODE, None)


def test_marks_in_the_middle_of_a_line_are_no_fence():
    text = 'PATTERN = re.compile("```.*```")\nx = "a ``` b"\n'
    assert read(f"a.py\n```python\n{text}```\n") == {"a.py": text}


def test_a_fence_in_an_indented_list_does_not_close_the_file():
    text = "- item\n\n  ```\n  make\n  ```\n- next\n"
    assert read(f"README.md\n```markdown\n{text}```\n") == {"README.md": text}


@pytest.mark.parametrize(
    "thought",
    [
        "<think>\na.py\n```\nwrong\n```\n</think>\n",
        "<think>a.py ```wrong</think>",
        "first\na.py\n```\nwrong\n```\n</think>\n\n",
    ],
)
def test_reasoning_is_dropped(thought):
    assert read(f"{thought}a.py\n```\n{CODE}```\n") == {"a.py": CODE}


def test_a_file_may_speak_of_reasoning_itself():
    text = 'OPEN = "<think>"\n<think>\n</think>\n'
    assert read(f"a.py\n```\n{text}```\n") == {"a.py": text}


def test_a_reply_that_ends_in_reasoning_is_refused():
    with pytest.raises(EditError, match="inside its reasoning"):
        WHOLE.parse("<think>\nhm\na.py\n```\nx\n```\n")


def test_line_ends_of_the_reply_become_lf():
    assert read("a.py\r\n```\r\nx\r\ny\r\n```\r\n") == {"a.py": "x\ny\n"}


def test_a_file_given_twice_differently_is_refused():
    with pytest.raises(EditError, match="two different texts"):
        WHOLE.parse("a.py\n```\n1\n```\na.py\n```\n2\n```\n")
    assert read("a.py\n```\n1\n```\na.py\n```\n1\n```\n") == {"a.py": "1\n"}


def test_an_empty_block_is_an_empty_file():
    assert read("pkg/__init__.py\n```python\n```\n") == {"pkg/__init__.py": ""}


@pytest.mark.parametrize("reply", ["", "I cannot do that.", "```diff\n-a\n+b\n```"])
def test_a_reply_without_a_file_is_refused(reply):
    with pytest.raises(EditError):
        WHOLE.parse(reply, ("a.py",))


@pytest.mark.parametrize("text", [README, "", "no end", "````\n", "  `````x\n", "a\n\n"])
def test_a_rendered_file_reads_back(text):
    shown = WHOLE.render_file("dir/README.md", text)
    expected = text if text.endswith("\n") or not text else text + "\n"
    assert read(shown) == {"dir/README.md": expected}


def test_the_fence_is_longer_than_any_in_the_file():
    assert fence_for("a ```` b\n") == "```"
    assert fence_for("x\n````\n") == "`````"


def test_a_file_is_read_back_in_the_way_the_prompt_shows_it():
    shown = WHOLE.render_file("src/a.py", "x = 1\n") + "\n" + WHOLE.render_file("b.md", "```\n")
    assert list(read(shown)) == ["src/a.py", "b.md"]


def test_the_one_view_is_the_file_itself():
    (view,) = WHOLE.index_views("a\r\nb\r\n")
    assert (view.name, view.text) == ("raw", "a\nb\n")


@pytest.mark.parametrize("end", ["", "```\n"])
def test_a_fence_around_the_whole_reply_is_no_file_closed_or_not(end):
    reply = f"```\nsrc/a.py\n```python\nx = 1\n```\n{end}"
    assert read(reply) == {"src/a.py": "x = 1\n"}
