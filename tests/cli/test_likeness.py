"""`fix` asks about edits placed by likeness on a terminal, and refuses them elsewhere."""

import os
import subprocess
import sys

import pexpect
import pytest

from tests.session.scripted import (
    DOUBT,
    FIXED,
    NEAR,
    TESTS,
    make_repo,
    plan,
    script,
    snapshot,
    whole,
)


@pytest.fixture
def repo(tmp_path):
    return make_repo(tmp_path / "repo")


@pytest.fixture
def command(repo, tmp_path, own_home):
    """The command line of `fix` with a first reply that fits nowhere; takes it and options."""
    own_home.mkdir()
    (own_home / "config.toml").write_text("n_ctx = 200000\n")

    def make(first, *options):
        path = script(tmp_path, plan("calc.py"), first, whole("calc.py", FIXED), "PASS")
        return [
            sys.executable, "-m", "agspec_tui", "fix", str(repo), "--issue", "total() is wrong",
            "--model", f"scripted:{path}", "--test", TESTS, *options,
        ]  # fmt: skip

    return make


def on_a_terminal(command):
    return pexpect.spawn(
        command[0],
        command[1:],
        env=os.environ | {"TERM": "dumb"},
        encoding="utf-8",
        timeout=120,
        dimensions=(40, 200),
    )


@pytest.mark.parametrize("mode", ["auto-edit", "full-auto"])
@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_it_is_asked_about_and_a_no_goes_on(repo, command, mode, answer):
    before = snapshot(repo)
    first = NEAR if answer == "y" else NEAR.replace("+ number", "* 2")
    child = on_a_terminal(command(first, "--approve", mode))
    child.expect_exact(f"doubtful {DOUBT}")
    child.expect(r"write calc\.py, placed by likeness only\? \[y/N\] ")
    assert snapshot(repo) == before
    child.sendline(answer)
    if answer == "n":
        child.expect("refused .*the user said no")
    child.expect("fixed after")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert (repo / "calc.py").read_text() == FIXED


def test_yes_means_that_nobody_is_asked(repo, command):
    child = on_a_terminal(command(NEAR.replace("+ number", "* 2"), "--yes"))
    child.expect("refused .*the file has no such lines")
    assert child.expect([r"\[y/N\]", pexpect.EOF]) == 1
    child.close()
    assert child.exitstatus == 0
    assert (repo / "calc.py").read_text() == FIXED


def test_without_a_terminal_it_is_refused(repo, command):
    done = subprocess.run(
        command(NEAR.replace("+ number", "* 2"), "--approve", "full-auto"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "the file has no such lines" in done.stderr
    assert "doubtful" not in done.stderr
    assert (repo / "calc.py").read_text() == FIXED
