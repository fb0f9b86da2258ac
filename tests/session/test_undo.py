import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.errors import EditError
from agspec_tui.forms.types import FileChange
from agspec_tui.session.files import snapshot_read
from agspec_tui.session.undo import Restored, UndoLog


@pytest.fixture
def repo(tmp_path):
    root = (tmp_path / "repo").resolve()
    root.mkdir()
    (root / "a.py").write_bytes(b"a0\n")
    (root / "b.py").write_bytes(b"b0\n")
    return root


@pytest.fixture
def log(repo):
    return UndoLog(repo)


def tree(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else "folder"
        for path in sorted(root.rglob("*"))
    }


def test_a_restore_undoes_the_whole_turn_and_nothing_else(repo, log):
    present = tree(repo)
    log.begin()
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    log.write((FileChange("a.py", b"a1\n", b"a2\n"), FileChange("new/deep/c.py", None, b"c")))
    (repo / "users.py").write_bytes(b"mine\n")
    assert log.restore() == Restored(("a.py", "new/deep/c.py"), ())
    assert tree(repo) == {**present, "users.py": b"mine\n"}
    assert log.n_turns == 0


def test_a_folder_the_agent_made_stays_if_the_user_put_something_in(repo, log):
    log.write((FileChange("new/c.py", None, b"c"),))
    (repo / "new/users.py").write_bytes(b"mine\n")
    assert log.restore().files == ("new/c.py",)
    assert tree(repo / "new") == {"users.py": b"mine\n"}


def test_a_deleted_file_comes_back_with_its_mode(repo, log):
    (repo / "a.py").chmod(0o750)
    log.write((FileChange("a.py", b"a0\n", None),))
    log.restore()
    assert (repo / "a.py").read_bytes() == b"a0\n"
    assert stat.S_IMODE((repo / "a.py").stat().st_mode) == 0o750


def test_turns_are_restored_one_by_one_from_the_last(repo, log):
    for old, new in ((b"a0\n", b"a1\n"), (b"a1\n", b"a2\n")):
        log.begin()
        log.write((FileChange("a.py", old, new),))
    assert log.n_turns == 2
    log.restore()
    assert (repo / "a.py").read_bytes() == b"a1\n"
    log.restore()
    assert (repo / "a.py").read_bytes() == b"a0\n"
    assert log.restore() == Restored((), ())


def test_all_turns_can_be_restored_at_once(repo, log):
    present = tree(repo)
    log.begin()
    log.write((FileChange("a.py", b"a0\n", b"a1\n"), FileChange("new/c.py", None, b"c1")))
    log.begin()
    log.write((FileChange("a.py", b"a1\n", b"a2\n"), FileChange("b.py", b"b0\n", None)))
    log.begin()
    log.write((FileChange("new/c.py", b"c1", None),))
    assert log.restore_all() == Restored(("a.py", "b.py", "new/c.py"), ())
    assert tree(repo) == present


def test_a_turn_without_writes_is_no_turn(repo, log):
    log.begin()
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    log.begin()
    log.begin()
    log.write((FileChange("a.py", b"a1\n", b"a1\n"),))
    assert log.n_turns == 1
    log.restore()
    assert (repo / "a.py").read_bytes() == b"a0\n"


@pytest.mark.parametrize("theirs", [b"a1\nmine\n", None], ids=["changed", "deleted"])
def test_what_the_user_changed_meanwhile_is_left_alone_and_named(repo, log, theirs):
    log.write((FileChange("a.py", b"a0\n", b"a1\n"), FileChange("b.py", b"b0\n", b"b1\n")))
    (repo / "a.py").unlink()
    if theirs is not None:
        (repo / "a.py").write_bytes(theirs)
    result = log.restore()
    assert result == Restored(("b.py",), ("a.py",))
    assert "a.py" in result.message()
    assert (repo / "b.py").read_bytes() == b"b0\n"
    assert (repo / "a.py").exists() is (theirs is not None)
    assert log.n_turns == 1


def test_a_file_the_agent_created_and_the_user_went_on_with_is_not_deleted(repo, log):
    log.write((FileChange("new/c.py", None, b"c"),))
    (repo / "new/c.py").write_bytes(b"c and mine")
    assert log.restore() == Restored((), ("new/c.py",))
    assert (repo / "new/c.py").read_bytes() == b"c and mine"


def test_a_conflict_can_be_forced_and_the_users_version_brought_back(repo, log):
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    (repo / "a.py").write_bytes(b"mine\n")
    assert log.restore().conflicts == ("a.py",)
    assert log.restore(force=True) == Restored(("a.py",), ())
    assert (repo / "a.py").read_bytes() == b"a0\n"
    assert log.redo() == Restored(("a.py",), ())
    assert (repo / "a.py").read_bytes() == b"mine\n"


