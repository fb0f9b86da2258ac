import errno
import os
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from agspec_tui.errors import EditError, ToolError
from agspec_tui.forms.types import FileChange
from agspec_tui.session.files import snapshot_read, write_changes
from agspec_tui.session.output import left_out


@pytest.fixture
def repo(tmp_path):
    root = (tmp_path / "repo").resolve()
    root.mkdir()
    return root


def tree(root):
    """Every path below with its kind and content."""
    seen = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            seen[name] = f"-> {path.readlink()}"
        else:
            seen[name] = path.read_bytes() if path.is_file() else "folder"
    return seen


def test_changes_creations_and_deletions_are_written_together(repo):
    (repo / "a.py").write_bytes(b"old\r\n")
    (repo / "b.py").write_bytes(b"bye\n")
    written = write_changes(
        repo,
        (
            FileChange("a.py", b"old\r\n", b"new\r\n"),
            FileChange("b.py", b"bye\n", None),
            FileChange("pkg/deep/c.py", None, b"\xef\xbb\xbfhello\xff"),
        ),
    )
    assert written.files == ("a.py", "b.py", "pkg/deep/c.py")
    assert written.made_folders == (repo / "pkg", repo / "pkg/deep")
    assert tree(repo) == {
        "a.py": b"new\r\n",
        "pkg": "folder",
        "pkg/deep": "folder",
        "pkg/deep/c.py": b"\xef\xbb\xbfhello\xff",
    }


def test_an_edit_that_changes_nothing_writes_nothing(repo):
    (repo / "a.py").write_bytes(b"same\n")
    before = (repo / "a.py").stat()
    assert write_changes(repo, (FileChange("a.py", b"same\n", b"same\n"),)).files == ()
    assert (repo / "a.py").stat() == before


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755, 0o444])
def test_the_mode_is_kept(repo, mode):
    (repo / "run.sh").write_bytes(b"old\n")
    (repo / "run.sh").chmod(mode)
    write_changes(repo, (FileChange("run.sh", b"old\n", b"new\n"),))
    assert stat.S_IMODE((repo / "run.sh").stat().st_mode) == mode


def test_a_new_file_gets_the_default_mode(repo):
    write_changes(repo, (FileChange("a.py", None, b"x"),))
    (repo / "b.py").write_bytes(b"x")
    assert (repo / "a.py").stat().st_mode == (repo / "b.py").stat().st_mode


@pytest.mark.parametrize(
    ("on_disk", "before", "message"),
    [
        (b"theirs\n", b"old\n", "changed on disk since it was read"),
        (None, b"old\n", "is gone since it was read"),
        (b"theirs\n", None, "exists already"),
    ],
)
def test_a_file_that_is_not_as_it_was_read_stops_the_whole_edit(repo, on_disk, before, message):
    (repo / "first.py").write_bytes(b"old\n")
    if on_disk is not None:
        (repo / "a.py").write_bytes(on_disk)
    present = tree(repo)
    changes = (FileChange("first.py", b"old\n", b"new\n"), FileChange("a.py", before, b"mine\n"))
    with pytest.raises(EditError, match=f"a.py: {message}"):
        write_changes(repo, changes)
    assert tree(repo) == present


def test_d05_a_link_is_written_through_and_stays_a_link(repo):
    (repo / "real").mkdir()
    (repo / "real/a.py").write_bytes(b"old\n")
    (repo / "a.py").symlink_to("real/a.py")
    (repo / "chain.py").symlink_to("a.py")
    write_changes(repo, (FileChange("chain.py", b"old\n", b"new\n"),))
    assert tree(repo) == {
        "a.py": "-> real/a.py",
        "chain.py": "-> a.py",
        "real": "folder",
        "real/a.py": b"new\n",
    }


def test_d05_a_dangling_link_within_the_repository_is_written_through(repo):
    (repo / "a.py").symlink_to("real/a.py")
    write_changes(repo, (FileChange("a.py", None, b"new\n"),))
    assert (repo / "a.py").is_symlink()
    assert (repo / "real/a.py").read_bytes() == b"new\n"


