import asyncio
import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from agspec_tui.cli.eval import with_settings
from agspec_tui.cli.main import run
from agspec_tui.config import Config, evals_dir, prefixes_dir, profiles_dir, sessions_dir
from agspec_tui.engine.recording import RecordedEnd
from agspec_tui.errors import UsageError
from agspec_tui.replay.live import read_recording
from agspec_tui.resources import find
from agspec_tui.session import evaluation
from agspec_tui.session.evaluation import Results, TaskRow
from agspec_tui.session.session import Session
from agspec_tui.session.tasks import read_task, read_tasks
from tests.session.scripted import FIXED, SCRIPTS, TESTS, make_repo, plan, script, snapshot, whole

SETTINGS = "n_ctx = 200000\n"


@pytest.fixture(autouse=True)
def roomy(own_home, tmp_path, monkeypatch):
    own_home.mkdir(parents=True)
    (own_home / "config.toml").write_text(SETTINGS)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def make_task(folder, name, *, issue="total() is wrong", settings=None, test=TESTS):
    place = folder / name
    make_repo(place / "repo")
    (place / "ISSUE.md").write_text(issue)
    if settings is None:
        settings = f"id = {json.dumps(name)}\ntest = {json.dumps(test)}\ntimeout_s = 30\n"
    (place / "task.toml").write_text(settings)
    return place


@pytest.fixture
def tasks(tmp_path):
    """One task that the script fixes, one that it cannot: its tests want more."""
    folder = tmp_path / "tasks"
    make_task(folder, "one")
    make_task(folder, "two", test="exit 1")
    return folder


def arguments(tasks, *more, path=SCRIPTS / "hopeless.json"):
    return ["eval", str(tasks), "--model", f"scripted:{path}", *map(str, more)]


def test_a_recording_is_made_of_every_task_on_request_only(tasks, tmp_path):
    folder = tmp_path / "recordings"
    assert run(arguments(tasks, "--record", folder)) == 0
    found = [list(read_recording(path)) for path in folder.iterdir()]
    assert len(found) == 2
    for lines in found:
        assert sum(isinstance(line, RecordedEnd) for line in lines) >= 3
    assert run(arguments(tasks, "--restart")) == 0
    assert len(list(folder.iterdir())) == 2


def test_every_task_runs_and_the_document_says_what_came_out(tasks, tmp_path, capsys):
    out, before = tmp_path / "out.json", snapshot(tasks)
    path = SCRIPTS / "fixed.json"
    assert run(arguments(tasks, "--only", "one", "--json", out, path=path)) == 0
    document = json.loads(out.read_text())
    assert document.keys() == {"schema", "model", "settings", "tasks", "fixed", "total"}
    assert (document["schema"], document["model"]) == (1, "scripted:fixed")
    assert (document["fixed"], document["total"]) == (1, 1)
    assert document["settings"]["n_ctx"] == 200_000
    (row,) = document["tasks"]
    assert (row["id"], row["status"], row["turns"]) == ("one", "fixed", 1)
    assert (row["n_passed"], row["n_failed"]) == (3, 0)
    assert row["n_tokens"] > 100
    assert row["wall_s"] > 0
    assert row["accept_length"] > 1
    assert snapshot(tasks) == before
    said = capsys.readouterr()
    assert "fixed 1 of 1 (100 %)" in said.out
    assert "1/1  one: fixed, 1 turn" in said.err


@pytest.mark.parametrize(
    ("own", "part"),
    [
        ('approve = "ask"\n', "allows `ask` at most"),
        ('approve = "auto-edit"\n', "allows `auto-edit` at most"),
        ('approve = "plan-only"\n', "allows `plan-only` at most"),
        ("approve = \n", "cannot be read"),
    ],
)
def test_a_task_whose_repository_wants_a_person_fails_and_is_not_waited_for(
    tasks, own, part, capsys
):
    (tasks / "one" / "repo" / ".agspec.toml").write_text(own)
    assert run(arguments(tasks, "--only", "one", path=SCRIPTS / "fixed.json")) == 1
    said = capsys.readouterr()
    assert f"one: failed: its .agspec.toml {part}" in said.err
    assert "fixed 0 of 1" in said.out


async def test_a_question_ends_the_work_since_nobody_answers(tmp_path):
    config = Config(model=f"scripted:{SCRIPTS / 'fixed.json'}", n_ctx=200_000, approve="ask")
    session = Session(make_repo(tmp_path / "repo"), config, test_command=TESTS)
    try:
        with pytest.raises(UsageError, match=r"it asks: write calc\.py"):
            await asyncio.wait_for(evaluation._report(session, "total() is wrong"), 60)
    finally:
        await session.close()