def test_a_restore_can_be_taken_back_and_made_again(repo, log):
    log.write(
        (
            FileChange("a.py", b"a0\n", b"a1\n"),
            FileChange("b.py", b"b0\n", None),
            FileChange("new/c.py", None, b"c"),
        )
    )
    written = tree(repo)
    log.restore()
    restored = tree(repo)
    for _ in range(2):
        assert log.redo() == Restored(("a.py", "b.py", "new/c.py"), ())
        assert tree(repo) == written
        assert log.restore() == Restored(("a.py", "b.py", "new/c.py"), ())
        assert tree(repo) == restored
    assert "new" not in restored


def test_a_redo_leaves_alone_what_the_user_changed_after_the_restore(repo, log):
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    log.restore()
    (repo / "a.py").write_bytes(b"mine\n")
    assert log.redo() == Restored((), ("a.py",))
    assert (repo / "a.py").read_bytes() == b"mine\n"


def test_a_new_write_ends_what_can_be_brought_back(repo, log):
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    log.restore()
    log.write((FileChange("a.py", b"a0\n", b"a2\n"),))
    assert log.redo() == Restored((), ())
    assert (repo / "a.py").read_bytes() == b"a2\n"


@pytest.mark.parametrize("new_turn", [True, False], ids=["next turn", "same turn"])
def test_an_undo_of_everything_stops_at_the_users_version(repo, log, new_turn):
    log.begin()
    log.write((FileChange("a.py", b"a0\n", b"a1\n"), FileChange("b.py", b"b0\n", b"b1\n")))
    (repo / "a.py").write_bytes(b"a1\nmine\n")
    if new_turn:
        log.begin()
    log.write((FileChange("a.py", b"a1\nmine\n", b"a2\nmine\n"),))
    assert log.restore_all() == Restored(("a.py", "b.py"), ("a.py",))
    assert (repo / "a.py").read_bytes() == b"a1\nmine\n"
    assert (repo / "b.py").read_bytes() == b"b0\n"


def test_a_refused_write_leaves_the_log_as_it_was(repo, log):
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    with pytest.raises(EditError):
        log.write((FileChange("b.py", b"not what is there\n", b"b1\n"),))
    log.restore()
    assert tree(repo) == {"a.py": b"a0\n", "b.py": b"b0\n"}


def test_a_file_that_has_become_ignored_is_restored_all_the_same(repo, log):
    log.write((FileChange("build.py", None, b"x"), FileChange("a.py", b"a0\n", b"a1\n")))
    (repo / "build").mkdir()
    (repo / ".git").mkdir()
    (repo / ".gitignore").write_bytes(b"*.py\n")
    assert log.restore().conflicts == ()
    assert not (repo / "build.py").exists()
    assert (repo / "a.py").read_bytes() == b"a0\n"


def test_a_link_that_leads_outside_since_is_a_conflict(repo, log):
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    (repo.parent / "outside.py").write_bytes(b"a1\n")
    (repo / "a.py").unlink()
    (repo / "a.py").symlink_to("../outside.py")
    assert log.restore() == Restored((), ("a.py",))
    assert (repo.parent / "outside.py").read_bytes() == b"a1\n"


def test_u02_no_version_control_and_no_identity_is_needed(repo, log, monkeypatch):
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(repo.parent))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    subprocess.run(["git", "init", "-q", repo], check=True)
    (repo / "untracked.py").write_bytes(b"theirs\n")
    git = tree(repo / ".git")
    log.write((FileChange("a.py", b"a0\n", b"a1\n"), FileChange("c.py", None, b"c")))
    assert log.restore() == Restored(("a.py", "c.py"), ())
    assert (repo / "untracked.py").read_bytes() == b"theirs\n"
    assert tree(repo / ".git") == git


def test_u03_a_restore_saves_the_present_state_and_can_itself_be_undone(repo, log):
    log.write((FileChange("a.py", b"a0\n", b"a1\n"), FileChange("b.py", b"b0\n", None)))
    (repo / "a.py").write_bytes(b"mine\n")
    present = tree(repo)
    log.restore(force=True)
    assert tree(repo) == {"a.py": b"a0\n", "b.py": b"b0\n"}
    log.redo()
    assert tree(repo) == present


def test_u04_files_that_the_agent_created_go_and_no_others(repo, log):
    (repo / "empty").mkdir()
    (repo / "empty" / "inner").mkdir()
    (repo / "theirs.py").write_bytes(b"theirs")
    present = tree(repo)
    log.write((FileChange("new.py", None, b"x"), FileChange("empty/inner/c.py", None, b"c")))
    (repo / "later.py").write_bytes(b"later")
    assert log.restore() == Restored(("empty/inner/c.py", "new.py"), ())
    assert tree(repo) == {**present, "later.py": b"later"}


