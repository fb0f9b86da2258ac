import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from agspec_tui.errors import UsageError
from agspec_tui.replay.read import (
    REPEATED,
    ReadOptions,
    ReadReport,
    load,
    prepare,
    read_sessions,
)
from agspec_tui.replay.token_cache import TokenCache
from agspec_tui.replay.tokens import TokenisedSession
from tests.replay.words import Words


def call(output: str, **fields: object) -> dict[str, object]:
    return {"prompt": [{"role": "user", "content": "do it"}], "output": output, **fields}


def session(name: str, *calls: dict[str, object], **fields: object) -> dict[str, object]:
    return {"session_id": name, "calls": list(calls or [call("done")]), **fields}


def write(path: Path, *sessions: dict[str, object]) -> Path:
    path.write_bytes(gzip.compress(b"".join(json.dumps(s).encode() + b"\n" for s in sessions)))
    return path


def equal(a: TokenisedSession, b: TokenisedSession) -> bool:
    if a.calls == () or len(a.calls) != len(b.calls):
        return False
    return all(
        x.pieces == y.pieces
        and np.array_equal(x.output, y.output)
        and (x.role, x.agent_id, x.turn) == (y.role, y.agent_id, y.turn)
        for x, y in zip(a.calls, b.calls, strict=True)
    )


def test_the_second_time_nothing_is_tokenised(tmp_path):
    path = write(tmp_path / "src.jsonl.gz", session("a", task="t"), session("b"))
    cache, words, report = TokenCache(tmp_path / "cache"), Words(), ReadReport()
    first = list(read_sessions([path], words, cache))
    n_texts = words.n_texts
    assert n_texts
    again = list(read_sessions([path], words, cache, report=report))
    assert words.n_texts == n_texts
    assert report.n_cached == 2
    assert all(equal(a, b) for a, b in zip(first, again, strict=True))
    assert [s.source for s in again] == ["src", "src"]


def test_a_damaged_entry_is_made_again(tmp_path):
    path = write(tmp_path / "src.jsonl.gz", session("a"))
    cache = TokenCache(tmp_path / "cache")
    [entry] = prepare([path], Words(), cache)
    cache.path(entry.key).write_bytes(b"rubbish")
    words = Words()
    [found] = read_sessions([path], words, cache)
    assert words.n_texts
    assert equal(found, load(cache, entry))


def test_entries_are_loaded_without_a_tokenizer(tmp_path):
    path = write(tmp_path / "src.jsonl.gz", session("a", task="t"))
    cache = TokenCache(tmp_path / "cache")
    [entry] = prepare([path], Words(), cache)
    [found] = read_sessions([path], Words())
    assert (entry.session_id, entry.source, entry.task) == ("a", "src", "t")
    assert (entry.n_prompt, entry.n_output) == (found.n_prompt, found.n_output)
    assert equal(load(cache, entry), found)
    cache.path(entry.key).unlink()
    with pytest.raises(UsageError, match="a is gone"):
        load(cache, entry)


def test_a_cache_that_cannot_be_written_is_said(tmp_path):
    path = write(tmp_path / "src.jsonl.gz", session("a"))
    (tmp_path / "file").write_text("x")
    cache = TokenCache(tmp_path / "file" / "cache")
    assert len(list(read_sessions([path], Words(), cache))) == 1
    with pytest.raises(UsageError, match="cannot be kept"):
        list(prepare([path], Words(), cache))


def test_further_samples_are_left_out_and_counted(tmp_path):
    calls = [call("zero", sample=0), call("one", sample=1), call("only"), call("two", sample=2)]
    path = write(tmp_path / "src.jsonl.gz", session("a", *calls))
    report = ReadReport()
    [found] = read_sessions([path], Words(), report=report)
    assert len(found.calls) == 2
    assert report.n_samples_left_out == Counter(src=2)
    assert report.n_calls == Counter(src=2)
    [found] = read_sessions([path], Words(), options=ReadOptions(more_samples=True))
    assert len(found.calls) == 4


def test_sessions_that_repeat_themselves_are_left_out_by_name(tmp_path):
    path = write(tmp_path / "h.jsonl.gz", session(REPEATED[0]), session("b"))
    report = ReadReport()
    assert [s.session_id for s in read_sessions([path], Words(), report=report)] == ["b"]
    assert report.left_out == list(REPEATED)
    everything = read_sessions([path], Words(), options=ReadOptions(left_out=()))
    assert len(list(everything)) == 2


def test_unknown_roles_and_fields_are_read_and_named(tmp_path):
    odd = session("a", call("x", role="poet", mood="good"), call("y", role="coder"), colour="red")
    path = write(tmp_path / "src.jsonl.gz", odd, session("b", colour="blue", resolved=True))
    report = ReadReport()
    found = list(read_sessions([path], Words(), report=report))
    assert [c.role for c in found[0].calls] == ["poet", "coder"]
    assert report.unknown_roles == Counter(poet=1)
    assert report.unknown_fields == Counter({"colour": 2, "calls[].mood": 1})


@pytest.mark.parametrize("calls", [[], [call("")]])
def test_a_session_without_an_output_is_skipped_by_name(tmp_path, calls):
    empty = {"session_id": "empty", "calls": calls}
    path = write(tmp_path / "src.jsonl.gz", empty, session("b"))
    report = ReadReport()
    assert [s.session_id for s in read_sessions([path], Words(), report=report)] == ["b"]
    assert [skip.reason for skip in report.skipped] == ["empty: no model call"]
    path = write(tmp_path / "src.jsonl.gz", empty)
    with pytest.raises(UsageError, match="no session is left"):
        list(read_sessions([path], Words()))


def broken_gzip(data: bytes) -> bytes:
    return gzip.compress(data)[:-9]


def half_a_line(data: bytes) -> bytes:
    return data[:-20]


@pytest.mark.parametrize("damage", [broken_gzip, half_a_line, lambda data: data + b"\xff{\n"])
def test_what_cannot_be_read_is_skipped_and_the_rest_is_read(tmp_path, damage):
    good = json.dumps(session("good")).encode() + b"\n"
    bad = good + json.dumps(session("bad", call("x" * 5000))).encode() + b"\n"
    (tmp_path / "bad.jsonl").write_bytes(damage(bad))
    write(tmp_path / "fine.jsonl.gz", session("fine"))
    report = ReadReport()
    names = [s.session_id for s in read_sessions([tmp_path], Words(), report=report)]
    assert names[-1] == "fine"
    assert len(report.skipped) == 1
    assert report.skipped[0].reason
    assert sum(report.n_sessions.values()) == len(names)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\x1f\x8bnothing", b"{}\n"])
def test_no_session_at_all_is_an_error(tmp_path, data):
    (tmp_path / "bad.jsonl").write_bytes(data)
    with pytest.raises(UsageError, match="no session"):
        list(read_sessions([tmp_path], Words()))
