"""Whether a command may run: unasked, after a question, or never."""

import glob
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from agspec_tui.config import CommandRules
from agspec_tui.session.command_rules import CARRIERS, NEVER, SAFE, Safe
from agspec_tui.session.repo import is_secret
from agspec_tui.session.shell_line import SimpleCommand, parse

Verdict = Literal["allow", "ask", "deny"]
"""Runs unasked, after a yes, or never."""

_MAX_MATCHES = 500
_PIECES = re.compile(r"[:=,@]")


@dataclass(frozen=True, slots=True)
class Permission:
    """The answer to a command line."""

    verdict: Verdict
    """What holds for the line as a whole: the strictest of its commands."""
    reason: str = ""
    """Why it does not run unasked, in a few words; empty if it does."""


_ALLOWED = Permission("allow")


def _denied(rule: str) -> Permission:
    return Permission("deny", f"`{rule}` is denied by a rule")


def _to_be_asked(rule: str) -> Permission:
    return Permission("ask", f"`{rule}` is to be asked about")


class Permissions:
    """The rules of one repository: built in, the user's, and the repository's own.

    A user's `allow` may widen what is built in; a repository's rules only ever narrow.
    """

    def __init__(self, root: Path, user: CommandRules, own: CommandRules) -> None:
        """Set up.

        Args:
            root: the resolved root of the repository, which commands run in.
            user: rules of the user's own settings.
            own: rules that the repository brings; its `allow` is not read.
        """
        self._root = root
        self._user = user
        self._deny = (*own.deny, *user.deny)
        self._ask = (*own.ask, *user.ask)

    def judge(self, line: str) -> Permission:
        """What holds for a command line."""
        parsed = parse(line)
        found = [self._command(command) for command in parsed.commands]
        found += [self._path(file) for file in parsed.files]
        denied = [one for one in found if one.verdict == "deny"]
        if denied:
            return denied[0]
        if parsed.odd:
            return Permission("ask", parsed.odd[0])
        asked = [one for one in found if one.verdict == "ask"]
        if asked:
            return asked[0]
        return _ALLOWED if found else Permission("ask", "there is no command in it")

    def ruled(self, line: str) -> Permission:
        """What the rules `deny` and `ask` say of a command line, whatever is built in."""
        commands = [command.words for command in parse(line).commands if command.words]
        denied = next((rule for words in commands if (rule := _matching(self._deny, words))), "")
        if denied:
            return _denied(denied)
        asked = next((rule for words in commands if (rule := _matching(self._ask, words))), "")
        return _to_be_asked(asked) if asked else _ALLOWED

    def _command(self, command: SimpleCommand) -> Permission:
        words = command.words
        if not words:
            return Permission("ask", "there is no command in it")
        rule = _matching(self._deny, words)
        if rule:
            return _denied(rule)
        # By the word as it stands: `allow = ["pytest"]` is not about `./pytest`.
        allowed = any(_begins(words, rule) for rule in self._user.allow)
        never = "" if allowed else _never(command)
        if never:
            return Permission("deny", never)
        paths = self._paths(command)
        if paths.verdict != "allow":
            return paths
        rule = _matching(self._ask, words)
        if rule:
            return _to_be_asked(rule)
        if allowed:
            return _ALLOWED
        reason = _unsafe(command)
        return Permission("ask", reason) if reason else _ALLOWED

    # ── paths ────────────────────────────────────────────────────────────────────────────────────

    def _paths(self, command: SimpleCommand) -> Permission:
        """What holds for the files that the arguments may name."""
        worst = _ALLOWED
        for number, word in enumerate(command.words[1:], 1):
            for name in self._matches(word) if number in command.globs else (word,):
                found = self._path(name)
                if found.verdict == "deny":
                    return found
                worst = found if found.verdict == "ask" else worst
        return worst

    def _matches(self, pattern: str) -> Iterable[str]:
        # As the shell does it: unlike Path.glob, names with a dot are matched by a dot only.
        found = glob.glob(pattern, root_dir=self._root)  # noqa: PTH207
        return (pattern, *found) if len(found) <= _MAX_MATCHES else ("/",)

    def _path(self, word: str) -> Permission:
        outside = False
        for piece in {word, *_PIECES.split(word), word.lstrip("-")}:
            pure = PurePosixPath(piece)
            is_path = "/" in piece or "." in piece or _exists(self._root / pure)
            if is_path and (is_secret(piece) or is_secret(self._real(pure))):
                return Permission("deny", f"{word} may hold secrets")
            outside = outside or piece.startswith(("/", "~")) or ".." in pure.parts
            if pure.parts and not outside and _exists(self._root / pure):
                outside = not Path(self._real(pure)).is_relative_to(self._root)
        return Permission("ask", f"{word} is outside the repository") if outside else _ALLOWED

    def _real(self, path: PurePosixPath) -> str:
        try:
            return os.path.realpath(self._root / path) if path.parts else ""
        except (OSError, ValueError):
            return ""


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):
        return False


def _matching(rules: Iterable[str], words: tuple[str, ...]) -> str:
    """The first rule whose words a command begins with, from any folder; empty for none."""
    names = (PurePosixPath(words[0]).name, *words[1:])
    return next((rule for rule in rules if _begins(names, rule) or _begins(words, rule)), "")


def _begins(words: tuple[str, ...], rule: str) -> bool:
    wanted = tuple(rule.split())
    return bool(wanted) and words[: len(wanted)] == wanted


def _never(command: SimpleCommand) -> str:
    words = command.words if command.program in CARRIERS else command.words[:1]
    for word in words:
        name = PurePosixPath(word).name
        what = NEVER.get(name) or NEVER.get(name.partition(".")[0])
        if what:
            return f"`{name}` {what}"
    return ""


# ── the allow-list ───────────────────────────────────────────────────────────────────────────────


def _unsafe(command: SimpleCommand) -> str:
    """Why a command is not known to be harmless; empty if it is."""
    words = command.words
    rules = [rule for rule in SAFE if _begins(words, rule.words)]
    if not rules:
        return f"`{' '.join(words[:2])}` is not on the list of harmless commands"
    return _unfit(rules[0], words[len(rules[0].words.split()) :])


def _unfit(rule: Safe, arguments: tuple[str, ...]) -> str:
    options = frozenset(rule.options.split())
    operands: list[str] = []
    only_operands = False
    for argument in arguments:
        if argument == "--" and not only_operands:
            only_operands = True
        elif only_operands or not argument.startswith("-") or argument == "-":
            operands.append(argument)
        elif not _is_option(argument, options):
            return f"`{rule.words}` with {argument.partition('=')[0]}"
    if 0 <= rule.n_operands < len(operands):
        return f"`{rule.words}` with more than {rule.n_operands} operands"
    if rule.first and not (operands and re.fullmatch(rule.first, operands[0])):
        return f"`{rule.words}` with this operand"
    return ""


def _is_option(argument: str, options: frozenset[str]) -> bool:
    """True if an option is known, as it stands, with a value, as a number or as letters joined."""
    if argument in options or argument.partition("=")[0] in options:
        return True
    if argument.startswith("--"):
        return False
    letters = argument[1:].rstrip("0123456789")
    if not letters:
        return "-#" in options
    return all(f"-{letter}" in options for letter in letters)
