import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import ROOT, files

SHELL = [*sorted(str(path) for path in files(".sh", under="scripts")), ".ci/run"]


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script from the root, without a terminal."""
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def wheel_key(**variables: str) -> str:
    """The wheel folder that llama.cpp would be installed from."""
    result = run(sys.executable, "scripts/llama_wheel.py", "--print-key", **variables)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize("script", SHELL)
def test_shell_scripts_parse_and_can_be_run(script):
    assert run("bash", "-n", script).returncode == 0
    assert os.access(ROOT / script, os.X_OK)


def test_run_refuses_a_repository_that_is_no_folder():
    result = run("scripts/run.sh", REPO="no/such/folder")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "no/such/folder is not a folder" in result.stderr


def test_run_without_a_terminal_asks_for_an_issue(tmp_path):
    result = run("scripts/run.sh", REPO=str(tmp_path), ISSUE="")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "ISSUE=" in result.stderr


def test_a_sample_is_a_clean_repository_made_afresh(tmp_path):
    folder = tmp_path / "a sample"
    folder.mkdir()
    (folder / "left over").touch()
    result = run("scripts/sample.sh", str(folder), "word-count")
    assert result.returncode == 0, result.stderr
    assert (folder / "ISSUE.md").is_file()
    assert not (folder / "left over").exists()
    status = run("git", "-C", str(folder), "status", "--porcelain")
    assert (status.returncode, status.stdout) == (0, "")
    top = run("git", "-C", str(folder), "rev-parse", "--show-toplevel").stdout.strip()
    assert Path(top).resolve() == folder.resolve()


def test_an_unknown_sample_is_refused(tmp_path):
    result = run("scripts/sample.sh", str(tmp_path / "sample"), "no-such-sample")
    assert result.returncode == 2
    assert "no-such-sample" in result.stderr


def test_other_flags_or_compilers_mean_another_wheel(tmp_path):
    keys = [
        wheel_key(CMAKE_ARGS="", XDG_CACHE_HOME=str(tmp_path)),
        wheel_key(CMAKE_ARGS="-DGGML_CUDA=on", XDG_CACHE_HOME=str(tmp_path)),
        wheel_key(CMAKE_ARGS="", CXX="another-compiler", XDG_CACHE_HOME=str(tmp_path)),
    ]
    assert len(set(keys)) == 3
    assert all(Path(key).parent == tmp_path / "agspec-tui" / "wheels" for key in keys)


def test_the_same_flags_mean_the_same_wheel():
    assert wheel_key(CMAKE_ARGS="-DGGML_CUDA=on") == wheel_key(CMAKE_ARGS=" -DGGML_CUDA=on ")


def test_a_phase_keeps_the_exit_code_and_says_so():
    result = run("scripts/phase.sh", "a phase", "bash", "-c", "exit 7")
    assert result.returncode == 7
    assert "a phase: FAILED with exit code 7" in result.stderr


def test_run_time_requirements_leave_out_what_is_compiled_with_flags():
    listed = run(sys.executable, "scripts/requirements.py", "run").stdout.split()
    assert not [name for name in listed if name.startswith("llama")]
    assert [name for name in listed if name.startswith("scikit-build-core")]
    assert run(sys.executable, "scripts/requirements.py", "llama").stdout.startswith("llama-cpp-p")