def test_a_repository_that_cannot_be_copied_fails_alone(tasks, capsys):
    os.mkfifo(tasks / "one" / "repo" / "pipe")
    assert run(arguments(tasks)) == 1
    said = capsys.readouterr()
    assert "one: failed: " in said.err
    assert "pipe cannot be copied" in said.err
    assert "two: not fixed" in said.err


def test_tasks_leave_nothing_but_their_rows(tasks, own_home):
    (own_home / "config.toml").write_text(f"{SETTINGS}keep_prefix = true\n")
    assert run(arguments(tasks, "--only", "one", path=SCRIPTS / "fixed.json")) == 0
    left = {path.parent.name for path in evals_dir().parent.rglob("*") if path.is_file()}
    assert left == {"evals"}
    assert not any(folder.exists() for folder in (sessions_dir(), profiles_dir(), prefixes_dir()))


async def test_tasks_start_from_no_counts_of_others(tasks, smollm2, tmp_path):
    make_task(tasks, "short", test="exit 1")
    config = Config(
        model=str(smollm2), n_ctx=2048, max_turns=1, max_tokens=64, calibrate=False,
        keep_counts=True,
    )  # fmt: skip
    await evaluation.run_task(read_task(tasks / "short"), config)
    assert not profiles_dir().exists()


def test_the_rows_are_read_by_their_owner_alone(tasks):
    run(arguments(tasks, "--only", "two", "--set", "max_turns=1"))
    (kept,) = evals_dir().iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (evals_dir(), kept)] == [0o700, 0o600]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("team.toml", "max_turns = 5", "max_turns = 4"),
        ("team.toml", "hand_over_after = 3", "hand_over_after = 4"),
        ("guide.md", "", "Answer in one sentence.\n"),
        ("planner_look.gbnf", "", "# another\n"),
    ],
)
def test_another_team_has_results_of_its_own(tasks, own_home, name, old, new):
    config = Config(model=f"scripted:{SCRIPTS / 'fixed.json'}")
    before = evaluation.results_of(tasks, config).path
    shipped = find("agents", name).read_text(encoding="utf-8")
    assert old in shipped
    own = own_home / "agents"
    own.mkdir()
    (own / name).write_text(shipped.replace(old, new) if old else shipped + new)
    assert evaluation.results_of(tasks, config).path != before


def test_a_task_that_is_not_fixed_counts_as_run(tasks, capsys):
    assert run(arguments(tasks, "--only", "two")) == 0
    said = capsys.readouterr()
    assert "fixed 0 of 1 (0 %)" in said.out
    assert "two: not fixed, 5 turns" in said.err


def test_finished_tasks_are_kept_and_not_run_again(tasks, tmp_path, capsys):
    assert run(arguments(tasks, "--only", "two", "--json", tmp_path / "a.json")) == 0
    assert run(arguments(tasks, "--only", "two", "--json", tmp_path / "b.json")) == 0
    assert "(finished before)" in capsys.readouterr().err
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    assert first == second


@pytest.mark.parametrize(
    ("change", "more"),
    [("task", ()), ("settings", ("--set", "max_turns=2")), ("restart", ("--restart",))],
)
def test_a_changed_task_other_settings_and_a_restart_run_again(tasks, change, more, capsys):
    assert run(arguments(tasks, "--only", "two")) == 0
    if change == "task":
        (tasks / "two" / "ISSUE.md").write_text("total() is still wrong")
    assert run(arguments(tasks, "--only", "two", *more)) == 0
    said = capsys.readouterr().err
    assert "finished before" not in said
    assert ("2 turns" in said) == (change == "settings")


def test_a_task_that_failed_is_run_again(tasks, tmp_path, capsys):
    path = script(tmp_path)  # a script without a reply: the engine refuses
    assert run(arguments(tasks, "--only", "one", path=path)) == 1
    assert "one: failed: " in capsys.readouterr().err
    script(tmp_path, plan("calc.py"), whole("calc.py", FIXED), "PASS")
    assert run(arguments(tasks, "--only", "one", path=path)) == 0
    assert "one: fixed" in capsys.readouterr().err


