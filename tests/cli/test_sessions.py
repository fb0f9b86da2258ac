import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pexpect
import pytest

from agspec_tui.cli.main import run
from agspec_tui.cli.sessions import _settings
from agspec_tui.config import sessions_dir
from agspec_tui.session.stored import find_session, list_sessions, read_session
from agspec_tui.session.storing import read_earlier
from tests.session.scripted import (
    CALC,
    FIXED,
    SCRIPTS,
    TESTS,
    make_repo,
    plan,
    script,
    snapshot,
    whole,
)

PROGRAM = str(Path(sys.executable).parent / "agspec-tui")


@pytest.fixture(autouse=True)
def own_data(own_home, tmp_path, monkeypatch):
    own_home.mkdir(parents=True)
    (own_home / "config.toml").write_text("n_ctx = 200000\n")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def repo(tmp_path):
    return make_repo(tmp_path / "repo")


def fix(repo, path=SCRIPTS / "fixed.json"):
    return [
        "fix", str(repo), "--issue", "total() is wrong", "--test", TESTS, "--yes",
        "--model", f"scripted:{path}",
    ]  # fmt: skip


@pytest.fixture
def name(repo, capsys):
    assert run(fix(repo)) == 0
    capsys.readouterr()
    (one,) = list_sessions(sessions_dir())
    return one.session_id


def test_a_headless_session_is_listed(name, repo, capsys):
    assert run(["sessions", "list"]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert line.startswith(name)
    assert "fixed" in line
    assert str(repo) in line
    assert "total() is wrong" in line
    assert run(["sessions", "list", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["sessions"][0]["id"]) == (1, name)


def test_no_sessions_are_said_so(capsys):
    assert run(["sessions", "list"]) == 0
    assert capsys.readouterr().out == "no stored sessions\n"


def test_a_session_is_shown(name, capsys):
    assert run(["sessions", "show", name[:4]]) == 0
    said = capsys.readouterr().out
    for part in ("total() is wrong", "plan     calc.py", "written  calc.py", "PASS"):
        assert part in said
    assert "write    calc.py: turn 1" in said


def test_a_session_is_exported(name, tmp_path, repo, capsys):
    out = tmp_path / "out.json"
    assert run(["sessions", "export", name, "--json", str(out)]) == 0
    document = json.loads(out.read_text())
    assert (document["schema"], document["id"], document["status"]) == (1, name, "fixed")
    assert document["repo"] == str(repo)
    assert [event["seq"] for event in document["events"]] == list(
        range(1, len(document["events"]) + 1)
    )
    (edit,) = document["edits"]
    assert (edit["path"], edit["before"], edit["after"]) == (
        "calc.py", {"text": CALC}, {"text": FIXED},
    )  # fmt: skip
    assert document["settings"]["n_ctx"] == 200_000


def test_the_last_turn_is_undone_and_redone(name, repo, capsys):
    assert run(["sessions", "undo", name]) == 0
    assert "restored calc.py" in capsys.readouterr().out
    assert (repo / "calc.py").read_text() == CALC
    assert run(["sessions", "undo", name]) == 0
    assert "nothing to take back" in capsys.readouterr().out
    assert run(["sessions", "redo", name]) == 0
    assert (repo / "calc.py").read_text() == FIXED


def test_a_session_goes_on_without_a_screen(name, repo, tmp_path, capsys):
    run(["sessions", "undo", name])
    out = tmp_path / "out.json"
    command = ["sessions", "resume", name, "--issue", "again", "--yes", "--json", str(out)]
    assert run(command) == 0
    assert json.loads(out.read_text())["status"] == "fixed"
    assert (repo / "calc.py").read_text() == FIXED
    assert list_sessions(sessions_dir())[0].n_tasks == 2


def test_a_session_is_deleted_with_all_its_files(name, repo):
    before = snapshot(repo)
    assert run(["sessions", "delete", name]) == 0
    assert list(sessions_dir().iterdir()) == []
    assert snapshot(repo) == before


def test_r02_a_bad_file_is_a_notice_and_the_rest_is_usable(name, repo, capsys):
    (sessions_dir() / "bad.db").write_bytes(b"")
    (sessions_dir() / "worse.db").write_bytes(b"\0" * 9000)
    assert run(["sessions", "list"]) == 0
    said = capsys.readouterr()
    assert name in said.out
    assert sorted(said.err.splitlines()) == [
        "not usable: bad.db: empty",
        "not usable: worse.db: holds zeros only",
    ]
    for command in (["show", "bad"], ["resume", "worse"], ["undo", "bad"], ["export", "worse"]):
        assert run(["sessions", *command]) == 2
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 4
    assert run(["sessions", "undo", name]) == 0
    assert run(fix(repo)) == 0
    assert run(["sessions", "delete", "bad", "worse"]) == 0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["show", "zzzz"], "no session begins with zzzz"),
        (["resume", "../x"], "is no name of a session"),
        (["delete"], "Missing argument"),
    ],
)
def test_a_wrong_name_is_one_line_and_exit_code_2(arguments, part, capsys):
    assert run(["sessions", *arguments]) == 2
    said = capsys.readouterr().err
    assert part in said
    assert said.count("\n") == 1


