import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agspec_tui.session.store import SessionStore
from agspec_tui.session.storing import recover, take_up
from agspec_tui.session.undo import UndoLog
from tests.session import dying

NEW = {"a.py": b"a1\n", "new/deep/c.py": b"c\n", "sub/d.py": b"d1\n", "theirs.py": b"theirs\n"}
OLD = {"a.py": b"a0\n", "b.py": b"b0\n", "sub/d.py": b"d0\n", "theirs.py": b"theirs\n"}
N_RANDOM = 200 if os.environ.get("AGSPEC_HYPOTHESIS") == "nightly" else 8


def files(repo):
    return {
        path.relative_to(repo).as_posix(): path.read_bytes()
        for path in sorted(repo.rglob("*"))
        if path.is_file()
    }


def folders(repo):
    return {path.relative_to(repo).as_posix() for path in repo.rglob("*") if path.is_dir()}


def clean_log(repo, sessions):
    """The undo log of the killed session, once it is resumed."""
    path = sessions / "live.db"
    stacks, _ = take_up(None, path, None)
    return UndoLog(repo, None, stacks)


@pytest.mark.parametrize(
    ("operation", "before", "after"),
    [("write", OLD, NEW), ("undo", NEW, OLD), ("redo", OLD, NEW)],
)
def test_a_kill_at_any_step_leaves_the_files_before_or_after(operation, before, after, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "tests.session.dying", str(tmp_path), operation],
        cwd=Path(__file__).parents[2],
        check=True,
    )
    runs = sorted(tmp_path.iterdir(), key=lambda path: int(path.name))
    assert len(runs) > 10
    ends = []
    for run in runs:
        repo = run / "repo"
        for path, data in files(repo).items():
            assert ".agspec-" in path or data in (OLD.get(path), NEW.get(path))
        log = clean_log(repo, run / "sessions")
        now = files(repo)
        assert now in (before, after), run.name
        assert stat.S_IMODE((repo / "a.py").stat().st_mode) == 0o750
        assert folders(repo) == ({"sub", "new", "new/deep"} if now == NEW else {"sub"})
        ends.append(now == after)
        if now == NEW:
            assert log.restore().files == ("a.py", "b.py", "new/deep/c.py", "sub/d.py")
            assert files(repo) == OLD
            log.redo()
        elif operation != "write":
            log.redo()
        assert files(repo) == (NEW if operation != "write" or now == NEW else OLD)
    assert not ends[0]
    assert ends[-1]
    assert ends == sorted(ends), "once everything is written it stays"


def test_a_person_who_changed_a_file_after_the_kill_keeps_their_version(tmp_path):
    repo = dying.make_repo(tmp_path)
    store = SessionStore.create(tmp_path / "sessions" / "live.db", dying.meta(repo))

    class Dies:
        """Stops the write in the middle, as a kill does: nothing is tidied up behind it."""

        def begin(self, operation, after):
            store.begin(operation, after)
            (repo / "a.py").write_bytes(b"a1\n")
            raise KeyboardInterrupt

        def finish(self, stacks, *, done):
            raise AssertionError

    with pytest.raises(KeyboardInterrupt):
        UndoLog(repo, Dies()).write(dying.WRITE)
    store.close()
    (repo / "sub" / "d.py").write_bytes(b"mine\n")
    _, line = take_up(None, tmp_path / "sessions" / "live.db", None)
    assert line == (
        "a write was cut off; as before it again: a.py; changed since, and left alone: sub/d.py"
    )
    assert files(repo) == {**OLD, "sub/d.py": b"mine\n"}


def test_a_new_session_ends_what_a_killed_one_over_the_repository_left(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "tests.session.dying", str(tmp_path), "write"],
        cwd=Path(__file__).parents[2],
        check=True,
    )
    half = [run for run in tmp_path.iterdir() if files(run / "repo") not in (OLD, NEW)]
    assert half
    said = []
    for run in half:
        (run / "sessions" / "empty.db").write_bytes(b"")
        (run / "sessions" / "empty.db-wal").write_bytes(b"x")
        lines = recover(run / "repo", run / "sessions")
        assert [line for line in lines if "empty" in line]
        said += [line for line in lines if "as before it again" in line]
        assert files(run / "repo") in (OLD, NEW)
        assert not [line for line in recover(run / "repo", run / "sessions") if "live" in line]
    assert said


WRITER = """
import itertools, sys
from pathlib import Path
from agspec_tui.forms.types import FileChange
from agspec_tui.session.store import SessionStore
from agspec_tui.session.undo import UndoLog
from tests.session.dying import meta
repo, sessions = map(Path, sys.argv[1:])
store = SessionStore.create(sessions / "live.db", meta(repo))
log = UndoLog(repo, store)
print("ready", flush=True)
text = lambda name, n: f"{name} {n}\\n".encode() * 200
for n in itertools.count(1):
    log.begin(n)
    log.write([FileChange(f"{name}.py", text(name, n - 1), text(name, n)) for name in "abc"])
    if n % 3 == 0:
        log.restore()
        log.redo()
"""


def test_random_kills_leave_every_file_old_or_new_and_all_of_one_turn(tmp_path):
    rng = random.Random(5)
    numbers = []
    for attempt in range(N_RANDOM):
        repo, sessions = tmp_path / f"{attempt}", tmp_path / f"s{attempt}"
        repo.mkdir()
        for name in "abc":
            (repo / f"{name}.py").write_bytes(f"{name} 0\n".encode() * 200)
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(repo), str(sessions)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
        ) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.25))
            process.send_signal(signal.SIGKILL)
        for path in repo.glob("?.py"):  # before anything is put right
            lines = path.read_bytes().splitlines(keepends=True)
            assert len(lines) == 200
            assert len(set(lines)) == 1
        log = clean_log(repo, sessions)
        turns = {int(path.read_bytes().split()[1]) for path in repo.glob("*.py")}
        assert len(turns) == 1
        assert not list(repo.glob(".agspec-*"))
        numbers += turns
        while log.restore().files:
            pass
        assert {path.read_bytes() for path in repo.iterdir()} == {
            f"{name} 0\n".encode() * 200 for name in "abc"
        }
    assert max(numbers) > 1
