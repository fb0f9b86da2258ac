import json
import os
import signal
import subprocess
import sys
import time

import pexpect
import pytest

from agspec_tui.cli.fix import read_issue
from agspec_tui.cli.main import run
from agspec_tui.errors import UsageError
from tests.session.scripted import FIXED, SCRIPTS, TESTS, make_repo, plan, script, snapshot, whole

CONFIG = "n_ctx = 200000\n"


@pytest.fixture(autouse=True)
def roomy(own_home):
    # Tokens of the scripted model are bytes, so its context has to be roomy.
    own_home.mkdir(parents=True)
    (own_home / "config.toml").write_text(CONFIG)


@pytest.fixture
def repo(tmp_path):
    return make_repo(tmp_path / "repo")


def arguments(repo, path=SCRIPTS / "fixed.json", *more, issue="total() is wrong", yes=True):
    given = ["fix", str(repo), "--issue", issue, "--test", TESTS, "--model", f"scripted:{path}"]
    return [*given, *(["--yes"] if yes else []), *map(str, more)]


def test_a_fixed_issue_exits_0_and_writes_its_report(repo, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert run(arguments(repo, SCRIPTS / "fixed.json", "--json", out)) == 0
    report = json.loads(out.read_text())
    assert (report["schema"], report["status"], report["egress"]) == (1, "fixed", 0)
    assert report["model"] == "scripted:fixed"
    assert report["tests"]["before"] == {"passed": 1, "failed": 2, "command": TESTS}
    assert report["tests"]["after"] == {"passed": 3, "failed": 0, "command": TESTS}
    assert [row["role"] for row in report["turns"]] == ["planner", "coder", "executor"]
    assert report["turns"][1].keys() == {
        "role", "turn", "n_tokens", "n_steps", "n_drafted", "n_accepted", "accept_length",
        "rejected", "tok_per_s", "n_prompt", "n_reused", "alpha", "candidate",
    }  # fmt: skip
    assert "+        result = result + number" in report["diff"]
    assert report["wall_s"] > 0
    assert (repo / "calc.py").read_text() == FIXED
    assert capsys.readouterr().out == ""


def test_the_report_goes_to_stdout_and_progress_to_stderr(repo, capsys):
    assert run(arguments(repo, SCRIPTS / "fixed.json", "--json", "-")) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["status"] == "fixed"
    for part in ("planner", "coder, whole", "+        result = result + number", "PASS", "fixed"):
        assert part in said.err


def test_an_issue_that_is_not_fixed_exits_1_with_the_tree_as_it_was(repo, tmp_path, capsys):
    before = snapshot(repo)
    out = tmp_path / "out.json"
    assert run(arguments(repo, SCRIPTS / "hopeless.json", "--json", out)) == 1
    report = json.loads(out.read_text())
    assert report["status"] == "not_fixed"
    assert report["diff"] == ""
    assert report["tests"]["after"] == report["tests"]["before"]
    assert len(report["tried"]) == 5
    assert all(one["result"].startswith("FAIL: wrong sum") for one in report["tried"])
    assert snapshot(repo) == before
    assert "Not fixed in 5 turns." in capsys.readouterr().err


def test_an_issue_is_read_from_a_file(repo, tmp_path, capsys):
    issue = tmp_path / "ISSUE.md"
    issue.write_text("total() is wrong")
    assert run(arguments(repo, issue=str(issue))) == 0
    assert read_issue(str(issue)) == "total() is wrong"


@pytest.mark.parametrize("issue", ["", "  \n"])
def test_an_empty_issue_is_refused(repo, issue, capsys):
    assert run(arguments(repo, issue=issue)) == 2
    assert "the issue is empty" in capsys.readouterr().err


def test_an_empty_issue_file_is_refused(repo, tmp_path, capsys):
    (tmp_path / "ISSUE.md").write_text(" \n")
    assert run(arguments(repo, issue=str(tmp_path / "ISSUE.md"))) == 2
    assert "the issue is empty" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["x" * 100_000, "line\nline", "a\0b", "ends with a dot."])
def test_text_that_is_no_file_is_the_issue_itself(text):
    assert read_issue(text) == text


def test_a_folder_or_bytes_are_no_issue(tmp_path):
    with pytest.raises(UsageError):
        read_issue(str(tmp_path))
    (tmp_path / "x.bin").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(UsageError):
        read_issue(str(tmp_path / "x.bin"))


