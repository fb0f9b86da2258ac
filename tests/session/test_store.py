import contextlib
import os
import sqlite3
import stat
import threading
import time

import msgspec
import pytest

from agspec_tui.errors import StoreError
from agspec_tui.events import Event, TaskFinished, TaskSubmitted, Warned
from agspec_tui.forms.types import FileChange
from agspec_tui.session.keeper import SessionKeeper
from agspec_tui.session.store import APPLICATION_ID, Meta, SessionStore
from agspec_tui.session.store_lock import StoreLock, is_locked
from agspec_tui.session.stored import delete_session, find_session, list_sessions, read_session
from agspec_tui.session.storing import read_earlier
from agspec_tui.session.undo import UndoLog

EVENTS = [
    TaskSubmitted(text="total() is wrong\nreally", seq=1),
    Warned(message="beware", hint="", seq=2),
    TaskFinished(status="fixed", summary="done", diff="", wall_s=1.0, seq=3),
]


def meta(name="abcd", repo="/repo"):
    return Meta(
        session_id=name, repo=str(repo), model="m", test_command="", settings="{}", started_s=1.0
    )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data" / "sessions"


def stored(folder, name="abcd", events=EVENTS):
    store = SessionStore.create(folder / f"{name}.db", meta(name))
    store.append(events)
    store.close()
    return folder / f"{name}.db"


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_what_is_stored_reads_back(folder):
    content = read_session(stored(folder))
    assert content.events == EVENTS
    assert content.meta == meta()
    assert content.notes == []


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_nobody_else_can_read_a_session(folder, mask):
    old = os.umask(mask)
    try:
        store = SessionStore.create(folder / "abcd.db", meta())
        store.append(EVENTS)
        lock = StoreLock.take(folder / "abcd.db")
        assert set(modes(folder)) == {"abcd.db", "abcd.db-wal", "abcd.db-shm", "abcd.lock"}
        assert set(modes(folder).values()) == {0o600}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        lock.release()
        store.close()
    finally:
        os.umask(old)


