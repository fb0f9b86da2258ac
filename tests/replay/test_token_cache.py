import os
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest

from agspec_tui.replay.token_cache import TokenCache, key_of
from agspec_tui.replay.tokens import tokenise
from agspec_tui.replay.traces import TraceCall, TraceMessage, TraceSession
from tests.replay.words import Words

FILE = TraceMessage("user", "some file\nof two lines\n", file="a.py")
SESSION = TraceSession(
    "s",
    (
        TraceCall(
            prompt=(FILE, TraceMessage("user", "do it")), output="done as said", role="coder"
        ),
        TraceCall(prompt=(), output="", ctx="new", agent_id="b"),
    ),
    edit_format="JSON tool call",
)


def same(a, b) -> bool:
    return a[0] == b[0] and all(np.array_equal(x, y) for x, y in zip(a[1], b[1], strict=True))


def test_what_was_put_in_is_found(tmp_path):
    cache = TokenCache(tmp_path / "deep" / "cache")
    stored = tokenise(SESSION, "file", Words())
    assert cache.get("ab12") is None
    assert cache.put("ab12", *stored)
    found = cache.get("ab12")
    assert same(found, stored)
    assert all(run.dtype == np.int32 for run in found[1])


def test_a_session_without_a_token_is_kept_too(tmp_path):
    cache = TokenCache(tmp_path)
    empty = TraceSession("s", (TraceCall(prompt=(), output=""),))
    stored = tokenise(empty, "file", Words())
    cache.put("ab12", *stored)
    assert same(cache.get("ab12"), stored)
    cache.put("cd34", replace_calls(stored[0]), [])
    assert cache.get("cd34") == (replace_calls(stored[0]), [])


def replace_calls(session):
    return msgspec.structs.replace(session, calls=())


@pytest.mark.parametrize("place", [0, 9, 13, 20, 60, -1])
def test_a_changed_byte_makes_an_entry_void(tmp_path, place):
    cache = TokenCache(tmp_path)
    cache.put("ab12", *tokenise(SESSION, "file", Words()))
    data = bytearray(cache.path("ab12").read_bytes())
    data[place] ^= 1
    cache.path("ab12").write_bytes(data)
    assert cache.get("ab12") is None


@pytest.mark.parametrize("n_bytes", [0, 7, 47, 48, 60, -1])
def test_a_cut_entry_is_void(tmp_path, n_bytes):
    cache = TokenCache(tmp_path)
    cache.put("ab12", *tokenise(SESSION, "file", Words()))
    path = cache.path("ab12")
    path.write_bytes(path.read_bytes()[:n_bytes])
    assert cache.get("ab12") is None
    assert cache.put("ab12", *tokenise(SESSION, "file", Words()))
    assert cache.get("ab12") is not None


@pytest.mark.parametrize(
    "change",
    [
        {"session_id": "other"},
        {"task": "t"},
        {"edit_format": "whole files"},
        {"calls": (*SESSION.calls, TraceCall(prompt=(), output="more"))},
    ],
)
def test_other_content_has_another_key(change):
    key = key_of(SESSION, "file", b"print")
    assert key == key_of(msgspec.structs.replace(SESSION), "file", b"print")
    assert key != key_of(msgspec.structs.replace(SESSION, **change), "file", b"print")
    assert key != key_of(SESSION, "other", b"print")
    assert key != key_of(SESSION, "file", b"other")


def test_several_writers_leave_one_whole_entry_and_nothing_else(tmp_path):
    cache = TokenCache(tmp_path)
    stored = tokenise(SESSION, "file", Words())
    threads = [threading.Thread(target=cache.put, args=("ab12", *stored)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same(cache.get("ab12"), stored)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [cache.path("ab12")]


@pytest.mark.skipif(os.name == "nt", reason="a file in the place of a folder")
def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path):
    (tmp_path / "file").write_text("x")
    cache = TokenCache(tmp_path / "file" / "cache")
    assert not cache.put("ab12", *tokenise(SESSION, "file", Words()))
    assert cache.get("ab12") is None


def test_entries_are_for_their_owner_only(tmp_path: Path):
    cache = TokenCache(tmp_path)
    cache.put("ab12", *tokenise(SESSION, "file", Words()))
    assert cache.path("ab12").stat().st_mode & 0o077 == 0
