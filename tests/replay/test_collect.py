import os

import numpy as np
import pytest

from agspec_tui.replay.collect import collect
from agspec_tui.replay.traces import TraceCall, TraceMessage, TraceSession


def session(name, *calls, task=None, started_at=None):
    made = tuple(
        TraceCall(prompt=tuple(TraceMessage("user", text) for text in prompt), output=output)
        for prompt, output in calls
    )
    return TraceSession(session_id=name, calls=made, task=task, started_at=started_at)


@pytest.fixture
def take(tmp_path):
    (tmp_path / "t.jsonl").touch()

    def take(*sessions, max_tokens=1000, **more):
        entries = [(tmp_path / "t.jsonl", each) for each in sessions]
        return collect(entries, tokenize, max_tokens, **more)

    return take


def tokenize(text):
    return np.array([ord(letter) for letter in text], dtype=np.int32)


def shown(found):
    return [(name, "".join(map(chr, ids))) for name, ids in found.documents]


def test_messages_are_documents_with_a_name_in_the_order_they_were_said(take):
    found = take(session("s", (["ask"], "say"), (["more", ""], "")))
    assert shown(found) == [
        ("s call 1 user", "ask"),
        ("s call 1 agent", "say"),
        ("s call 2 user", "more"),
    ]
    assert found.n_tokens == 3 + 3 + 4 + 3
    assert not found.is_full


def test_a_text_is_taken_once_and_from_the_newest_session(take):
    found = take(session("old", (["system", "a"], "x")), session("new", (["system", "b"], "a")))
    assert shown(found) == [
        ("old call 1 agent", "x"),
        ("new call 1 user", "system"),
        ("new call 1 user", "b"),
        ("new call 1 agent", "a"),
    ]
    assert found.n_repeated == 2


def test_the_newest_come_first_and_the_oldest_message_is_cut_to_fit(take):
    found = take(
        session("b", (["abcdef"], "gh"), started_at="2024-08-06 08:47:10"),
        session("a", ([], "vanished"), started_at="2024-08-05T23:59:59+00:00"),
        max_tokens=7,
    )
    assert shown(found) == [("b call 1 user", "def"), ("b call 1 agent", "gh")]
    assert (found.n_tokens, found.is_full) == (7, True)


def test_a_session_without_a_date_is_as_old_as_its_file(tmp_path):
    files = [tmp_path / name for name in "ab"]
    for file, age in zip(files, (2_000_000_000, 1_000_000_000), strict=True):
        file.touch()
        os.utime(file, (age, age))
    undated = [session("a", ([], "x")), session("b", ([], "y"))]
    dated = session("c", ([], "z"), started_at="2024-01-01")
    gone = session("d", ([], "w"), started_at="no date")
    entries = [*zip(files, undated, strict=True), (files[0], dated), (tmp_path / "gone", gone)]
    assert [text for _, text in shown(collect(entries, tokenize, 99))] == ["w", "y", "z", "x"]


def test_outputs_only_leaves_the_prompts_out(take):
    found = take(session("s", (["ask"], "say"), (["more"], "")), outputs_only=True)
    assert shown(found) == [("s call 1 agent", "say")]


def test_excluded_tasks_are_left_out(take):
    found = take(
        session("s", ([], "x"), task="t1"),
        session("u", ([], "y"), task="t2"),
        session("v", ([], "z")),
        excluded_tasks={"t1"},
    )
    assert [text for _, text in shown(found)] == ["y", "z"]
    assert (found.n_excluded, found.n_sessions) == (1, 2)


def test_progress_counts_down_to_no_session(take):
    seen = []
    take(session("s", ([], "x")), session("u", ([], "y")), progress=lambda *at: seen.append(at))
    assert seen == [(2, 1), (4, 0)]
