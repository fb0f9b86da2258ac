"""The project's own files and their syntax trees, as the house rules walk them."""

import ast
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)
ROOT = Path(__file__).resolve().parents[2]


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that is or will be committed, relative to the root; the index and the rest."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    paths = {Path(name) for name in listing.split("\0") if name}
    return tuple(sorted(path for path in paths if (ROOT / path).is_file()))


def files(*suffixes: str, under: str = ".") -> list[Path]:
    """Project files with one of these suffixes, relative to the root.

    Raises:
        ValueError: there is none; a rule that looks at nothing must not pass.
    """
    found = [
        path for path in project_files() if path.suffix in suffixes and path.is_relative_to(under)
    ]
    if not found:
        raise ValueError(f"no {', '.join(suffixes)} under {under}")
    return found


def own_python() -> list[Path]:
    """All Python that the rules of the house hold for: the samples are other people's programs."""
    return [path for path in files(".py") if path.parts[0] != "examples"]


def package_python() -> list[Path]:
    """The modules of the package."""
    return files(".py", under="agspec_tui")


@cache
def text(path: Path) -> str:
    """Content of a project file."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    """Syntax tree of a project file."""
    return ast.parse(text(path), filename=str(path))


def nodes(path: Path, *kinds: type[Node]) -> Iterator[Node]:
    """All nodes of these kinds."""
    for node in ast.walk(tree(path)):
        if isinstance(node, kinds):
            yield node


def module_name(path: Path) -> str:
    """`agspec_tui.engine.loop` of `agspec_tui/engine/loop.py`."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def data_folders() -> dict[str, str]:
    """Data folders of the tree, each with the place in the package that the build maps it to."""
    settings = tomllib.loads(text(Path("pyproject.toml")))["tool"]["scikit-build"]
    packages = settings["wheel"]["packages"]
    return {folder: place for place, folder in packages.items() if place != "agspec_tui"}
