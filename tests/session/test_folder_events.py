import asyncio
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import watchdog.observers.inotify_c

from agspec_tui.session.folder_events import MAX_FOLDERS
from tests.session.following import Following, put


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "a répo 😀"
    folder.mkdir()
    put(folder, "a.py", "old\n")
    put(folder, "pkg/b.py", "b\n")
    return folder


@pytest.fixture
async def following(root, tmp_path):
    made = Following(root, tmp_path)
    yield made
    await made.stop()


@pytest.mark.parametrize("scope", ["opened", "repo"])
async def test_w03_without_watches_left_files_are_compared_before_each_turn(
    following, root, scope, monkeypatch
):
    def refuse(fd, path, mask):
        watchdog.observers.inotify_c.ctypes.set_errno(28)
        return -1

    monkeypatch.setattr(watchdog.observers.inotify_c, "inotify_add_watch", refuse)
    await following.start(scope, "a.py")
    (warning,) = following.warnings
    assert "before each turn" in warning.message
    assert warning.lasting == "files are not watched"
    assert "fs.inotify.max_user_watches" in warning.hint
    put(root, "a.py", "new\n")
    (root / "pkg/b.py").unlink()
    put(root, "c.py", "made\n")
    await following.watcher.refresh()
    assert following.holds("a.py", "new\n")
    assert following.holds("pkg/b.py", None)
    assert following.holds("c.py", "made\n" if scope == "repo" else None)
    assert len(following.warnings) == 1


LIMITED = """
import asyncio, sys
from pathlib import Path
from tests.session.following import Following, put
Path("/proc/sys/user/max_inotify_watches").write_text("2")
root = Path(sys.argv[1])
async def main():
    following = await Following(root, root.parent).start("repo")
    (warning,) = following.warnings
    print(warning.message, warning.hint, sep="; ")
    put(root, "pkg/b.py", "new\\n")
    await following.watcher.refresh()
    print(following.holds("pkg/b.py", "new\\n"))
    await following.stop()
asyncio.run(main())
"""


def test_w03_the_systems_own_limit_is_survived_and_said(root):
    in_namespace = ("unshare", "--user", "--map-root-user")
    if subprocess.run((*in_namespace, "true"), capture_output=True).returncode:
        pytest.skip("no user namespace, whose limit could be lowered, can be made here")
    put(root, "pkg/deep/c.py")
    done = subprocess.run(
        (*in_namespace, sys.executable, "-c", LIMITED, str(root)),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    said, held = done.stdout.splitlines()
    assert said.startswith("changes of files are seen only before each turn: ")
    assert said.endswith("; raise fs.inotify.max_user_watches with sysctl")
    assert held == "True"
    assert done.stderr == ""


async def test_more_folders_than_may_be_watched_are_compared_before_each_turn(following, root):
    put(root, "many/7/a.py", "7\n")
    for number in range(MAX_FOLDERS):
        (root / f"many/empty {number}").mkdir()
    await following.start("repo")
    (warning,) = following.warnings
    assert "corpus_scope" in warning.hint
    put(root, "many/7/a.py", "changed\n")
    await following.watcher.refresh()
    await following.until_holds("many/7/a.py", "changed\n")


async def test_when_the_system_lost_events_every_followed_file_is_looked_at(
    following, root, capsys
):
    await following.start("opened", "a.py")
    put(root, "a.py", "new\n")
    await asyncio.sleep(0.1)
    following.watcher._events.take()  # as if none of these had come
    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed")
    await following.until_holds("a.py", "new\n")
    assert capsys.readouterr().err == ""


def n_open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_nothing_is_left_behind_once_it_is_stopped(following, root):
    await following.start("opened")
    await following.stop()
    await asyncio.to_thread(int)
    threads = {thread for thread in threading.enumerate() if "asyncio" not in thread.name}
    n_files = n_open_files()
    again = Following(root, following._folder)
    await again.start("repo")
    await again.until_holds("a.py", "old\n")
    put(root, "a.py", "in flight\n")
    await again.stop()
    await again.watcher.stop()
    left = {thread for thread in threading.enumerate() if "asyncio" not in thread.name}
    assert left == threads
    assert n_open_files() == n_files