def test_resuming_needs_the_repository(name, repo, tmp_path, capsys):
    repo.rename(tmp_path / "elsewhere")
    assert run(["sessions", "resume", name, "--issue", "x", "--yes"]) == 2
    assert "does not exist" in capsys.readouterr().err


def wait_for(process, text):
    said = b""
    while text.encode() not in said:
        line = process.stderr.readline()
        assert line, f"{text!r} was not said: {said.decode()}"
        said += line


KILLS = {
    "planning": "turn 1   planner",
    "coding": "turn 1   coder",
    "proposed": "+        result = result * number",
    "written": "written  calc.py",
    "put back": "restored calc.py",
    "second turn": "turn 2   coder",
}


@pytest.mark.parametrize("point", KILLS)
def test_the_whole_program_is_killed_and_resumed(point, repo, tmp_path, capsys):
    before = snapshot(repo)
    wrong = FIXED.replace("+ number", "* number")
    path = script(
        tmp_path, plan("calc.py"), whole("calc.py", wrong), "FAIL", whole("calc.py", FIXED), "PASS",
        step_delay_s=0.002,
    )  # fmt: skip
    with subprocess.Popen(
        [PROGRAM, *fix(repo, path)], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        wait_for(process, KILLS[point])
        limit = time.monotonic() + 20
        while not any(sessions_dir().glob("*.db-wal")) and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    left = {path: data for path, data in snapshot(repo).items() if ".agspec-" not in path}
    assert left in [{**before, "calc.py": text.encode()} for text in (CALC, wrong, FIXED)]
    (one,) = list_sessions(sessions_dir())
    assert one.status == "interrupted"
    assert one.fault == ""
    assert run(["sessions", "resume", one.session_id, "--issue", "go on", "--yes"]) in (0, 1)
    said = capsys.readouterr().err
    assert "The program ended in the middle of this task." in said
    content = read_session(sessions_dir() / f"{one.session_id}.db")
    assert [event.seq for event in content.events] == list(range(1, len(content.events) + 1))
    for _ in range(5):
        run(["sessions", "undo", one.session_id])
    assert snapshot(repo) == before


def test_the_screen_shows_a_resumed_session_and_undoes_its_edit(name, repo):
    child = pexpect.spawn(
        PROGRAM, ["sessions", "resume", name], dimensions=(120, 140), encoding="utf-8",
        env={**os.environ, "TERM": "xterm-256color"}, timeout=90,
    )  # fmt: skip
    child.expect("wrote calc.py")
    while child.expect(["put back calc.py", pexpect.TIMEOUT], timeout=1.0):
        child.send("\x1b[18~")  # F7: too early while the model loads
    assert (repo / "calc.py").read_text() == CALC
    child.send("\x11")
    child.expect(pexpect.EOF)
    assert list_sessions(sessions_dir())[0].status == "fixed"


def opened(*arguments):
    """The program on a terminal, with its prompt ready."""
    child = pexpect.spawn(
        PROGRAM, list(arguments), dimensions=(40, 140), encoding="utf-8",
        env={**os.environ, "TERM": "xterm-256color"}, timeout=30,
    )  # fmt: skip
    child.expect("escribe the issue")  # the cursor stands on its first letter
    return child


def test_from_the_screen_a_session_is_replayed_and_another_gone_on_with(name, repo, tmp_path):
    other = script(tmp_path, plan("calc.py"))
    child = opened(str(repo), "--model", f"scripted:{other}")
    child.send("/sessions\r")
    child.expect(name)
    child.send("p")
    child.expect("replay")  # of the status line
    child.expect("wrote calc.py")
    child.send("\x10")  # the palette
    child.expect("Search for commands")
    child.send("sessions")
    with pytest.raises(pexpect.TIMEOUT):  # until nothing else is offered any more
        child.expect("never shown", timeout=2.0)
    child.send("\r")
    child.expect(name)
    child.send("\r")
    child.expect("unasked")  # the session that is gone on with says what it may do
    child.send("\x11")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert [one.session_id for one in list_sessions(sessions_dir())] == [name]
    assert (repo / "calc.py").read_text() == FIXED


def test_from_the_screen_the_repository_is_opened_with_another_model(
    repo, smollm2, tmp_path, own_home, monkeypatch
):
    monkeypatch.setenv("AGSPEC_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "small.gguf").symlink_to(smollm2)
    (own_home / "config.toml").write_text("n_ctx = 512\n")
    child = opened(str(repo), "--model", f"scripted:{script(tmp_path, plan('calc.py'))}")
    child.send("/models\r")
    child.expect("small")
    child.send("\r")
    child.expect("small · CPU")
    child.send("\x11")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--issue", "x", "--json", "out.json"], "add --yes"),
        (["--json", "-"], "add --yes"),
        (["--yes"], "there is no issue"),
        (["--issue", "x", "--yes", "--json", "missing/out.json"], "cannot be written"),
    ],
)
def test_what_resume_could_not_do_is_refused(name, arguments, part, capsys):
    assert run(["sessions", "resume", name, *arguments]) == 2
    said = capsys.readouterr().err
    assert part in said
    assert said.count("\n") == 1


def test_rules_and_questions_of_a_resumed_session_are_todays(name, own_home):
    earlier = read_earlier(find_session(sessions_dir(), name))
    stored = json.loads(earlier.meta.settings) | {
        "commands": {"allow": ["make lint"]}, "review_plan": False, "max_turns": 3,
    }  # fmt: skip
    meta = msgspec.structs.replace(earlier.meta, settings=json.dumps(stored))
    earlier = dataclasses.replace(earlier, meta=meta)
    (own_home / "config.toml").write_text('review_plan = true\n[commands]\ndeny = ["docker"]\n')
    config = _settings(earlier, None, yes=False)
    assert (config.commands.allow, config.commands.deny) == ((), ("docker",))
    assert (config.review_plan, config.max_turns) == (True, 3)


def test_what_another_run_did_unasked_is_asked_again(name, own_home):
    earlier = read_earlier(find_session(sessions_dir(), name))
    assert json.loads(earlier.meta.settings)["approve"] == "full-auto"
    assert _settings(earlier, None, yes=False).approve == "ask"
    (own_home / "config.toml").write_text('approve = "plan-only"\n')
    assert _settings(earlier, None, yes=False).approve == "plan-only"
    assert _settings(earlier, None, yes=True).approve == "full-auto"
