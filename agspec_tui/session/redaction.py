"""Masks the values of secrets in what commands print, before a role or the screen gets it."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agspec_tui.session.repo import INSTALLED_FOLDERS, is_secret

MASK = "[secret]"
"""What stands in place of a secret value."""

_MAX_FILES = 50
_MAX_FOLDERS = 5000
_MAX_BYTES = 64 * 1024
_MIN_CHARS = 6
_MIN_PLAIN_CHARS = 12
_SETTING = re.compile(
    r"""^\s*(?:export\s+|-\s+)?["']?([\w.-]+)["']?\s*[=:]\s*"""
    r"""(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(.*?)(?:\s+#.*)?[\s,]*$)"""
)
_PAIR = re.compile(r'"([^"\\]+)"\s*:\s*"((?:[^"\\]|\\.)+)"')
_IN_ADDRESS = re.compile(r"://[^/\s:@]*:([^@\s/]+)@")
_AFTER_NAME = re.compile(r"\b(?:password|passwd|_authToken|_auth|_password)\s*=\s*(\S+)")
_AFTER_WORD = re.compile(r"\bpassword\s+(\S+)")
_TELLING = re.compile(r"(?i)pass|pwd|secret|token|key|credential|auth(?!or)|cookie|salt|signature")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{32,}")
_ORDINARY = re.compile(r"[a-z]+|[A-Z]+|[\d.:]+|(?i:true|false|none|null)")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What must not be shown."""

    values: tuple[str, ...]
    """The values, longest first."""
    is_complete: bool = True
    """False if there are more secret files, or longer ones, than are read."""


def read_secrets(root: Path, environment: Mapping[str, str] = os.environ) -> Secrets:
    """Values in the secret files of a repository and in the environment.

    Ignored files count too: that is where secrets are kept. Ordinary words are left out, unless
    their name says that they are a password or the like.

    Args:
        root: the resolved root.
        environment: the variables that commands get.
    """
    found: set[str] = set()
    paths, is_complete = _secret_files(root)
    for path in paths:
        try:
            with path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except OSError:
            continue
        is_complete = is_complete and len(data) <= _MAX_BYTES
        found.update(_values(path.name, data[:_MAX_BYTES].decode("utf-8", "replace")))
    for name, value in environment.items():
        if _TELLING.search(name) and _is_telling(name, value):
            found.update(line for line in value.splitlines() if len(line) >= _MIN_CHARS)
    return Secrets(tuple(sorted(found, key=lambda value: (-len(value), value))), is_complete)


def mask(text: str, values: Iterable[str]) -> str:
    """The text with each of the values masked; the longest have to come first."""
    for value in values:
        text = text.replace(value, MASK)
    return text


def _secret_files(root: Path) -> tuple[list[Path], bool]:
    """The secret files, and whether these are all."""
    found: list[Path] = []
    for number, (folder, folders, files) in enumerate(os.walk(root)):
        if number >= _MAX_FOLDERS:
            return found, False
        folders[:] = [name for name in folders if name not in INSTALLED_FOLDERS]
        here = Path(folder)
        for name in files:
            path = here / name
            if is_secret(path.relative_to(root).as_posix()) and path.is_file():
                if len(found) == _MAX_FILES:
                    return found, False
                found.append(path)
    return found, True


def _values(file: str, text: str) -> Iterable[str]:
    """Values worth hiding in the text of a secret file."""
    for line in text.splitlines():
        if _KEY_LINE.fullmatch(line.strip()):
            yield line.strip()
            continue
        found = _PAIR.findall(line)
        found += [("password", value) for value in _IN_ADDRESS.findall(line)]
        found += [("password", value) for value in _AFTER_NAME.findall(line)]
        if file.endswith("netrc"):
            found += [("password", value) for value in _AFTER_WORD.findall(line)]
        if file == ".pgpass":
            found.append(("password", line.rpartition(":")[2].strip()))
        if setting := _SETTING.match(line):
            name, *values = setting.groups()
            found.append((name, next((value for value in values if value), "")))
        yield from (value for name, value in found if _is_telling(name, value))


def _is_telling(name: str, value: str) -> bool:
    """True if a value is worth hiding: not so short or common that masking it hides other text."""
    if len(value) < _MIN_CHARS:
        return False
    if _TELLING.search(name):
        return not _is_path(value) and (not value.isdigit() or len(value) >= _MIN_PLAIN_CHARS)
    is_plain = value.startswith(("/", "./", "~")) or _ORDINARY.fullmatch(value)
    return len(value) >= _MIN_PLAIN_CHARS and not is_plain


def _is_path(value: str) -> bool:
    """True for a place of the file system; base64 may begin with a slash too."""
    if not value.startswith("/"):
        return value.startswith(("./", "~/"))
    return Path("/", value.lstrip("/").partition("/")[0]).exists()
