import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.sources import ROOT, files, nodes, package_python, text

FENCES = {
    "textual": ("agspec_tui/tui/",),
    "rich": ("agspec_tui/tui/",),
    "llama_cpp": ("agspec_tui/engine/llama",),
    "huggingface_hub": ("agspec_tui/models/",),
    "agspec_tui._native": (
        "agspec_tui/drafting/",
        "agspec_tui/engine/verify.py",
        "agspec_tui/engine/llama_columns.py",
    ),
}
"""Who may import what needs care."""

THIRD_PARTY = (
    {"click", "msgspec", "numpy", "platformdirs", "psutil"}
    | {"tree_sitter", "tree_sitter_bash", "watchdog"}
    | {name for name in FENCES if "." not in name}
)


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of every import, those inside functions too."""
    for node in nodes(path, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        else:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def test_import_contracts_hold():
    lint = "import sys, importlinter.cli as c; sys.exit(c.lint_imports(no_cache=True))"
    result = subprocess.run(
        [sys.executable, "-c", lint],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Contracts: 0 kept" not in result.stdout


@pytest.mark.parametrize("library", sorted(FENCES))
def test_a_fenced_library_is_imported_in_its_room_only(library):
    astray = [
        f"{path}:{line}"
        for path in package_python()
        if not str(path).startswith(FENCES[library])
        for line, name in imported(path)
        if name == library or name.startswith(f"{library}.")
    ]
    assert astray == []


def test_nothing_is_imported_that_is_not_a_named_dependency():
    known = set(sys.stdlib_module_names) | THIRD_PARTY | {"agspec_tui"}
    strange = [
        f"{path}:{line} {name}"
        for path in package_python()
        for line, name in imported(path)
        if name.partition(".")[0] not in known
    ]
    assert strange == []


def test_no_import_is_relative():
    relative = [
        f"{path}:{node.lineno}"
        for path in package_python()
        for node in nodes(path, ast.ImportFrom)
        if node.level
    ]
    assert relative == []


# The one thing with a deadline: a lock that is given up.
WAITING = "native/include/agspec/handover.hpp chrono"


def test_the_core_knows_neither_python_nor_llama_nor_a_clock():
    foreign = re.compile(r"#include\s*[<\"](Python\.h|pybind11|llama|ggml|chrono|iostream|fstream)")
    found = [
        f"{path} {hit.group(1)}"
        for path in files(".cpp", ".hpp", under="native")
        if path.parts[1] in ("include", "src")
        for hit in foreign.finditer(text(path))
    ]
    assert found == [WAITING]


def test_only_the_bindings_include_the_binding_library():
    users = {str(path) for path in files(".cpp", ".hpp") if "pybind11/" in text(path)}
    assert users == {"native/bindings/module.cpp"}
