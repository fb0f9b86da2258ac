"""Masks the values of secrets in what commands print, before a role or the screen gets it."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from agspec_tui.session.repo import SKIPPED_FOLDERS, is_secret

MASK = "[secret]"
"""What stands in place of a secret value."""

_MAX_FILES = 50
_MAX_FOLDERS = 5000
_MAX_BYTES = 64 * 1024
_MIN_CHARS = 6
_MIN_PLAIN_CHARS = 12
_SETTING = re.compile(
    r"""^\s*(?:export\s+|-\s+)?["']?([\w.-]+)["']?\s*[=:]\s*["']?(.*?)["']?\s*,?\s*$"""
)
_TELLING = re.compile(r"(?i)pass|pwd|secret|token|key|credential|auth(?!or)|cookie|salt|signature")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{32,}")
_ORDINARY = re.compile(r"[a-z]+|[A-Z]+|[\d.:]+|(?i:true|false|none|null)")


def secret_values(root: Path, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Values in the secret files of a repository and in the environment, longest first.

    Ignored files count too: that is where secrets are kept. Ordinary words are left out, unless
    their name says that they are a password or the like.

    Args:
        root: the resolved root.
        environment: the variables that commands get.
    """
    found: set[str] = set()
    for path in _secret_files(root):
        try:
            with path.open("rb") as file:
                text = file.read(_MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        found.update(_values(text))
    for name, value in environment.items():
        if _TELLING.search(name) and _is_telling(name, value):
            found.update(line for line in value.splitlines() if len(line) >= _MIN_CHARS)
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def mask(text: str, values: Iterable[str]) -> str:
    """The text with each of the values masked; the longest have to come first."""
    for value in values:
        text = text.replace(value, MASK)
    return text


def _secret_files(root: Path) -> list[Path]:
    found: list[Path] = []
    for number, (folder, folders, files) in enumerate(os.walk(root)):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        here = Path(folder)
        for name in files:
            if is_secret((here / name).relative_to(root).as_posix()):
                found.append(here / name)
        if number >= _MAX_FOLDERS or len(found) >= _MAX_FILES:
            break
    return [path for path in found[:_MAX_FILES] if path.is_file()]


def _values(text: str) -> Iterable[str]:
    for line in text.splitlines():
        if _KEY_LINE.fullmatch(line.strip()):
            yield line.strip()
        elif setting := _SETTING.match(line):
            name, value = setting.groups()
            if _is_telling(name, value):
                yield value


def _is_telling(name: str, value: str) -> bool:
    """True if a value is worth hiding: not so short or common that masking it hides other text."""
    if len(value) < _MIN_CHARS or value.startswith(("/", "./", "~")):
        return False
    if _TELLING.search(name):
        return not value.isdigit() or len(value) >= _MIN_PLAIN_CHARS
    return len(value) >= _MIN_PLAIN_CHARS and not _ORDINARY.fullmatch(value)
