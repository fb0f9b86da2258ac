import pytest

from agspec_tui.replay.edit_formats import forms_of, turns_of
from agspec_tui.replay.traces import TraceCall, TraceSession

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"


def session(*outputs: str, edit_format: str | None = None, kind: str = "") -> TraceSession:
    calls = tuple(TraceCall(prompt=(), output=output, turn=n) for n, output in enumerate(outputs))
    return TraceSession("s", calls, edit_format=edit_format, kind=kind)


@pytest.mark.parametrize(
    ("stated", "outputs", "expected"),
    [
        ("SEARCH/REPLACE blocks", [""], ("search-replace",)),
        ("search-replace", [""], ("search-replace",)),
        ("whole files", [""], ("whole",)),
        ("unified diff", [DIFF], ("udiff",)),
        ("JSON tool call with a patch or code argument", [""], ("whole-json",)),
        (
            "tool call Edit {old_string,new_string} or Write {content}",
            [""],
            ("whole-json",),
        ),
        ("one bash block a call; edits by sed, heredoc or a Python script", [""], ("whole",)),
        ("one bash block a call", ["text", f"```bash\n{DIFF}```"], ("whole", "udiff")),
        ("ask", [""], ("whole",)),
        (None, [""], ("whole",)),
    ],
)
def test_edit_formats_of_recordings_have_views(stated, outputs, expected):
    assert forms_of(session(*outputs, edit_format=stated)) == expected


@pytest.mark.parametrize(
    "edit",
    [
        "a.py\n```python\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```",
        'Now:\n[tool_use Edit]\n{"file_path": "a"}',
        'Now:\n[tool_use Write]\n{"file_path": "a"}',
        'Action:\n{\n  "action": "editor_file"\n}',
        "```bash\nsed -i 's/a/b/' a.py\n```",
        "```bash\ncat <<'EOF' > a.py\nx\nEOF\n```",
        "```bash\npython - <<EOF\nopen('a.py', 'w').write(x)\nEOF\n```",
        "Here:\n\na.py\n```python\nx = 1\n```",
    ],
)
def test_a_turn_begins_with_an_edit(edit):
    assert turns_of(session("look", edit, "test", edit, "test", edit)) == [1, 1, 1, 2, 2, 3]


def test_a_session_without_edits_has_one_turn():
    quoted = "I would use `sed -n` and\n```bash\ncat a.py\n```\n"
    assert turns_of(session("look", quoted, "[tool_use Read]\n{}")) == [1, 1, 1]


def test_our_own_recordings_know_their_turns():
    assert turns_of(session("a", "b", "c", kind="recording")) == [1, 1, 2]
