import os
import shlex
import sys

import pexpect
import pytest

from tests.session.scripted import FIXED, TESTS, make_repo, plan, script, snapshot, whole

CHANGE = """\
import pathlib, sys
path = pathlib.Path(sys.argv[-1])
text = path.read_text()
old, new = sys.argv[1:3]
assert old in text, text
path.write_text(text.replace(old, new))
"""


@pytest.fixture
def repo(tmp_path):
    return make_repo(tmp_path / "repo")


@pytest.fixture
def asked(repo, tmp_path, own_home):
    """`fix` on a terminal, up to the question about the plan; takes the editor's command."""
    own_home.mkdir(exist_ok=True)
    (own_home / "config.toml").write_text("review_plan = true\nn_ctx = 200000\n")
    replies = script(tmp_path, plan("show.py"), whole("calc.py", FIXED), "PASS")

    def start(editor):
        child = pexpect.spawn(
            sys.executable,
            [
                "-m",
                "agspec_tui",
                "fix",
                str(repo),
                "--issue",
                "total() gives the wrong sum",
                "--model",
                f"scripted:{replies}",
                "--test",
                TESTS,
            ],
            env={**os.environ, "TERM": "dumb", "VISUAL": editor, "EDITOR": ""},
            encoding="utf-8",
            timeout=120,
        )
        child.expect(r"work by this plan\? \[([yeN/]+)\] ")
        return child

    return start


def changing(tmp_path, old, new):
    path = tmp_path / "change.py"
    path.write_text(CHANGE)
    return shlex.join([sys.executable, str(path), old, new])


def ended(child, code):
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code


def test_the_plan_is_edited_in_the_persons_editor(asked, repo, tmp_path):
    child = asked(changing(tmp_path, "show.py\n", "calc.py\n"))
    assert child.match[1] == "y/e/N"
    child.sendline("e")
    child.expect(r"plan     calc\.py: Add the numbers\.")
    child.expect(r"write calc\.py\? \[y/N\] ")
    child.sendline("y")
    ended(child, 0)
    assert (repo / "calc.py").read_text() == FIXED


def test_a_plan_that_is_refused_is_told_and_asked_about_again(asked, repo, tmp_path):
    before = snapshot(repo)
    child = asked(changing(tmp_path, "show.py\n", ".env\n"))
    child.sendline("e")
    child.expect(r"step 1 of the plan: \.env cannot be made: may hold secrets")
    child.expect(r"work by this plan\? \[y/e/N\] ")
    child.sendline("n")
    ended(child, 1)
    assert snapshot(repo) == before


def test_text_that_is_no_plan_is_told_and_asked_about_again(asked, tmp_path):
    child = asked(changing(tmp_path, "show.py\n", "show py\n"))
    child.sendline("e")
    child.expect(r"step 1 of the plan: show py is no path")
    child.expect(r"work by this plan\? \[y/e/N\] ")
    child.sendline("n")
    ended(child, 1)


@pytest.mark.parametrize(
    ("editor", "said"),
    [
        ("true", "the plan is unchanged"),
        ("false", r"the editor false failed: exit code 1"),
        ("/nowhere/ed -x", r"the editor /nowhere/ed -x cannot be run: No such file"),
        ("rm -f", r"the editor rm -f left no text"),
    ],
)
def test_an_editor_that_changes_nothing_or_fails_leaves_the_question_open(asked, editor, said):
    child = asked(editor)
    child.sendline("e")
    child.expect(said)
    child.expect(r"work by this plan\? \[y/e/N\] ")
    child.sendline("n")
    ended(child, 1)


def test_without_an_editor_a_plan_is_taken_or_rejected(asked, repo):
    before = snapshot(repo)
    child = asked("")
    assert child.match[1] == "y/N"
    child.sendline("e")
    ended(child, 1)
    assert snapshot(repo) == before


def test_an_interrupt_in_the_editor_is_the_editors(asked, repo):
    child = asked("sh -c 'trap \"echo caught\" INT; echo open; sleep 60 & wait; kill $!'")
    child.sendline("e")
    child.expect("open")
    child.sendintr()
    child.expect("caught")
    child.expect(r"work by this plan\? \[y/e/N\] ")
    child.sendline("n")
    ended(child, 1)
