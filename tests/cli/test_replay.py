import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner

from agspec_tui.cli.main import cli, run
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.profile_file import write_profile
from tests.replay.recordings import session, write

QUICK = ("--drafters", "none,pld,agspec-sam", "--policies", "fixed-8,oracle", "--cost", "gpu")
MODEL = ("--model", "smollm2-135m")
ROW = [
    *("drafter", "policy", "source", "role", "turn", "cost", "n_tokens", "n_steps", "n_drafted"),
    *("n_accepted", "accept_length", "rejected_per_step", "accept_rate", "draft_us_p50"),
    *("draft_us_p99", "speedup", "share_of_oracle", "pass_cost", "plain_cost"),
]


@pytest.fixture
def traces(tmp_path, smollm2):
    return write(tmp_path / "shop.jsonl", [session(number) for number in range(3)])


def replay(*args):
    return CliRunner().invoke(cli, ["replay", *map(str, args), *MODEL])


def test_the_document_has_the_known_form(traces, tmp_path):
    done = replay(traces, *QUICK, "--json", tmp_path / "out.json")
    assert done.exit_code == 0, done.output
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["schema"] == 1
    assert document["model"] == "smollm2-135m"
    assert document["traces"] == ["shop"]
    assert document["costs"] == ["gpu"]
    assert set(document["default"]) == {"drafter", "policy"}
    assert {tuple(row) for row in document["rows"]} == {tuple(ROW)}
    assert {(row["role"], row["turn"]) for row in document["rows"]} == {("all", "all")}
    names = [(r["drafter"], r["policy"]) for r in document["rows"] if r["source"] == "shop"]
    assert names == [
        ("none", "own"),
        ("pld", "own"),
        ("agspec-sam", "fixed-8"),
        ("agspec-sam", "oracle"),
    ]
    assert document["n_sessions"] == {"shop": 3}
    assert document["n_calls"] == {"shop": 12}


def test_tables_are_shown_with_their_definition(traces):
    done = replay(traces, *QUICK)
    assert re.search(r"^  agspec-sam +oracle +\d\.\d\d× +100%", done.stdout, re.MULTILINE)
    assert "mean of A + 1 over steps" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_json_on_stdout_stands_alone(traces):
    done = replay(traces, *QUICK, "--json", "-", "--by", "role,turn")
    roles = {row["role"] for row in json.loads(done.stdout)["rows"]}
    assert roles == {"all", "planner", "coder", "reviewer"}


def test_markdown_and_a_chart_are_written(traces, tmp_path):
    markdown, svg = tmp_path / "out.md", tmp_path / "out.svg"
    done = replay(traces, *QUICK, "--markdown", markdown, "--svg", svg)
    assert done.exit_code == 0
    assert markdown.read_text().startswith("# Replay: smollm2-135m\n")
    assert ET.parse(svg).getroot().tag.endswith("svg")


def test_ablations_are_options(traces):
    def accepted(*more):
        done = replay(traces, *QUICK, "--json", "-", *more)
        assert done.exit_code == 0, done.output
        rows = json.loads(done.stdout)["rows"]
        return {(r["drafter"], r["policy"]): r["n_accepted"] for r in rows}["agspec-sam", "oracle"]

    whole = accepted()
    assert accepted("--corpora", "none") == 0
    assert 0 < accepted("--corpora", "per-call") < whole
    assert 0 < accepted("--corpora", "workspace", "--views", "off") <= whole
    assert accepted("--corpora", "session,workspace,global") > 0
    assert accepted("--resume", "on") >= accepted("--resume", "off") > 0
    assert 0 < accepted("--sessions", "1") < whole
    assert 0 < accepted("--sessions", "34%", "--split-by", "none", "--batch", "16") < whole


