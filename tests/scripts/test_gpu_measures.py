import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import ROOT

FILE = "".join(f"def get_{name}(self):\n    return self.{name}\n\n" for name in "abcdefghijklmnop")


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """Two sessions: one repeats a file, with a change the second time; one writes something new."""
    new = " ".join(f"word{number}" for number in range(100))
    first = {"messages": [["user", f"Repeat this:\n{FILE}"]], "reply": FILE}
    second = {
        "messages": [*first["messages"], ["assistant", FILE], ["user", "Rename c to z."]],
        "reply": FILE.replace("c", "z"),
    }
    other = {"messages": [["system", "Be brief."], ["user", "Write words."]], "reply": new}
    path = tmp_path / "sessions.json"
    listed = [{"name": "edit", "calls": [first, second]}, {"name": "new", "calls": [other]}]
    path.write_text(json.dumps(listed))
    return path


def measured(script: str, model: Path, sessions: Path, *more: str) -> dict:
    out = sessions.with_name("out.json")
    result = subprocess.run(
        [sys.executable, f"scripts/{script}", str(model), str(sessions), str(out), *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(out.read_text())


def test_forced_replies_are_timed_with_every_method_alone_and_together(quantised, sessions):
    found = measured("gpu_bench.py", quantised, sessions, "--batches", "1,2", "--rounds", "1")
    rows = {(row["method"], row["batch"]): row for row in found["rows"]}
    assert set(rows) == {(name, n) for name in ("none", "agspec-sam", "fixed32") for n in (1, 2)}
    for batch in (1, 2):
        of_batch = [row for row in found["rows"] if row["batch"] == batch]
        assert len({row["n_tokens"] for row in of_batch}) == 1
        assert rows["none", batch]["accept_length"] == rows["none", batch]["speedup"] == 1.0
        assert all(row["tok_per_s"] > 0 for row in of_batch)
    assert rows["none", 1]["n_replies"] == 3
    assert rows["agspec-sam", 1]["accept_length"] > 1.5
    assert found["notes"] == []


def test_a_batch_of_more_sessions_than_there_are_is_noted(quantised, sessions):
    found = measured("gpu_bench.py", quantised, sessions, "--batches", "3", "--rounds", "1")
    assert found["notes"] == ["2 sessions for a batch of 3"]


def test_drafts_change_nothing_that_the_target_says(quantised, sessions):
    found = measured("gpu_lossless.py", quantised, sessions, "--n-tokens", "40")
    assert found["lossless"] is True
    assert (found["n_prompts"], found["n_tokens"]) == (2, 2 * 4 * 40)
    assert found["n_accepted"] > 20
