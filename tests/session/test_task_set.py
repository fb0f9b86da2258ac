import re
import shutil
import subprocess
from pathlib import Path

import pytest

from agspec_tui.session.tasks import read_tasks

FOLDER = Path(__file__).parents[1] / "data" / "tasks"
TASKS, FAULTS = read_tasks(FOLDER)


def run(task, repo):
    return subprocess.run(
        task.settings.test, shell=True, cwd=repo, capture_output=True, text=True,
        timeout=task.settings.timeout_s,
    )  # fmt: skip


def test_the_set_is_large_and_of_several_languages():
    assert FAULTS == []
    assert len(TASKS) >= 24
    languages = [
        {path.suffix for path in task.repo.rglob("*")} & {".py", ".js", ".c"} for task in TASKS
    ]
    assert all(len(each) == 1 for each in languages)
    assert set().union(*languages) == {".py", ".js", ".c"}
    assert sum(each == {".py"} for each in languages) > len(TASKS) / 2


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_task_fails_until_its_patch_is_applied(task, tmp_path):
    tool = task.settings.test.split()[0]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    before = tmp_path / "before"
    shutil.copytree(task.repo, before)
    failed = run(task, before)
    assert failed.returncode != 0
    assert re.search(r"FAILED|Error|fail", failed.stdout + failed.stderr)
    fixed = tmp_path / "fixed"
    shutil.copytree(task.repo, fixed)
    subprocess.run(["git", "apply", "-p1", str(task.folder / "fix.patch")], cwd=fixed, check=True)
    passed = run(task, fixed)
    assert passed.returncode == 0, passed.stdout + passed.stderr


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_patch_touches_no_test(task):
    paths = re.findall(r"^\+\+\+ b/(.*)$", (task.folder / "fix.patch").read_text(), re.M)
    assert paths
    assert not [path for path in paths if "test" in path]