def test_policies_can_start_from_a_profile(traces, tmp_path):
    path = tmp_path / "p.json"
    made = CliRunner().invoke(
        cli, ["profile", str(traces), *MODEL, "--output", str(path)], catch_exceptions=False
    )
    assert made.exit_code == 0, made.output
    quick = ("--drafters", "agspec-sam", "--policies", "goodput,oracle", "--cost", "gpu")
    done = replay(traces, *quick, "--profile", path, "--json", "-")
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert document["options"]["split_by"] == ""
    (goodput,) = [r for r in document["rows"] if (r["policy"], r["source"]) == ("goodput", "shop")]
    assert goodput["share_of_oracle"] > 0.5


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "TRACES"),
        (["none.jsonl"], "none.jsonl does not exist"),
        (["empty.jsonl"], "there is no session"),
        (["broken.jsonl.gz"], "there is no session"),
        (["shop.jsonl", "--model", "none.gguf"], "none.gguf"),
        (["shop.jsonl", "--model", "scripted:s.json"], "has no tokenizer"),
        (["shop.jsonl", "--drafters", "none,magic"], "unknown drafter 'magic'"),
        (["shop.jsonl", "--drafters", "draft-model"], "replay does not"),
        (["shop.jsonl", "--drafters", ","], "no drafter is named"),
        (["shop.jsonl", "--policies", "greedy"], "unknown policy 'greedy'"),
        (["shop.jsonl", "--policies", "own"], "unknown policy 'own'"),
        (["shop.jsonl", "--policies", "fixed-0"], "'fixed-0' is no policy"),
        (["shop.jsonl", "--policies", "oracle-3"], "'oracle-3' is no policy"),
        (["shop.jsonl", "--policies", "agspec+speed"], "'agspec+speed' is no policy"),
        (["shop.jsonl", "--policies", "fixed-8+log"], "'fixed-8+log' is no policy"),
        (["shop.jsonl", "--cost", "tpu"], "unknown cost 'tpu'"),
        (["shop.jsonl", "--cost", "shop.jsonl"], "shop.jsonl is no calibration"),
        (["shop.jsonl", "--cost", "."], "cannot be read"),
        (["shop.jsonl", "--by", "model"], "unknown --by 'model'"),
        (["shop.jsonl", "--corpora", "web"], "unknown corpus 'web'"),
        (["shop.jsonl", "--corpora", "session,per-call"], "exclude each other"),
        (["shop.jsonl", "--sessions", "few"], "'few' is no number of sessions"),
        (["shop.jsonl", "--sessions", "0"], "'0' is no number of sessions"),
        (["shop.jsonl", "--sessions", "150%"], "'150%' is no number of sessions"),
        (["shop.jsonl", "--batch", "3"], "batch"),
        (["shop.jsonl", "--profile", "none.json"], "none.json cannot be read"),
        (["shop.jsonl", "--profile", "shop.jsonl"], "shop.jsonl is no profile"),
        (["shop.jsonl", "--profile", "other.json"], "made for another vocabulary"),
        (["shop.jsonl", "--json", "none/out.json"], "no folder"),
    ],
)
def test_wrong_input_is_one_line_with_a_hint(traces, args, message, capsys, monkeypatch):
    monkeypatch.chdir(traces.parent)
    Path("s.json").write_text('{"replies": []}')
    write_profile(Path("other.json"), Profile("other-model", "ff" * 32))
    Path("empty.jsonl").touch()
    Path("broken.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00broken")
    assert run(["replay", *args, *(MODEL if "--model" not in args else ())]) == 2
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert error[0].startswith("error: ")
    assert message in error[0]
    assert error[0].endswith(")")


def test_what_is_skipped_is_named_at_the_end(traces):
    with traces.open("a") as file:
        file.write('{"session_id": "half')
    done = replay(traces, *QUICK)
    assert done.exit_code == 0
    assert done.stderr.startswith(f"skipped {traces}, line 4: no session")


def test_progress_is_a_bar_on_a_terminal_and_leaves_nothing(traces):
    args = ["-m", "agspec_tui", "replay", str(traces), *QUICK, *MODEL, "--workers", "1"]
    child = pexpect.spawn(
        sys.executable, args, env={**os.environ, "TERM": "xterm"}, timeout=60, encoding="utf-8"
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "sessions left" in child.before
    *_, after = child.before.partition("\r\x1b[Kgpu cost")
    assert after


def has_ended(group):
    """Whether no process of the group is left, or is within ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_interrupting_ends_every_process(traces):
    many = write(traces.with_name("many.jsonl"), [session(n) for n in range(400)])
    args = [sys.executable, "-m", "agspec_tui", "replay", str(many), *MODEL, "--workers", "2"]
    child = subprocess.Popen(
        args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(4)
    os.killpg(child.pid, signal.SIGINT)
    _, error = child.communicate(timeout=30)
    assert child.returncode == 130
    assert error == "error: interrupted\n"
    assert has_ended(child.pid)