def test_d08_relative_links_through_linked_folders_land_where_they_lead(repo):
    (repo / "x/y").mkdir(parents=True)
    (repo / "x/config").mkdir()
    (repo / "x/config/a.toml").write_bytes(b"old\n")
    (repo / "x/y/a.toml").symlink_to("../config/a.toml")
    (repo / "short").symlink_to("x/y")
    write_changes(repo, (FileChange("short/a.toml", b"old\n", b"new\n"),))
    assert (repo / "x/config/a.toml").read_bytes() == b"new\n"
    assert (repo / "x/y/a.toml").is_symlink()


@pytest.mark.parametrize(
    ("link", "target", "path", "message"),
    [
        ("out.py", "../outside.py", "out.py", "leads outside"),
        ("dangling.py", "../new-outside.py", "dangling.py", "leads outside"),
        ("folder", "..", "folder/new-outside.py", "leads outside"),
        ("cfg", ".env", "cfg", "may hold secrets"),
        ("", "", ".env", "may hold secrets"),
        ("", "", "../outside.py", "outside the repository"),
        ("", "", ".git/hooks/pre-commit", "version control"),
    ],
)
def test_outside_and_secret_places_are_refused(repo, link, target, path, message):
    (repo.parent / "outside.py").write_bytes(b"theirs\n")
    (repo / ".env").write_bytes(b"KEY=1\n")
    if link:
        (repo / link).symlink_to(target)
    present = tree(repo.parent)
    real = Path(os.path.realpath(repo / path))
    before = real.read_bytes() if real.exists() else None
    changes = (FileChange("new.py", None, b"x"), FileChange(path, before, b"mine\n"))
    with pytest.raises(EditError, match=message):
        write_changes(repo, changes)
    assert tree(repo.parent) == present


def test_ignored_files_are_not_written(repo):
    subprocess.run(("git", "-C", str(repo), "init", "-q"), check=True)
    (repo / ".gitignore").write_bytes(b"*.log\n")
    with pytest.raises(EditError, match="ignored"):
        write_changes(repo, (FileChange("a.log", None, b"x"),))
    assert not (repo / "a.log").exists()


def test_a_mark_of_shortened_output_is_not_written(repo):
    mark = left_out(120).encode()
    (repo / "doc.py").write_bytes(b"# about " + mark)
    with pytest.raises(EditError, match="mark of shortened output"):
        write_changes(repo, (FileChange("a.py", None, b"head\n" + mark + b"\ntail\n"),))
    write_changes(repo, (FileChange("doc.py", b"# about " + mark, b"# says " + mark),))
    assert (repo / "doc.py").read_bytes() == b"# says " + mark


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_is_no_regular_file_is_refused(repo, kind):
    if kind == "folder":
        (repo / "a.py").mkdir()
    elif kind == "pipe":
        os.mkfifo(repo / "a.py")
    else:
        (repo / "a.py").symlink_to("a.py")
    for change in (FileChange("a.py", None, b"x"), FileChange("a.py", b"x", None)):
        with pytest.raises(EditError, match=r"a\.py"):
            write_changes(repo, (change,))
    with pytest.raises(ToolError, match=r"a\.py"):
        snapshot_read(repo, "a.py")


def test_one_file_under_two_names_is_refused(repo):
    (repo / "a.py").write_bytes(b"old\n")
    (repo / "b.py").symlink_to("a.py")
    changes = (FileChange("a.py", b"old\n", b"1\n"), FileChange("b.py", b"old\n", b"2\n"))
    with pytest.raises(EditError, match=r"b.py: the same file as a.py"):
        write_changes(repo, changes)
    assert (repo / "a.py").read_bytes() == b"old\n"


def test_a_link_is_not_deleted(repo):
    (repo / "a.py").write_bytes(b"old\n")
    (repo / "b.py").symlink_to("a.py")
    with pytest.raises(EditError, match="links are not deleted"):
        write_changes(repo, (FileChange("b.py", b"old\n", None),))


def test_a_file_below_a_file_is_refused_and_nothing_stays(repo):
    (repo / "a").write_bytes(b"old\n")
    present = tree(repo)
    with pytest.raises(EditError, match="Not a directory"):
        write_changes(repo, (FileChange("new/x.py", None, b"x"), FileChange("a/b.py", None, b"x")))
    assert tree(repo) == present


