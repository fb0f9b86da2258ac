import fcntl
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.house.sources import ROOT, data_folders, package_python, project_files, text

GRAMMARS = ("bash", "c", "cpp", "go", "java", "javascript", "python", "rust", "typescript")
RUN_TIME = {
    *("click", "llama-cpp-python", "msgspec", "numpy", "platformdirs", "psutil", "textual"),
    "watchdog",
    "tree-sitter",
    *(f"tree-sitter-{name}" for name in GRAMMARS),
}


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock: test processes share the build folder, so that only the first one compiles."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory) -> set[str]:
    """Names of the files in a wheel built from this tree, in a build folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    command += ["-Cbuild-dir=build/wheel-test", "-w", str(folder), "."]
    with alone(ROOT / "build" / "wheel-test.lock"):
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_module(wheel_names):
    assert {str(path) for path in package_python()} <= wheel_names


@pytest.mark.parametrize("folder", data_folders())
def test_the_wheel_holds_the_data_folders(wheel_names, folder):
    data = {
        f"{data_folders()[folder]}/{path.relative_to(folder)}"
        for path in project_files()
        if path.is_relative_to(folder)
    }
    assert data
    assert data <= wheel_names


def test_the_wheel_holds_the_compiled_core_its_stub_and_the_type_marker(wheel_names):
    assert {"agspec_tui/_native.pyi", "agspec_tui/py.typed"} <= wheel_names
    cores = [n for n in wheel_names if n.startswith("agspec_tui/_native") and n.endswith(".so")]
    assert len(cores) == 1


def test_the_wheel_holds_nothing_else(wheel_names):
    tops = {name.partition("/")[0] for name in wheel_names}
    assert {top.partition("-")[0] for top in tops} == {"agspec_tui"}
    assert not [name for name in wheel_names if name.endswith((".cpp", ".hpp", ".pyc"))]


def test_run_time_dependencies_are_the_ones_agreed_on():
    project = tomllib.loads(text(Path("pyproject.toml")))["project"]
    names = {entry.partition("=")[0].partition(">")[0] for entry in project["dependencies"]}
    assert names == RUN_TIME


def test_llama_cpp_python_is_pinned_exactly():
    project = tomllib.loads(text(Path("pyproject.toml")))["project"]
    (pin,) = [entry for entry in project["dependencies"] if entry.startswith("llama")]
    assert pin.partition("==")[2].replace(".", "").isdigit()