def test_u05_an_undo_covers_the_turn_and_not_the_last_write(repo, log):
    log.begin(1)
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    log.begin(2)
    for number in range(1, 4):
        log.write((FileChange("a.py", b"a%d\n" % number, b"a%d\n" % (number + 1)),))
    log.write((FileChange("b.py", b"b0\n", b"b1\n"),))
    assert log.restore() == Restored(("a.py", "b.py"), (), turn=2)
    assert tree(repo) == {"a.py": b"a1\n", "b.py": b"b0\n"}


def test_s02_the_agents_own_second_write_is_no_change_from_outside(repo, log):
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    log.write((FileChange("a.py", b"a1\n", b"a2\n"),))
    log.begin()
    log.write((FileChange("a.py", b"a2\n", b"a3\n"),))
    assert log.restore_all() == Restored(("a.py",), ())
    assert (repo / "a.py").read_bytes() == b"a0\n"


def test_modes_and_links_are_kept_by_undo_and_redo(repo, log):
    (repo / "a.py").chmod(0o750)
    (repo / "link.py").symlink_to("a.py")
    log.write((FileChange("link.py", b"a0\n", b"a1\n"),))
    for step in (log.restore, log.redo, log.restore):
        assert step().files == ("link.py",)
        assert (repo / "link.py").is_symlink()
        assert stat.S_IMODE((repo / "a.py").stat().st_mode) == 0o750
    assert (repo / "a.py").read_bytes() == b"a0\n"


def test_a_turn_of_which_only_conflicts_are_left_does_not_hide_the_one_before(repo, log):
    log.begin(1)
    log.write((FileChange("b.py", b"b0\n", b"b1\n"),))
    log.begin(2)
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    (repo / "a.py").write_bytes(b"mine\n")
    assert log.restore() == Restored(("b.py",), ("a.py",), turn=1)
    assert tree(repo) == {"a.py": b"mine\n", "b.py": b"b0\n"}


def test_what_the_user_has_put_back_already_is_no_conflict(repo, log):
    log.begin(1)
    log.write((FileChange("b.py", b"b0\n", b"b1\n"),))
    log.begin(2)
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    (repo / "a.py").write_bytes(b"a0\n")
    assert log.restore() == Restored(("b.py",), (), turn=1)
    assert log.n_turns == 0


def test_a_later_task_takes_back_its_own_turns_only(repo, log):
    log.begin(1)
    log.write((FileChange("a.py", b"a0\n", b"a1\n"),))
    for number in (1, 2):
        log.begin(number + 1)
        log.write((FileChange("b.py", b"b%d\n" % (number - 1), b"b%d\n" % number),))
    assert log.restore_since(1).files == ("b.py",)
    assert tree(repo) == {"a.py": b"a1\n", "b.py": b"b0\n"}
    assert log.restore_since(1) == Restored((), ())
    assert log.restore().files == ("a.py",)


PATHS = ("a.py", "b.py", "new/c.py")
STEPS = st.lists(
    st.one_of(
        st.just(("turn", "", None)),
        st.tuples(
            st.sampled_from(["agent", "user"]),
            st.sampled_from(PATHS),
            st.sampled_from([None, b"x", b"y", b"z"]),
        ),
    ),
    max_size=14,
)


@settings(max_examples=80, deadline=None)
@given(steps=STEPS)
def test_an_undo_of_everything_brings_back_what_the_user_had_last(steps):
    with tempfile.TemporaryDirectory() as name:
        repo = Path(name).resolve()
        theirs = {"a.py": b"a0\n", "b.py": b"b0\n", "new/c.py": None}  # what undo comes back to
        for path in ("a.py", "b.py"):
            (repo / path).write_bytes(theirs[path])
        agents = dict.fromkeys(PATHS, b"not written yet")
        log = UndoLog(repo)
        for who, path, data in steps:
            if who == "turn":
                log.begin()
                continue
            now = snapshot_read(repo, path)
            if now == data:
                continue
            if who == "agent":
                if now != agents[path]:
                    theirs[path] = now
                log.write((FileChange(path, now, data),))
                agents[path] = data
            elif data is None:
                (repo / path).unlink()
            else:
                (repo / path).parent.mkdir(exist_ok=True)
                (repo / path).write_bytes(data)
        present = {path: snapshot_read(repo, path) for path in PATHS}
        restored = log.restore_all()
        for path in PATHS:
            untouched = present[path] == agents[path]
            assert snapshot_read(repo, path) == (theirs[path] if untouched else present[path])
            assert untouched or path not in restored.files
        log.redo()
        assert {path: snapshot_read(repo, path) for path in PATHS} == present
        assert not list(repo.rglob(".agspec-*"))
