"""Finds the command that runs a repository's tests."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agspec_tui.session.counting import failing_names, parse_counts
from agspec_tui.session.repo import list_files

__all__ = ["TestCommand", "failing_names", "find_test_command", "given", "parse_counts"]

_VERBOSITY = re.compile(r"(?<![\w-])(?:-q+|-v+|--quiet|--verbose|--verbosity)\b")
_CACHE_OPTION = re.compile(
    r"cache_dir|--(?:lf|ff|nf|sw|last-failed|failed-first|new-first|stepwise)\b"
)
_LOCKS = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"))
_NO_TEST_SCRIPT = "no test specified"


@dataclass(frozen=True, slots=True)
class TestCommand:
    """A command that runs the tests, from the repository's root."""

    __test__ = False  # pytest must not collect it

    argv: tuple[str, ...]
    """Program and arguments."""
    display: str
    """The command line as it is shown and as a user would type it."""
    kind: str
    """`pytest`, `unittest`, `npm`, `cargo`, `go`, or `given` for one from the user."""


def given(command: str) -> TestCommand:
    """A test command in the user's own words, run by the shell."""
    return TestCommand(("/bin/sh", "-c", command), command, "given")


def find_test_command(repo: Path) -> TestCommand | None:
    """The command that runs the repository's tests; None if it shows no tests. Runs nothing of it.

    Tried in this order: pytest, unittest, npm (or the package manager of the lock file), cargo, go.
    """
    files = list_files(repo)
    return (
        _python_tests(repo, files)
        or _node_tests(repo)
        or _plain(repo / "Cargo.toml", ("cargo", "test"), "cargo")
        or _plain(repo / "go.mod", ("go", "test", "./..."), "go")
    )


def _plain(manifest: Path, argv: tuple[str, ...], kind: str) -> TestCommand | None:
    return TestCommand(argv, shlex.join(argv), kind) if manifest.is_file() else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


# ── Python ───────────────────────────────────────────────────────────────────────────────────────


def _is_test_file(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))


def _python_tests(repo: Path, files: Sequence[str]) -> TestCommand | None:
    tests = [path for path in files if _is_test_file(path)]
    config = _pytest_config(repo)
    if not tests and config is None:
        return None
    own_python = _own_python(repo)
    if _has_pytest(own_python):
        arguments, kind = _pytest_arguments(config or ""), "pytest"
    elif any("TestCase" in _read(repo / path) for path in tests):
        arguments, kind = _unittest_arguments(repo, tests), "unittest"
    else:
        return None
    prefix = () if own_python or not _has_src_layout(files) else ("env", "PYTHONPATH=src")
    python = str(own_python) if own_python else sys.executable
    shown = str(own_python.relative_to(repo)) if own_python else "python"
    return TestCommand(
        (*prefix, python, "-m", *arguments), shlex.join((*prefix, shown, "-m", *arguments)), kind
    )


def _pytest_arguments(config: str) -> tuple[str, ...]:
    # A second -q on top of a configured one would hide the line with the counts.
    quiet = "--verbosity=-1" if _VERBOSITY.search(config) else "-q"
    cache = () if _CACHE_OPTION.search(config) else ("-p", "no:cacheprovider")
    return ("pytest", quiet, "--tb=short", *cache)


def _pytest_config(repo: Path) -> str | None:
    """Text of the pytest configuration; None if the repository has none."""
    for name, section in (
        ("pytest.ini", ""),
        (".pytest.ini", ""),
        ("pyproject.toml", "[tool.pytest"),
        ("tox.ini", "[pytest]"),
        ("setup.cfg", "[tool:pytest]"),
    ):
        path = repo / name
        if path.is_file() and section in (text := _read(path)):
            return text if path.suffix != ".toml" else _pytest_table(text)
    return "" if (repo / "conftest.py").is_file() else None


def _pytest_table(text: str) -> str:
    try:
        return str(tomllib.loads(text).get("tool", {}).get("pytest", ""))
    except tomllib.TOMLDecodeError:
        return text


def _own_python(repo: Path) -> Path | None:
    """Interpreter of the repository's own virtual environment."""
    for folder in (".venv", "venv"):
        python = repo / folder / "bin" / "python"
        if python.is_file() and os.access(python, os.X_OK):
            return python
    return None


def _has_pytest(own_python: Path | None) -> bool:
    """True if pytest can be imported. The repository's interpreter is looked at, never run."""
    if own_python is None:
        return importlib.util.find_spec("pytest") is not None
    environment = own_python.parent.parent
    places = [environment]
    settings = _read(environment / "pyvenv.cfg")
    home = re.search(r"^home\s*=\s*(.+?)\s*$", settings, re.MULTILINE)
    if home and re.search(r"(?im)^include-system-site-packages\s*=\s*true", settings):
        places.append(Path(home[1]).parent)
    return any(
        next(place.glob(f"lib*/python3*/{folder}/pytest/__init__.py"), None)
        for place in places
        for folder in ("site-packages", "dist-packages")
    )


def _has_src_layout(files: Sequence[str]) -> bool:
    return "PYTHONPATH" not in os.environ and any(
        path.startswith("src/") and path.endswith(".py") for path in files
    )


def _unittest_arguments(repo: Path, tests: Sequence[str]) -> tuple[str, ...]:
    """What `python -m unittest` needs to find the test files.

    Discovery enters a folder below its start only if that is a package, and takes one name
    pattern; files it would miss are named one by one.
    """
    folder = next((name for name in ("tests", "test") if _below(name, tests)), "")
    scope = _below(folder, tests) if folder else list(tests)
    top = [path for path in tests if "/" not in path] if folder else []
    start, scope = ("", top + scope) if top else (folder, scope)
    names = [PurePosixPath(path).name for path in scope]
    if all(name.startswith("test") for name in names):
        pattern: tuple[str, ...] = ()
    elif all(name.endswith("_test.py") for name in names):
        pattern = ("-p", "*_test.py")
    else:
        return ("unittest", *scope)
    packages = {
        parent
        for path in scope
        for parent in PurePosixPath(path).parents
        if parent.parts and parent.as_posix() != start
    }
    if not all((repo / package / "__init__.py").is_file() for package in packages):
        return ("unittest", *scope)
    if not start:
        return ("unittest", "discover", *pattern)
    if (repo / start / "__init__.py").is_file():
        return ("unittest", "discover", "-s", start, "-t", ".", *pattern)
    return ("unittest", "discover", "-s", start, *pattern)


def _below(folder: str, paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path.startswith(f"{folder}/")]


# ── Node ─────────────────────────────────────────────────────────────────────────────────────────


def _node_tests(repo: Path) -> TestCommand | None:
    try:
        package = json.loads(_read(repo / "package.json") or "{}")
    except ValueError:
        return None
    scripts = package.get("scripts") if isinstance(package, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(script, str) or not script.strip() or _NO_TEST_SCRIPT in script:
        return None
    lock_says = (tool for lock, tool in _LOCKS if (repo / lock).is_file() and shutil.which(tool))
    program = next(lock_says, "npm")
    argv = (program, "run", "test") if program == "bun" else (program, "test")
    return TestCommand(argv, shlex.join(argv), "npm")
