"""Finds data in `agents/`, `themes/` and `profiles/`: the user's own first, then the built-in."""

from importlib.resources import files
from importlib.resources.abc import Traversable

from agspec_tui.config import home
from agspec_tui.errors import AgspecError


def find(folder: str, name: str) -> Traversable:
    """Open one data file, e.g. `find("agents", "coder.toml")`.

    Raises:
        AgspecError: no such file in any place; the hint names the places looked at.
    """
    user = home() / folder / name
    if user.is_file():
        return user
    built_in = files("agspec_tui") / folder / name
    if built_in.is_file():
        return built_in
    raise AgspecError(f"{folder}/{name} does not exist", f"looked in {user.parent} and built in")


def names(folder: str, suffix: str) -> list[str]:
    """Stems of all data files with this suffix, user's and built-in, sorted and without repeats."""
    found = {
        entry.name.removesuffix(suffix)
        for entry in (files("agspec_tui") / folder).iterdir()
        if entry.name.endswith(suffix)
    }
    user = home() / folder
    if user.is_dir():
        found |= {path.stem for path in user.iterdir() if path.name.endswith(suffix)}
    return sorted(found)
