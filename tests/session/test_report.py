import msgspec
import pytest

from agspec_tui.events import (
    CommandFinished,
    EditProposed,
    EditRefused,
    SessionFailed,
    SessionStarted,
    TaskFinished,
    TaskSubmitted,
    TurnFinished,
    VerdictReached,
)
from agspec_tui.session.report import ReportBuilder, encode

STARTED = SessionStarted(
    session_id="s", repo="r", model="m", roles=(), drafter="d", policy="p", test_command="t"
)


def ran(passed, failed):
    return CommandFinished(
        command="t", exit_code=int(failed > 0), timed_out=False, output="", wall_s=0.1,
        passed=passed, failed=failed,
    )  # fmt: skip


def spoke(role, turn):
    return TurnFinished(
        role=role, turn=turn, stop_reason="eog", n_tokens=30, n_steps=10, n_drafted=40,
        n_accepted=20, accept_length=3.0, rejected=20, tok_per_s=12.34567, n_prompt=100,
        n_reused=60, broken_by="", alpha=0.9,
    )  # fmt: skip


def ended(status, diff):
    return TaskFinished(status=status, summary="s", diff=diff, wall_s=1.5)


def report(*events, egress=0):
    builder = ReportBuilder()
    for event in events:
        builder.add(event)
    return msgspec.json.decode(encode(builder.document(egress)))


PROPOSED = EditProposed(turn=1, form="whole", files=("a.py",), diff="-a\n+b\n")


def test_a_fixed_task_reports_every_field():
    made = report(
        STARTED, TaskSubmitted(text="i"), ran(1, 2), spoke("planner", 1), spoke("coder", 1),
        PROPOSED, ran(3, 0), VerdictReached(passed=True, reason=""), ended("fixed", "-a\n+b\n"),
        egress=4,
    )  # fmt: skip
    assert made["schema"] == 1
    assert made["status"] == "fixed"
    assert made["model"] == "m"
    assert made["tests"] == {
        "before": {"passed": 1, "failed": 2, "command": "t"},
        "after": {"passed": 3, "failed": 0, "command": "t"},
    }
    assert made["turns"][1] == {
        "role": "coder", "turn": 1, "n_tokens": 30, "n_steps": 10, "n_drafted": 40,
        "n_accepted": 20, "accept_length": 3.0, "rejected": 20, "tok_per_s": 12.346,
        "n_prompt": 100, "n_reused": 60, "alpha": 0.9, "candidate": 0,
    }  # fmt: skip
    assert made["diff"] == "-a\n+b\n"
    assert made["wall_s"] == 1.5
    assert made["egress"] == 4
    assert [one["result"] for one in made["tried"]] == ["PASS"]


def test_a_restored_tree_reports_the_tests_as_they_were():
    made = report(
        STARTED, TaskSubmitted(text="i"), ran(1, 2), PROPOSED, ran(0, 3),
        VerdictReached(passed=False, reason="worse"), ended("not_fixed", ""),
    )  # fmt: skip
    assert made["tests"]["after"] == {"passed": 1, "failed": 2, "command": "t"}
    assert made["tried"] == [
        {
            "turn": 1,
            "form": "whole",
            "files": ["a.py"],
            "result": "FAIL: worse",
            "diff": "-a\n+b\n",
        }
    ]


def test_a_refused_edit_is_reported_with_its_reason():
    made = report(TaskSubmitted(text="i"), EditRefused(turn=2, form="udiff", message="not there"))
    assert made["tried"][0] == {
        "turn": 2, "form": "udiff", "files": [], "result": "not there", "diff": "",
    }  # fmt: skip


@pytest.mark.parametrize("events", [(), (TaskSubmitted(text="i"),)])
def test_a_task_that_never_ended_counts_as_failed(events):
    made = report(*events, SessionFailed(message="no tests", hint=""))
    assert made["status"] == "failed"
    assert made["summary"] == "no tests"
    assert made["tests"]["before"]["passed"] == -1


def test_a_second_task_starts_a_new_report():
    first = (TaskSubmitted(text="i"), ran(1, 2), spoke("coder", 1), PROPOSED, ended("fixed", "d"))
    made = report(STARTED, *first, TaskSubmitted(text="j"), ran(3, 0), spoke("coder", 2))
    assert [row["turn"] for row in made["turns"]] == [2]
    assert made["tests"]["before"]["passed"] == 3
    assert made["tried"] == []