def test_d07_a_secret_file_is_no_issue(tmp_path):
    (tmp_path / ".env").write_text("A=b\n")
    (tmp_path / "issue.md").symlink_to(".env")
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host x\n")
    (tmp_path / "other.md").symlink_to(".ssh/config")
    for name in (".env", "issue.md", ".ssh/config", "other.md"):
        with pytest.raises(UsageError, match="may hold secrets"):
            read_issue(str(tmp_path / name))


def bad_input(name, repo, tmp_path):
    """Arguments of a wrong call, and a part of what it must say."""
    (tmp_path / "bare").mkdir()
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    (tmp_path / "no.gguf").write_bytes(b"not a model")
    plain = ["fix", str(repo), "--issue", "x", "--yes"]
    return {
        "missing": (arguments(tmp_path / "missing"), "does not exist"),
        "file": (arguments(repo / "calc.py"), "is a file"),
        "no files": (
            ["fix", str(tmp_path / "bare"), "--issue", "x", "--yes"],
            "no file to work on",
        ),
        "no gguf": ([*plain, "--model", str(tmp_path / "no.gguf")], "gguf"),
        "cut gguf": ([*plain, "--model", str(tmp_path / "cut.gguf")], "gguf"),
        "unknown model": ([*plain, "--model", "qwen9-coder"], "qwen9-coder"),
        "no script": ([*plain, "--model", "scripted:/no/where.json"], "does not exist"),
        "no folder": (arguments(repo, SCRIPTS / "fixed.json", "--json", "/no/x.json"), "/no/x"),
        "no yes": (arguments(repo, yes=False), "--yes"),
        "no issue": (["fix", str(repo)], "--issue"),
        "two modes": ([*plain, "--approve", "ask"], "contradict"),
    }[name]


@pytest.mark.parametrize(
    "name",
    [
        "missing", "file", "no files", "no gguf", "cut gguf", "unknown model", "no script",
        "no folder", "no yes", "no issue", "two modes",
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exits_2(name, repo, tmp_path, capsys):
    before = snapshot(repo)
    args, part = bad_input(name, repo, tmp_path)
    assert run(args) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert part.lower() in said.err.lower()
    assert said.out == ""
    assert snapshot(repo) == before


def test_a_context_larger_than_the_memory_is_refused_before_loading(
    repo, own_home, smollm2, capsys
):
    (own_home / "config.toml").write_text("n_ctx = 2000000000\n")
    args = ["fix", str(repo), "--issue", "x", "--yes", "--model", str(smollm2)]
    assert run(args) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "2000000000 tokens" in said


def test_an_engine_that_fails_exits_3(repo, tmp_path, capsys):
    before = snapshot(repo)
    out = tmp_path / "out.json"
    assert run(arguments(repo, script(tmp_path), "--json", out)) == 3
    assert capsys.readouterr().err.strip().split("\n")[-1].startswith("error: ")
    assert json.loads(out.read_text())["status"] == "failed"
    assert snapshot(repo) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_puts_the_tree_back_and_exits_130(repo, tmp_path, number):
    before = snapshot(repo)
    path = script(tmp_path, plan("calc.py"), whole("calc.py", FIXED), step_delay_s=0.1)
    command = [sys.executable, "-m", "agspec_tui", *arguments(repo, path)]
    seen = []
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            seen.append(line)
            if "planner" in line:
                break
        asked = time.monotonic()
        process.send_signal(number)
        rest = process.stderr.read()
        assert process.wait(timeout=20) == 130, "".join(seen) + rest
    assert time.monotonic() - asked < 3
    assert "Traceback" not in rest
    assert snapshot(repo) == before


@pytest.mark.parametrize(("answer", "code", "status"), [("y", 0, "fixed"), ("n", 1, "cancelled")])
def test_on_a_terminal_the_user_is_asked(repo, answer, code, status):
    before = snapshot(repo)
    child = pexpect.spawn(
        sys.executable,
        ["-m", "agspec_tui", *arguments(repo, yes=False)],
        env=os.environ | {"TERM": "dumb"},
        encoding="utf-8",
        timeout=60,
    )
    child.expect(r"write calc\.py\? \[y/N\] ")
    assert snapshot(repo) == before
    child.sendline(answer)
    child.expect(status)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code
    assert ((repo / "calc.py").read_text() == FIXED) is (answer == "y")


def test_an_interrupt_at_the_question_ends_it(repo):
    before = snapshot(repo)
    child = pexpect.spawn(
        sys.executable,
        ["-m", "agspec_tui", *arguments(repo, yes=False)],
        encoding="utf-8",
        timeout=60,
    )
    child.expect(r"\[y/N\] ")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert snapshot(repo) == before
