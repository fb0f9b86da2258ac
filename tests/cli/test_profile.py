import json

import pytest

from agspec_tui.cli.main import run
from agspec_tui.policy.profile_file import read_profile

TEXT = "def total(items):\n    return sum(item.price * item.count for item in items)\n" * 4


def trace(path, n_sessions=2, roles=("planner", "coder")):
    lines = [
        {
            "session_id": f"s{number}",
            "task": f"t{number}",
            "calls": [
                {
                    "agent_id": role,
                    "role": role,
                    "ctx": "new",
                    "prompt": [{"role": "user", "content": TEXT}],
                    "output": TEXT[: 200 + 10 * number],
                }
                for role in roles
            ],
        }
        for number in range(n_sessions)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "agspec-tui" / "profiles"


def test_caps_and_counts_are_written_for_each_role(tmp_path, smollm2, capsys, own_data):
    traces = trace(tmp_path / "t.jsonl")
    figures = tmp_path / "figures.json"
    args = ["profile", str(traces), "--model", str(smollm2), "--json", str(figures)]
    assert run(args) == 0
    (path,) = own_data.iterdir()
    profile = read_profile(path)
    assert profile.model == smollm2.stem
    assert len(profile.tokenizer) == 64
    assert profile.roles() == ["coder", "planner"]
    assert all(profile.n_drafts(role) > 0 for role in profile.roles())
    document = json.loads(figures.read_text())
    assert [row["role"] for row in document["rows"]] == ["coder", "planner", "all"]
    for row in document["rows"]:
        assert set(row["caps"]) == {"cpu", "gpu", "metal"}
        assert row["mean_reusable"] > 5  # everything is a copy
    out = capsys.readouterr().out
    assert "coder" in out
    assert str(path) in out


def test_a_profile_for_every_model_counts_all_roles_together(tmp_path, smollm2, capsys):
    path = tmp_path / "all.json"
    args = ["profile", str(trace(tmp_path / "t.jsonl")), "--model", str(smollm2)]
    assert run([*args, "--any-model", "--output", str(path)]) == 0
    profile = read_profile(path)
    assert (profile.model, profile.tokenizer, profile.roles()) == ("", "", ["all"])
    assert run([*args, "--any-model"]) == 2
    assert "--output" in capsys.readouterr().err


def test_the_same_traces_give_the_same_counts(tmp_path, smollm2):
    traces = str(trace(tmp_path / "t.jsonl"))
    for name in ("a", "b"):
        args = ["profile", traces, "--model", str(smollm2), "--output", str(tmp_path / name)]
        assert run(args) == 0
    one, two = (json.loads((tmp_path / name).read_text())["roles"] for name in ("a", "b"))
    assert one == two


def test_broken_lines_are_named_and_skipped(tmp_path, smollm2, capsys):
    traces = trace(tmp_path / "t.jsonl")
    with traces.open("a") as file:
        file.write('{"session_id": "half')
    out = str(tmp_path / "p.json")
    assert run(["profile", str(traces), "--model", str(smollm2), "--output", out]) == 0
    assert "skipped" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "no session"), ("nonsense\n", "no session")],
)
def test_traces_without_sessions_are_refused(tmp_path, smollm2, capsys, content, said):
    path = tmp_path / "t.jsonl"
    path.write_text(content)
    assert run(["profile", str(path), "--model", str(smollm2)]) == 2
    assert said in capsys.readouterr().err


def test_sessions_in_which_nothing_is_drafted_leave_no_profile(tmp_path, smollm2, capsys):
    path = tmp_path / "t.jsonl"
    call = {"prompt": [{"role": "user", "content": "Hi"}], "output": "Yes"}
    path.write_text(json.dumps({"session_id": "s", "calls": [call]}))
    out = tmp_path / "p.json"
    assert run(["profile", str(path), "--model", str(smollm2), "--output", str(out)]) == 2
    assert "nothing was drafted" in capsys.readouterr().err
    assert not out.exists()


def test_drafters_that_must_be_asked_step_by_step_are_refused(tmp_path, smollm2, capsys):
    args = ["profile", str(trace(tmp_path / "t.jsonl")), "--model", str(smollm2)]
    assert run([*args, "--drafter", "llama-ngram-mod"]) == 2
    assert "step by step" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_refused(tmp_path, smollm2, capsys):
    (tmp_path / "file").write_text("")
    out = str(tmp_path / "file" / "p.json")
    args = ["profile", str(trace(tmp_path / "t.jsonl")), "--model", str(smollm2)]
    assert run([*args, "--output", out]) == 2
    assert "cannot be written" in capsys.readouterr().err
