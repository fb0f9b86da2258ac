import gzip
import json
from pathlib import Path

import pytest

from agspec_tui.errors import UsageError
from agspec_tui.replay.traces import Skipped, TraceMessage, read_all, read_traces, trace_files

CALL = {"prompt": [{"role": "user", "content": "fix it"}], "output": "done"}
SESSION = {"session_id": "one", "calls": [CALL]}
EVENTS = Path(__file__).resolve().parents[1] / "data" / "events"


def lines(path, *objects):
    text = "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in objects)
    path.write_text(text, encoding="utf-8")
    return path


def read(path):
    found = list(read_traces(path))
    skipped = [each for each in found if isinstance(each, Skipped)]
    return [each for each in found if not isinstance(each, Skipped)], skipped


def test_a_session_is_read_with_its_calls_and_unknown_fields_are_ignored(tmp_path):
    call = {
        **CALL,
        "agent": "editor",
        "role": "coder",
        "agent_id": "editor#0",
        "ctx": "new",
        "tokens_out": None,
        "sample": 1,
        "news": [1, {"x": 2}],
        "prompt": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "a.py", "reconstructed": True, "file": "a.py", "more": 1},
        ],
    }
    path = lines(
        tmp_path / "t.jsonl",
        {"session_id": "s", "calls": [CALL, call], "task": None, "edit_format": None, "odd": {}},
    )
    (session,), skipped = read(path)
    assert skipped == []
    assert [c.output for c in session.calls] == ["done", "done"]
    first, second = session.calls
    assert (first.role, first.agent_id, first.ctx, first.sample) == (
        "agent",
        "main",
        "append",
        None,
    )
    assert (second.role, second.agent_id, second.ctx, second.sample) == (
        ("coder", "editor#0", "new", 1)
    )
    assert second.prompt[1] == TraceMessage("user", "a.py", True, "a.py")


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "odd name"])
@pytest.mark.parametrize("packed", [True, False])
def test_compression_is_seen_by_content_not_by_name(tmp_path, name, packed):
    data = json.dumps(SESSION).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
    sessions, skipped = read(tmp_path / name)
    assert [s.session_id for s in sessions] == ["one"]
    assert skipped == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"session_id": "x", "calls": [{"prompt": []', "truncated"),
        ("not json", "malformed"),
        ('"text"', "object"),
        ("{}", "session_id"),
        ('{"session_id": 7, "calls": []}', "session_id"),
        ('{"session_id": "x", "calls": [{"prompt": [{"role": "user"}], "output": ""}]}', "content"),
        ('{"session_id": "x", "calls": [{"prompt": [], "output": null}]}', "output"),
        ('{"session_id": "x", "calls": [{"prompt": [], "output": "", "ctx": "old"}]}', "ctx"),
        ('{"kind": 3, "seq": "x"}', "kind"),
        ("[" * 100_000, ""),
        ('{"session_id": "x", "calls": [], "deep": ' + "[" * 100_000, ""),
    ],
    ids=range(11),
)
def test_a_line_that_is_no_session_is_skipped_with_its_number(tmp_path, line, reason):
    path = lines(tmp_path / "t.jsonl", SESSION, line, "", {**SESSION, "session_id": "two"})
    sessions, (skipped,) = read(path)
    assert [s.session_id for s in sessions] == ["one", "two"]
    assert (skipped.file, skipped.line) == (str(path), 2)
    assert reason in skipped.reason


def test_bytes_that_are_no_text_are_skipped(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'{"session_id": "\xff\xfe", "calls": []}\n\x00\x01\n' + json.dumps(SESSION).encode()
    )
    sessions, skipped = read(path)
    assert [s.session_id for s in sessions] == ["one"]
    assert [each.line for each in skipped] == [1, 2]


def test_a_gzip_file_cut_at_any_byte_gives_whole_sessions_and_one_reason(tmp_path):
    whole = gzip.compress(b"".join(json.dumps(SESSION).encode() + b"\n" for _ in range(3)))
    path = tmp_path / "t.jsonl.gz"
    for n in range(3, len(whole)):
        path.write_bytes(whole[:n])
        sessions, skipped = read(path)
        assert len(sessions) <= 3
        assert skipped
        assert all(s == sessions[0] for s in sessions)


def test_a_gzip_file_with_any_byte_changed_never_raises(tmp_path):
    whole = bytearray(gzip.compress(json.dumps(SESSION).encode() + b"\n"))
    path = tmp_path / "t.jsonl.gz"
    for n in range(2, len(whole)):
        whole[n] ^= 0x55
        path.write_bytes(whole)
        sessions, skipped = read(path)
        assert sessions or skipped
        whole[n] ^= 0x55


def test_our_own_recording_gives_issue_outputs_and_replies():
    (session,), skipped = read(EVENTS / "word_count.jsonl")
    assert skipped == []
    assert (session.session_id, session.kind, session.repo) == (
        ("38f13e28", "recording", "word-count")
    )
    assert [call.role for call in session.calls] == ["planner", "coder", "executor"]
    assert [m.role for m in session.calls[0].prompt] == ["user", "tool"]
    assert session.calls[0].prompt[0].content.startswith("# The same word is counted twice")
    assert session.calls[0].output.startswith('{"steps"')
    assert session.calls[1].prompt == ()


def test_recordings_one_behind_another_are_sessions_of_their_own(tmp_path):
    both = (EVENTS / "fixed.jsonl").read_bytes() + (EVENTS / "word_count.jsonl").read_bytes()
    (tmp_path / "two.jsonl").write_bytes(both)
    sessions, skipped = read(tmp_path / "two.jsonl")
    assert skipped == []
    assert [s.session_id for s in sessions] == ["recorded", "38f13e28"]


def test_a_recording_without_a_reply_is_named_as_such(tmp_path):
    started = (EVENTS / "word_count.jsonl").read_text(encoding="utf-8").splitlines()[:3]
    path = lines(tmp_path / "r.jsonl", *started)
    assert read(path) == ([], [Skipped(str(path), 0, "a recording without a reply")])


def test_folders_stand_for_their_traces(tmp_path):
    for name in ("b.jsonl", "a.jsonl.gz", "notes.txt"):
        lines(tmp_path / name, SESSION)
    assert [path.name for path in trace_files([tmp_path])] == ["a.jsonl.gz", "b.jsonl"]
    assert len(list(read_all([tmp_path, tmp_path / "b.jsonl"]))) == 3


@pytest.mark.parametrize("name", ["none.jsonl", "empty", "blank.jsonl", "bad.jsonl"])
def test_no_session_at_all_is_an_error(tmp_path, name):
    (tmp_path / "empty").mkdir()
    lines(tmp_path / "blank.jsonl", "")
    lines(tmp_path / "bad.jsonl", "{}")
    with pytest.raises(UsageError) as caught:
        list(read_all([tmp_path / name]))
    assert caught.value.hint


def test_what_is_skipped_does_not_stop_the_other_files(tmp_path):
    bad, good = lines(tmp_path / "a.jsonl", "{}"), lines(tmp_path / "b.jsonl", SESSION)
    skipped = []
    assert [path for path, _ in read_all([bad, good], skipped)] == [good]
    assert [each.file for each in skipped] == [str(bad)]