def test_a_folder_that_others_could_read_is_closed_to_them(folder):
    folder.mkdir(parents=True, mode=0o755)
    stored(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_list_says_how_the_last_task_ended(folder):
    stored(folder, "aaaa")
    stored(folder, "bbbb", EVENTS[:2])
    rows = {one.session_id: one for one in list_sessions(folder)}
    assert rows["aaaa"].status == "fixed"
    assert rows["bbbb"].status == "interrupted"
    assert rows["aaaa"].title == "total() is wrong"
    assert list_sessions(folder / "missing") == []


def damaged(name, folder):
    """A file that is no session any more."""
    path = stored(folder, "dead")
    size = path.stat().st_size
    match name:
        case "R02 empty":
            path.write_bytes(b"")
        case "R01 zeros":
            path.write_bytes(bytes(size))
        case "R01 zeros in the middle":
            data = bytearray(path.read_bytes())
            data[4096:] = bytes(size - 4096)
            path.write_bytes(data)
        case "R03 torn tail":
            path.write_bytes(path.read_bytes()[: size - 5000])
        case "foreign text":
            path.write_bytes(b'{"not": "a database"}\n')
        case "foreign database":
            path.unlink()
            other = sqlite3.connect(path)
            other.execute("CREATE TABLE theirs (x)")
            other.commit()
            other.close()
        case "newer version":
            other = sqlite3.connect(path)
            other.execute("PRAGMA user_version = 99")
            other.commit()
            other.close()
        case "unreadable":
            path.unlink()
            path.mkdir()
    return path


DAMAGE = [
    "R02 empty", "R01 zeros", "R01 zeros in the middle", "R03 torn tail", "foreign text",
    "foreign database", "newer version",
]  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_session_is_named_and_the_others_stay_usable(name, folder):
    path = damaged(name, folder)
    stored(folder, "good")
    rows = {one.session_id: one for one in list_sessions(folder)}
    assert "dead.db" in rows["dead"].fault
    assert rows["good"].fault == ""
    assert read_session(folder / "good.db").events == EVENTS
    with pytest.raises(StoreError, match=r"dead\.db"):
        read_earlier(path)
    delete_session(path)
    assert [one.session_id for one in list_sessions(folder)] == ["good"]


def test_r01_what_can_still_be_read_is_shown_with_a_note(folder):
    path = stored(
        folder,
        events=[*EVENTS, *(Warned(message="x" * 900, hint="", seq=n) for n in range(4, 400))],
    )
    data = bytearray(path.read_bytes())
    half = len(data) // 2 // 4096 * 4096
    data[half:] = bytes(len(data) - half)
    path.write_bytes(data)
    content = read_session(path)
    assert content.events[:3] == EVENTS
    assert 3 < len(content.events) < 399
    assert any("its events" in note for note in content.notes)


def test_r01_an_event_of_another_version_is_left_out_and_counted(folder):
    path = stored(folder)
    other = sqlite3.connect(path)
    other.execute("INSERT INTO events VALUES (9, 'Strange', '{\"kind\": \"Strange\"}')")
    other.execute("UPDATE events SET body = CAST(x'00ff7b' AS TEXT) WHERE seq = 2")
    other.commit()
    other.close()
    content = read_session(path)
    assert content.events == [EVENTS[0], EVENTS[2]]
    assert content.notes == ["2 events cannot be read and are left out"]


def test_r03_a_log_that_was_torn_off_loses_its_tail_only(folder):
    folder.mkdir(parents=True)
    store = SessionStore.create(folder / "live.db", meta("live"))
    store.append(EVENTS[:1])
    for n in range(2, 40):
        store.append([Warned(message="y" * 400, hint="", seq=n)])
    for end in ("", "-wal"):
        (folder / f"torn.db{end}").write_bytes((folder / f"live.db{end}").read_bytes())
    store.close()
    log = folder / "torn.db-wal"
    log.write_bytes(log.read_bytes()[:-3000])
    again = SessionStore.open(folder / "torn.db", writing=True)
    last = max(seq for seq, _ in again.bodies())
    assert 1 < last < 39
    again.append([Warned(message="after", hint="", seq=last + 1)])
    again.close()
    events = read_session(folder / "torn.db").events
    assert [one.seq for one in events] == list(range(1, last + 2))
    assert events[-1].message == "after"


def test_a_session_is_found_by_the_beginning_of_its_name(folder):
    stored(folder, "abcd")
    stored(folder, "abff")
    assert find_session(folder, "abc").stem == "abcd"
    for wrong in ("ab", "zz", "", "../abcd", "*"):
        with pytest.raises(StoreError):
            find_session(folder, wrong)


def test_an_open_session_is_neither_deleted_nor_opened_twice(folder):
    path = stored(folder)
    lock = StoreLock.take(path)
    assert is_locked(path)
    assert StoreLock.take(path) is None
    assert list_sessions(folder)[0].status == "open"
    with pytest.raises(StoreError, match="open in another program"):
        delete_session(path)
    lock.release()
    assert not is_locked(path)
    delete_session(path)
    assert list(folder.iterdir()) == []


def flushed(keeper):
    with keeper._lock:
        return keeper._flush(now=True)


def keeper(folder, complain):
    return SessionKeeper(folder / "abcd.db", meta(), complain)


def test_a_session_without_a_task_leaves_no_file(folder):
    one = keeper(folder, print)
    one.take(Warned(message="hello", hint="", seq=1))
    one.close()
    assert not folder.exists()


def test_events_are_stored_while_the_session_runs(folder):
    one = keeper(folder, print)
    for event in EVENTS[:2]:
        one.take(event)
    limit = time.monotonic() + 10
    events = []
    while time.monotonic() < limit and len(events) < 2:
        time.sleep(0.02)
        with contextlib.suppress(StoreError):  # not there yet
            events = read_session(folder / "abcd.db").events
    assert read_session(folder / "abcd.db").events == EVENTS[:2]
    one.close()


def test_taking_an_event_never_waits_for_the_disk(folder):
    one = keeper(folder, print)
    one.take(EVENTS[0])
    one._lock.acquire()  # as if the disk did not answer
    try:
        began = time.monotonic()
        for n in range(2, 5000):
            one.take(Warned(message="x", hint="", seq=n))
        assert time.monotonic() - began < 1.0
    finally:
        one._lock.release()
    one.close()
    assert len(read_session(folder / "abcd.db").events) == 4999


def test_r02_a_full_disk_is_said_once_and_the_work_goes_on(folder):
    said = []
    one = keeper(folder, said.append)
    one.take(EVENTS[0])
    one.take(EVENTS[1])
    assert flushed(one)
    one._store._connection.execute("PRAGMA max_page_count = 1")
    repo = folder.parent / "repo"
    repo.mkdir()
    (repo / "a.py").write_bytes(b"old\n")
    log = UndoLog(repo, one)
    log.write((FileChange("a.py", b"old\n", b"new\n" + os.urandom(200_000)),))
    one.take(Warned(message="z" * 100_000, hint="", seq=3))
    assert not flushed(one)
    assert said == ["database or disk is full"]
    assert log.restore().files == ("a.py",)
    assert (repo / "a.py").read_bytes() == b"old\n"
    one._store._connection.execute("PRAGMA max_page_count = 100000")  # room again
    one.close()
    events = read_session(folder / "abcd.db").events
    assert [event.seq for event in events] == [1, 2, 3]


def test_half_a_character_in_an_event_stops_neither_the_others_nor_undo(folder, tmp_path):
    said = []
    one = keeper(folder, said.append)
    one.take(EVENTS[0])
    one.take(Warned(message="ü\udcff", hint="", seq=2))
    (tmp_path / "a.py").write_bytes(b"old\n")
    UndoLog(tmp_path, one).write((FileChange("a.py", b"old\n", b"new\n"),))
    one.take(EVENTS[2])
    one.close()
    content = read_session(folder / "abcd.db")
    assert content.events == [EVENTS[0], Warned(message="ü?", hint="", seq=2), EVENTS[2]]
    assert [edit.path for edit in content.edits] == ["a.py"]
    assert said == []


def test_a_file_that_another_program_has_is_not_written_until_it_is_free(folder):
    said = []
    other = StoreLock.take(folder / "abcd.db")
    one = keeper(folder, said.append)
    one.take(EVENTS[0])
    assert not flushed(one)
    assert not (folder / "abcd.db").exists()
    assert said == ["another program has its file"]
    other.release()
    assert flushed(one)
    assert is_locked(folder / "abcd.db")
    one.close()
    assert read_session(folder / "abcd.db").events == EVENTS[:1]


def test_r02_a_session_that_is_given_up_keeps_no_thread(folder):
    folder.parent.mkdir()
    folder.write_text("a file is in the way")
    one = keeper(folder, lambda reason: None)
    for seq in range(1, 50_002):
        one.take(TaskSubmitted(text="x", seq=seq))
    assert not flushed(one)
    one._thread.join(10)
    assert not one._thread.is_alive()
    one.close()


def test_r02_a_folder_that_cannot_be_made_is_said_once(folder):
    folder.parent.mkdir()
    folder.write_text("a file is in the way")
    said = []
    one = keeper(folder, said.append)
    for event in EVENTS:
        one.take(event)
    one.close()
    assert len(said) == 1
    assert folder.read_text() == "a file is in the way"


def test_every_edit_is_kept_with_the_bytes_before_and_after(folder, tmp_path):
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "a.py").write_bytes(b"old\r\n\xff")
    one = keeper(folder, print)
    log = UndoLog(repo, one)
    log.begin(3)
    log.write((FileChange("a.py", b"old\r\n\xff", b"new\n"), FileChange("b.py", None, b"b\n")))
    log.restore()
    one.close()
    rows = [
        (edit.kind, edit.turn, edit.path, edit.before, edit.after)
        for edit in read_session(folder / "abcd.db").edits
    ]
    assert rows == [
        ("write", 3, "a.py", b"old\r\n\xff", b"new\n"),
        ("write", 3, "b.py", None, b"b\n"),
        ("undo", 3, "a.py", b"new\n", b"old\r\n\xff"),
        ("undo", 3, "b.py", b"b\n", None),
    ]


def test_a_store_can_be_used_from_several_threads(folder):
    store = SessionStore.create(folder / "abcd.db", meta())

    def append(first):
        for n in range(first, 200, 4):
            store.append([Warned(message=str(n), hint="", seq=n + 1)])

    threads = [threading.Thread(target=append, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert [one.seq for one in read_session(folder / "abcd.db").events] == list(range(1, 201))


def test_the_file_says_whose_it_is(folder):
    other = sqlite3.connect(stored(folder))
    assert other.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    body = other.execute("SELECT body FROM events WHERE seq = 1").fetchone()[0]
    assert msgspec.json.decode(body, type=Event) == EVENTS[0]
    other.close()
