"""Turns what the user calls a model into a file that can be loaded."""

import os
from pathlib import Path

import msgspec

from agspec_tui.config import models_dir
from agspec_tui.errors import ModelError
from agspec_tui.models.catalogue import DEFAULT, entry_named, nearest
from agspec_tui.models.discover import discover
from agspec_tui.models.gguf import GgufHeader, read_header
from agspec_tui.models.verified import require_verified

SCRIPTED = "scripted:"
"""What a model begins with that is a script for the deterministic backend."""


class ResolvedModel(msgspec.Struct, frozen=True):
    """A model that is there."""

    name: str
    """The name shown on the screen and in reports."""
    path: str
    """Absolute path of a GGUF file, or `scripted:FILE`; what `LoadModel` takes."""
    header: GgufHeader | None
    """What the GGUF says; None for a script."""


def resolve(name_or_path: str) -> ResolvedModel:
    """Find a model by catalogue name, path, or the name of a file another program has fetched.

    Raises:
        ModelError: unknown, not pulled yet, missing, or no complete GGUF.
    """
    if not name_or_path.strip():
        raise ModelError("no model is named", f"e.g. --model {DEFAULT}")
    if "\0" in name_or_path:
        raise ModelError("the name of the model holds a NUL byte", f"e.g. --model {DEFAULT}")
    if name_or_path.startswith(SCRIPTED):
        return _scripted(name_or_path.removeprefix(SCRIPTED))
    entry = entry_named(name_or_path)
    if entry is not None:
        return _gguf(entry.name, require_verified(entry, models_dir()))
    path, exists = _located(name_or_path)
    if exists or os.sep in name_or_path or name_or_path.lower().endswith(".gguf"):
        return _gguf(path.stem, path)
    return _discovered(name_or_path)


def _located(text: str) -> tuple[Path, bool]:
    """A path with `~` expanded, and whether something is there."""
    try:
        path = Path(text).expanduser()
        return path, path.exists()
    except (OSError, RuntimeError) as error:  # too long a name; `~` of an unknown user
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"{text[:80]!r} is no path: {reason}", "name a .gguf file") from error


def _scripted(file: str) -> ResolvedModel:
    path, _ = _located(file)
    if not path.is_file():
        raise ModelError(f"the script {file or '(none)'} does not exist", "scripted:FILE")
    return ResolvedModel(SCRIPTED + path.stem, SCRIPTED + str(path.absolute()), None)


def _gguf(name: str, path: Path) -> ResolvedModel:
    header = read_header(path)
    return ResolvedModel(name, str(path.absolute()), header)


def _discovered(name: str) -> ResolvedModel:
    found = discover()
    for model in found:
        if model.name.lower() == name.lower():
            return _gguf(model.name, model.path)
    names = tuple(model.name for model in found)
    raise ModelError(f"unknown model {name!r}", nearest(name, names))
