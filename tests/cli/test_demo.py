import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pexpect
import pytest

from agspec_tui.cli.main import run
from agspec_tui.config import sessions_dir
from agspec_tui.events import ApprovalRequested, StepCommitted, TaskFinished
from agspec_tui.session.recorded import read_events
from agspec_tui.session.stored import list_sessions
from tests.session.scripted import SCRIPTS, TESTS, make_repo, snapshot

PROGRAM = str(Path(sys.executable).parent / "agspec-tui")
ROOT = Path(__file__).parents[2]


def test_the_recording_that_comes_along_is_a_fixed_issue_of_its_repository():
    folder = files("agspec_tui") / "demo"
    events = read_events(Path(str(folder)) / "session.jsonl")
    (finished,) = [event for event in events if isinstance(event, TaskFinished)]
    assert finished.status == "fixed"
    assert not any(isinstance(event, ApprovalRequested) for event in events)
    assert any(event.n_accepted for event in events if isinstance(event, StepCommitted))
    assert (files("agspec_tui") / "examples" / "room-booking" / "booking" / "slot.py").is_file()
    assert str(ROOT) not in (Path(str(folder)) / "session.jsonl").read_text()


def test_without_a_screen_it_is_printed(capsys):
    assert run(["demo", "--headless"]) == 0
    said = capsys.readouterr().out
    for part in ("planner", "coder", "booking/slot.py", "fixed"):
        assert part in said


def test_without_a_terminal_it_says_how(capsys):
    assert run(["demo"]) == 2
    assert "--headless" in capsys.readouterr().err


@pytest.mark.parametrize("speed", ["0", "-1", "x", "1000"])
def test_a_wrong_pace_is_refused(speed, capsys):
    assert run(["demo", "--headless", "--speed", speed]) == 2


def test_it_plays_in_a_terminal_and_leaves_it_sane():
    child = pexpect.spawn(PROGRAM, ["demo", "--speed", "100"], dimensions=(40, 140), timeout=60)
    child.expect("a recorded session")
    child.expect("replay ended")
    child.send("q")
    child.expect("fixed")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.fixture
def stored(own_home, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    own_home.mkdir(parents=True, exist_ok=True)
    (own_home / "config.toml").write_text("n_ctx = 200000\n")
    repo = make_repo(tmp_path / "repo")
    given = ["fix", str(repo), "--issue", "total() is wrong", "--test", TESTS, "--yes"]
    assert run([*given, "--model", f"scripted:{SCRIPTS / 'fixed.json'}"]) == 0
    (one,) = list_sessions(sessions_dir())
    return one.session_id, repo


def test_a_stored_session_is_shown_again_and_changes_nothing(stored, capsys):
    name, repo = stored
    before, sessions = snapshot(repo), snapshot(sessions_dir())
    capsys.readouterr()
    assert run(["sessions", "replay", name, "--headless"]) == 0
    said = capsys.readouterr().out
    assert "+        result = result + number" in said
    assert snapshot(repo) == before
    assert snapshot(sessions_dir()).keys() == sessions.keys()


def test_a_session_that_is_not_there_is_refused(own_home, capsys):
    assert run(["sessions", "replay", "nosuch", "--headless"]) == 2


def test_the_demo_needs_no_model(tmp_path):
    result = subprocess.run(
        [PROGRAM, "demo", "--headless"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "fixed" in result.stdout
    assert result.stderr == ""