@pytest.mark.parametrize("victim", ["change", "create", "delete"])
def test_a_failure_half_way_puts_everything_back(repo, monkeypatch, victim):
    (repo / "run.sh").write_bytes(b"old\n")
    (repo / "run.sh").chmod(0o750)
    (repo / "gone.py").write_bytes(b"bye\n")
    (repo / "last.py").write_bytes(b"last\n")
    present = tree(repo)
    real_replace = Path.replace

    def full(self, target):
        if Path(target).name == "last.py":
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        return real_replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    done = {
        "change": FileChange("run.sh", b"old\n", b"new\n"),
        "create": FileChange("new/deep/a.py", None, b"x"),
        "delete": FileChange("gone.py", b"bye\n", None),
    }
    changes = (done[victim], FileChange("last.py", b"last\n", b"changed\n"))
    with pytest.raises(EditError, match="No space left on device") as caught:
        write_changes(repo, changes)
    assert caught.value.hint == "nothing was changed"
    assert tree(repo) == present
    assert stat.S_IMODE((repo / "run.sh").stat().st_mode) == 0o750


def test_an_interrupt_half_way_puts_everything_back(repo, monkeypatch):
    (repo / "a.py").write_bytes(b"old\n")
    (repo / "b.py").write_bytes(b"old\n")
    present = tree(repo)
    real_replace = Path.replace

    def interrupted(self, target):
        if Path(target).name == "b.py":
            raise KeyboardInterrupt
        return real_replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    changes = (FileChange("a.py", b"old\n", b"1\n"), FileChange("b.py", b"old\n", b"2\n"))
    with pytest.raises(KeyboardInterrupt):
        write_changes(repo, changes)
    assert tree(repo) == present


def test_d08_a_write_that_does_not_stick_is_noticed(repo, monkeypatch):
    (repo / "a.py").write_bytes(b"old\n")
    real_replace = Path.replace

    def lossy(self, target):
        moved = real_replace(self, target)
        if Path(target).read_bytes() == b"new\n":
            Path(target).write_bytes(b"")
        return moved

    monkeypatch.setattr(Path, "replace", lossy)
    with pytest.raises(EditError, match="reads back differently"):
        write_changes(repo, (FileChange("a.py", b"old\n", b"new\n"),))
    assert tree(repo) == {"a.py": b"old\n"}


def test_a_folder_that_cannot_be_written_stops_the_edit_before_anything_is(monkeypatch):
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        root.chmod(0o777)
        locked = root / "locked"
        locked.mkdir()
        (root / "a.py").write_bytes(b"old\n")
        (locked / "b.py").write_bytes(b"old\n")
        (root / "a.py").chmod(0o666)
        present = tree(root)
        locked.chmod(0o555)
        user = os.geteuid()
        if user == 0:  # the superuser may write anywhere
            os.seteuid(65534)
        try:
            for change in (
                FileChange("locked/b.py", b"old\n", b"new\n"),
                FileChange("locked/b.py", b"old\n", None),
                FileChange("locked/c.py", None, b"new\n"),
                FileChange("locked/deep/c.py", None, b"new\n"),
            ):
                with pytest.raises(EditError, match="Permission denied"):
                    write_changes(root, (FileChange("a.py", b"old\n", b"new\n"), change))
        finally:
            os.seteuid(user)
            locked.chmod(0o755)
        assert tree(root) == present


def test_a_snapshot_is_the_bytes_or_none(repo):
    (repo / "a.py").write_bytes(b"a\r\n\xff")
    assert snapshot_read(repo, "a.py") == b"a\r\n\xff"
    assert snapshot_read(repo, "b.py") is None
    assert snapshot_read(repo, "a.py/b.py") is None
    with pytest.raises(ToolError, match="outside"):
        snapshot_read(repo, "../a.py")


def test_a_file_saved_by_the_user_during_the_write_is_not_overwritten(repo, monkeypatch):
    (repo / "a.py").write_bytes(b"old\n")
    (repo / "b.py").write_bytes(b"old\n")
    real_sync = os.fsync

    def slow_disk(fd):
        real_sync(fd)
        (repo / "b.py").write_bytes(b"theirs\n")

    monkeypatch.setattr(os, "fsync", slow_disk)
    changes = (FileChange("a.py", b"old\n", b"1\n"), FileChange("b.py", b"old\n", b"2\n"))
    with pytest.raises(EditError, match=r"b.py: changed on disk"):
        write_changes(repo, changes)
    assert tree(repo) == {"a.py": b"old\n", "b.py": b"theirs\n"}
