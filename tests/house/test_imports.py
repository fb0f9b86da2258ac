import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import module_name, package_python

LOADS_LLAMA = "agspec_tui.engine.llama"
ROOMS = ["session", "replay", "engine", "models", "forms", "drafting", "policy"]
PROBE = """
import importlib, sys
for name in sys.argv[1].split(","):
    importlib.import_module(name)
sys.__stdout__.write("loaded:" + ",".join(sorted(sys.modules)))
"""


def modules(room: str) -> list[str]:
    """Dotted names of all modules of a room; the entry point, which acts when imported, left out.

    `__main__` guards its call, but a probe must not depend on that.
    """
    names = [module_name(path) for path in package_python()]
    return [name for name in names if f"{name}.".startswith(f"{room}.") and "__main__" not in name]


def run_probe(names: list[str], home: Path) -> subprocess.CompletedProcess[str]:
    """Import modules in a fresh interpreter whose user folders are all under `home`."""
    kept = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    home.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", PROBE, ",".join(names)],
        env={**kept, "HOME": str(home), "TMPDIR": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
    )


def loaded(names: list[str], home: Path) -> set[str]:
    """Modules in memory after importing `names`."""
    result = run_probe(names, home)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.rpartition("loaded:")[2].split(","))


def families(present: set[str], *names: str) -> set[str]:
    """Those of `names` that are loaded themselves or through a submodule."""
    return {n for n in names if any(m == n or m.startswith(f"{n}.") for m in present)}


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_below_the_screen_load_neither_textual_nor_llama(room, tmp_path):
    names = [n for n in modules(f"agspec_tui.{room}") if not n.startswith(LOADS_LLAMA)]
    present = loaded(names, tmp_path / "home")
    assert families(present, "textual", "rich", "llama_cpp") == set()


def test_the_screen_does_not_load_the_engine_s_model_library(tmp_path):
    present = loaded(modules("agspec_tui.tui"), tmp_path / "home")
    assert families(present, "llama_cpp") == set()


def test_the_command_line_starts_light(tmp_path):
    present = loaded(["agspec_tui.cli.main"], tmp_path / "home")
    heavy = families(present, "textual", "rich", "llama_cpp", "numpy", "asyncio", "multiprocessing")
    assert heavy == set()
    own = families(present, "agspec_tui._native", "agspec_tui.tui", "agspec_tui.engine")
    assert own == set()


def test_importing_every_module_prints_nothing_and_makes_no_file(tmp_path):
    home = tmp_path / "home"
    result = run_probe(modules("agspec_tui"), home)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("loaded:")
    assert result.stderr == ""
    assert list(home.rglob("*")) == []
