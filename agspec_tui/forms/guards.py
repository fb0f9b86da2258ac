"""Text that must never reach a file: placeholders for code that was left out, cut marks."""

import re
from collections.abc import Iterable, Sequence

from agspec_tui.errors import EditError

_COMMENT = re.compile(
    r"^\s*(?:#+|//+|--+|;+|/\*+|<!--|\*|%|\(\*|\{/\*)\s*(.*?)\s*(?:\*+/\}?|-->|\*\))?$"
)
_DOTS = re.compile(r"^[\s\[\]()<>{}]*(?:\.\.\.+|…)[\s\[\]()<>{}]*$")
_CUT = re.compile(
    r"\[\s*(?:\.\.\.|…)?\s*(?:(?:output |content |file |text )?truncated|\d+ (?:characters|chars|"
    r"lines) (?:left out|omitted|truncated))\b.*?\]|<truncated\b.*?>",
    re.IGNORECASE,
)
_KEYS_TEXT = (
    "rest remaining remainder existing unchanged omitted truncated same other others previous "
    "original skipped elided"
)
_NOUNS_TEXT = (
    "code file function functions method methods class classes implementation implementations "
    "content contents lines line imports tests logic body above below before here unchanged omitted"
)
_FILLERS_TEXT = (
    "the of your this all is are as it remains remain stays stay goes continues keep keeps kept "
    "no changes change was were not shown for brevity in with and etc to be from"
)
_KEYS = frozenset(_KEYS_TEXT.split())
_NOUNS = frozenset(_NOUNS_TEXT.split())
_KNOWN = _KEYS | _NOUNS | frozenset(_FILLERS_TEXT.split())


def refuse_placeholders(
    path: str, old: Iterable[str], new: Sequence[str], *, stubs: bool = False
) -> None:
    """Refuse new lines that stand for code instead of being it.

    Args:
        path: The file, for the message.
        old: All lines of the file before; what is in it already may stay.
        new: All lines that the edit adds, in order.
        stubs: `...` may be the body of something that is itself new, as in a new file.

    Raises:
        EditError: a line is a placeholder, or holds a mark of text that was cut.
    """
    known = {line.strip() for line in old}
    above = ""
    for line in new:
        text = line.strip()
        if text and text not in known:
            stub = stubs and text == "..." and above.endswith((":", '"""', "'''"))
            if not stub and is_placeholder(text):
                raise EditError(
                    f"{path}: a line stands for code that was left out: {text[:80]!r}",
                    "write every line out in full",
                )
            if "\ufffd" in text:
                raise EditError(
                    f"{path}: a new line holds U+FFFD, the sign of lost characters: {text[:80]!r}",
                    "write the real characters, or leave the line as it is",
                )
        above = text or above


def is_placeholder(line: str) -> bool:
    """Whether a line is an elision: `...` alone, a comment such as `# rest of code`, a cut mark."""
    if _DOTS.match(line) or _CUT.search(line):
        return True
    comment = _COMMENT.match(line)
    if comment is None and not line.lstrip(" [(<{").startswith(("...", "…")):
        return False
    text = comment[1] if comment is not None else line.strip()
    dotted = text.lstrip(" [(<{").startswith(("...", "…"))
    if _DOTS.match(text):
        return True
    words = re.findall(r"[a-z]+", text.lower())
    keyed = any(word in _KEYS for word in words)
    if dotted:
        return keyed
    ending = text.endswith(("...", "…"))
    enough = len(words) >= 2 and any(word in _NOUNS for word in words)
    return keyed and (enough or ending) and all(word in _KNOWN for word in words)
