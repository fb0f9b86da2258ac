"""Completion of `@file` and `/command` in the prompt: pure functions over text and names."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

N_SHOWN = 8
"""Most completions that are offered at once."""
_FILE = re.compile(r"(?:^|(?<=\s))@([^\s@]*)$")
_COMMAND = re.compile(r"^/([a-z]*)$")
COMMANDS: dict[str, tuple[str, str]] = {
    "undo": ("undo", "take the last turn back"),
    "redo": ("redo", "bring back what the last undo took"),
    "marks": ("marks", "mark drafted and accepted text, or not"),
    "details": ("details", "what drafts did for this turn"),
    "speculation": ("speculation", "charts and table of all drafts"),
    "provenance": ("provenance", "where accepted text was copied from"),
    "meaning": ("definition", "what the numbers mean"),
    "editor": ("editor", "write the message in your own editor"),
    "models": ("models", "open this repository with another model"),
    "sessions": ("sessions", "go on with a stored session, or replay one"),
    "log": ("log", "what the engine has logged"),
    "theme": ("app.next_theme", "the next theme"),
    "mouse": ("app.release_mouse", "the mouse to the terminal, and back"),
    "suspend": ("app.suspend_process", "to the shell; `fg` comes back"),
    "help": ("app.help", "every key"),
    "quit": ("app.quit", "leave"),
}
"""What a `/command` does: the action of the screen or the app, and what it is for."""


class Wanted(NamedTuple):
    """What is being typed at the cursor."""

    kind: str
    """`file` or `command`."""
    typed: str
    """What is there of it, without its sign."""


def wanted(before: str) -> Wanted | None:
    """What could be completed behind the text before the cursor; None if nothing."""
    if found := _COMMAND.search(before):
        return Wanted("command", found[1])
    if found := _FILE.search(before):
        return Wanted("file", found[1])
    return None


def offered(want: Wanted, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Completions, the likeliest first, each with a remark."""
    if want.kind == "command":
        return [
            (name, about) for name, (_, about) in COMMANDS.items() if name.startswith(want.typed)
        ]
    return [(path, "") for path in best(want.typed, paths)]


def best(typed: str, paths: Iterable[str], n: int = N_SHOWN) -> list[str]:
    """Paths that hold the typed letters in their order, the likeliest first."""
    typed = typed.lower()
    scored = [(score, len(path), path) for path in paths if (score := _score(typed, path.lower()))]
    return [path for _, _, path in sorted(scored, key=lambda one: (-one[0], *one[1:]))[:n]]


def _score(typed: str, path: str) -> int:
    """How likely a path is meant: by its name's beginning, then its name, then its path."""
    name = path.rpartition("/")[2]
    if name.startswith(typed):
        return 5
    if path.startswith(typed):
        return 4
    if typed in name:
        return 3
    if typed in path:
        return 2
    letters = iter(path)
    return 1 if all(letter in letters for letter in typed) else 0
