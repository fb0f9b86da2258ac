"""What a repository says about how agents may work in it. It can narrow, never widen."""

from pathlib import Path
from typing import get_args

import msgspec

from agspec_tui.config import ApprovalMode, CommandRules
from agspec_tui.errors import ToolError
from agspec_tui.session.repo import read_text_file

NAME = ".agspec.toml"
"""The file, at the root of the repository."""

_MODES: tuple[ApprovalMode, ...] = get_args(ApprovalMode)


class _Rules(msgspec.Struct, frozen=True):
    ask: tuple[str, ...] = ()
    """Commands that never run unasked, the test command among them."""
    deny: tuple[str, ...] = ()
    """Commands that never run, the test command among them."""


class _File(msgspec.Struct, frozen=True):
    approve: ApprovalMode = "full-auto"
    """The freest mode that the repository takes."""
    commands: _Rules = _Rules()
    """Its rules about commands."""


class OwnSettings(msgspec.Struct, frozen=True):
    """The repository's settings, as far as they count."""

    approve: ApprovalMode = "full-auto"
    """The freest mode that it takes."""
    commands: CommandRules = CommandRules()
    """Its rules about commands; `allow` is always empty."""
    ignored: tuple[str, ...] = ()
    """Keys that do not count, because they would widen what the user allows."""
    problem: str = ""
    """Why the file could not be read; nothing runs unasked then."""


def narrower(one: ApprovalMode, other: ApprovalMode) -> ApprovalMode:
    """The stricter of two modes."""
    return min(one, other, key=_MODES.index)


def read_own_settings(root: Path) -> OwnSettings:
    """Read the file of a repository; without one, nothing is narrowed.

    A file that cannot be read or understood narrows to `ask`: it may have meant to.
    """
    if not (root / NAME).is_file():
        return OwnSettings()
    try:
        text = read_text_file(root, NAME).encode()
        keys = msgspec.toml.decode(text, type=dict[str, object])
        found = msgspec.toml.decode(text, type=_File)
    except (ToolError, msgspec.DecodeError) as error:
        return OwnSettings(approve="ask", problem=str(error))
    rules = keys.get("commands")
    known = {"approve", "commands"}
    ignored = sorted(keys.keys() - known)
    if isinstance(rules, dict):
        ignored += sorted(f"commands.{key}" for key in rules.keys() - {"ask", "deny"})
    own = CommandRules(ask=found.commands.ask, deny=found.commands.deny)
    return OwnSettings(found.approve, own, tuple(ignored))