BAD = {
    "no repo": lambda place: (
        [path.unlink() for path in (place / "repo").rglob("*.py")]
        and [(place / "repo" / "tests").rmdir(), (place / "repo").rmdir()]
    ),
    "no issue": lambda place: (place / "ISSUE.md").unlink(),
    "empty issue": lambda place: (place / "ISSUE.md").write_text(" \n"),
    "odd issue": lambda place: (place / "ISSUE.md").write_bytes(b"\xff\xfe"),
    "no settings": lambda place: (place / "task.toml").unlink(),
    "no toml": lambda place: (place / "task.toml").write_text("id ="),
    "unknown key": lambda place: (place / "task.toml").write_text(
        'id = "x"\ntest = "true"\ntime = 3\n'
    ),
    "no test": lambda place: (place / "task.toml").write_text('id = "x"\n'),
    "empty test": lambda place: (place / "task.toml").write_text('id = "x"\ntest = " "\n'),
    "odd id": lambda place: (place / "task.toml").write_text('id = "../x"\ntest = "true"\n'),
    "no time": lambda place: (place / "task.toml").write_text(
        'id = "x"\ntest = "true"\ntimeout_s = 0\n'
    ),
    "same id": lambda place: (place / "task.toml").write_text('id = "one"\ntest = "true"\n'),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_task_is_one_line_with_a_hint_and_the_others_are_read(tmp_path, fault):
    folder = tmp_path / "tasks"
    make_task(folder, "one")
    BAD[fault](make_task(folder, "two"))
    tasks, faults = read_tasks(folder)
    assert [task.id for task in tasks] == ["one"]
    assert [error.message.startswith("two: ") for error in faults] == [True]
    assert faults[0].hint
    assert "\n" not in faults[0].one_line()


def test_bad_tasks_are_told_and_the_others_run(tasks, tmp_path, capsys):
    (tasks / "two" / "task.toml").unlink()
    assert run(arguments(tasks, path=SCRIPTS / "fixed.json")) == 1
    said = capsys.readouterr()
    assert "error: two: task.toml is missing" in said.err
    assert "fixed 1 of 1" in said.out


@pytest.mark.parametrize(
    ("name", "part"),
    [("missing", "does not exist"), ("file", "is a file"), ("empty", "holds no tasks")],
)
def test_a_folder_without_tasks_is_wrong_usage(tmp_path, name, part, capsys):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    assert run(arguments(tmp_path / name)) == 2
    said = capsys.readouterr().err
    assert part in said
    assert said.count("\n") == 1


def test_an_unknown_id_is_wrong_usage(tasks, capsys):
    assert run(arguments(tasks, "--only", "one,three")) == 2
    assert "no task three" in capsys.readouterr().err


def test_settings_are_read_as_in_the_file_of_settings():
    config = with_settings(Config(), ["max_turns=2", "drafter=none", "watch=false", "eta=0.5"])
    assert (config.max_turns, config.drafter, config.watch, config.eta) == (2, "none", False, 0.5)


@pytest.mark.parametrize("change", ["max_turns", "turns=3", "max_turns=many", "split=half"])
def test_a_wrong_setting_is_refused(change):
    with pytest.raises(UsageError):
        with_settings(Config(), [change])


def row(name, status="fixed"):
    return TaskRow(
        id=name, status=status, turns=1, n_tokens=9, wall_s=1.5, accept_length=2.0, n_prompt=5,
        n_passed=1, n_failed=0, summary="done",
    )  # fmt: skip


def test_results_survive_a_torn_tail(tmp_path):
    """R03: what comes after a line that was cut off is not joined to it."""
    one, two = (read_task(make_task(tmp_path / "tasks", name)) for name in ("one", "two"))
    path = tmp_path / "results.jsonl"
    Results(path).add(one, row("one"))
    Results(path).add(two, row("two"))
    path.write_bytes(path.read_bytes()[:-20])
    torn = Results(path)
    assert (torn.of(one), torn.of(two)) == (row("one"), None)
    torn.add(two, row("two"))
    assert (Results(path).of(one), Results(path).of(two)) == (row("one"), row("two"))


def test_an_interrupted_run_goes_on_from_where_it_was(tasks, tmp_path):
    path = script(tmp_path, plan("calc.py"), whole("calc.py", FIXED), "PASS", step_delay_s=0.02)
    command = [sys.executable, "-m", "agspec_tui", *arguments(tasks, path=path)]
    (tasks / "two" / "task.toml").write_text(
        (tasks / "one" / "task.toml").read_text().replace('"one"', '"two"')
    )
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        line = process.stderr.readline()
        assert line.startswith("1/2  one: fixed"), line
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(timeout=30) == 130, rest
    assert "goes on from here" in rest
    again = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert again.returncode == 0, again.stderr
    assert "one: fixed, 1 turn" in again.stderr
    assert again.stderr.count("(finished before)") == 1
    assert "fixed 2 of 2" in again.stdout
