"""Runs one operation of an undo log in children that kill themselves at every step they take.

Arguments: the folder of the runs, the operation. Run n is in the folder `n`; the last one was not
killed. Steps are what Python reports to audit hooks: files opened, moved and removed, folders made.
"""

import itertools
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from agspec_tui.forms.types import FileChange
from agspec_tui.session.store import Meta, SessionStore
from agspec_tui.session.undo import UndoLog

STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.chown")
WRITE = (
    FileChange("a.py", b"a0\n", b"a1\n"),
    FileChange("b.py", b"b0\n", None),
    FileChange("new/deep/c.py", None, b"c\n"),
    FileChange("sub/d.py", b"d0\n", b"d1\n"),
)


def meta(repo):
    return Meta(
        session_id="live", repo=str(repo), model="m", test_command="", settings="{}", started_s=1.0
    )


def make_repo(folder):
    repo = folder / "repo"
    (repo / "sub").mkdir(parents=True)
    for name in ("a", "b"):
        (repo / f"{name}.py").write_bytes(f"{name}0\n".encode())
    (repo / "sub" / "d.py").write_bytes(b"d0\n")
    (repo / "a.py").chmod(0o750)
    (repo / "theirs.py").write_bytes(b"theirs\n")
    return repo


def die_at(step):
    count = itertools.count(1)

    def hook(event, _):
        if event in STEPS and next(count) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def work(folder, operation, step):
    repo = make_repo(folder)
    store = SessionStore.create(folder / "sessions" / "live.db", meta(repo))
    log = UndoLog(repo, store)
    log.begin(1)
    if operation != "write":
        log.write(WRITE)
    if operation == "redo":
        log.restore()
    die_at(step)
    {"write": lambda: log.write(WRITE), "undo": log.restore, "redo": log.redo}[operation]()
    os._exit(0)


def main():
    root, operation = Path(sys.argv[1]), sys.argv[2]
    tempfile.tempdir = str(root)
    for step in itertools.count(1):
        folder = root / str(step)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        child = os.fork()
        if child == 0:
            work(folder, operation, step)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            sys.exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
