"""Which files are drafted from: one rule for every way in which a file reaches the corpus."""

import fnmatch
from pathlib import Path, PurePosixPath

from agspec_tui.errors import ToolError
from agspec_tui.session.content import not_text
from agspec_tui.session.repo import INSTALLED_FOLDERS, MAX_FILE_BYTES, ignored, locate

_LOCK_FILES = (
    "*.lock",
    "*.lockb",
    "*.lockfile",
    "go.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pnpm-lock.y*ml",
)
_EDITOR_FILES = (
    "#*#",
    "*.bak",
    "*.orig",
    "*.rej",
    "*.sw[a-p]",
    "*.tmp",
    "*~",
    ".#*",
    ".agspec-*",
    "4913",
)
_MINIFIED = ("*.min.*", "*-min.*", "*.map")
_LONG_LINE = 1000
"""Bytes above which a line counts as minified; code that people write has no such lines."""


def skip_reason(
    repo: Path, path: str, data: bytes | None = None, *, is_ignored: bool | None = None
) -> str:
    """Why a file is not indexed, as a sentence; empty if it is.

    Args:
        repo: the resolved root.
        path: the file, relative to it.
        data: its bytes, or at least the first `MAX_FILE_BYTES` + 1; None judges by the name only.
        is_ignored: whether the repository's ignore rules leave it out; None asks them.
    """
    reason = _by_place(repo, path, is_ignored)
    if not reason and data is not None:
        reason = _by_content(path, data)
    return f"{reason}." if reason else ""


def _by_place(repo: Path, path: str, is_ignored: bool | None) -> str:
    *folders, name = PurePosixPath(path.lower()).parts or ("",)
    for patterns, what in (
        (_LOCK_FILES, "a lock file"),
        (_EDITOR_FILES, "a temporary file of an editor or a tool"),
        (_MINIFIED, "a minified file"),
    ):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return f"{path} is {what}"
    if not INSTALLED_FOLDERS.isdisjoint(folders):
        return f"{path} is in a folder of installed or generated files"
    if not path.isprintable():
        return f"{path!r} holds control characters"
    try:
        locate(repo, path)
        if is_ignored is None:
            is_ignored = path in ignored(repo, (path,))
    except ToolError as error:
        return error.message
    return f"{path} is ignored by the repository's ignore rules" if is_ignored else ""


def _by_content(path: str, data: bytes) -> str:
    if len(data) > MAX_FILE_BYTES:
        return f"{path} is larger than {MAX_FILE_BYTES // 1024} KiB"
    reason = not_text(path, data)
    if reason:
        return f"{path} is {reason}"
    n_long = sum(len(line) for line in data.splitlines() if len(line) > _LONG_LINE)
    if n_long * 2 > len(data):
        return f"{path} is minified: most of it is in lines of more than {_LONG_LINE} bytes"
    return ""
