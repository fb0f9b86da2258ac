"""Reads a unified diff for showing: what each line is, and what each file gains and loses."""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["file", "meta", "hunk", "added", "removed", "context"]

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff."""

    kind: Kind
    """What the line is; decided by the hunk's line counts, not by its first characters alone."""
    text: str
    """The line as it stands, sign included."""
    path: str = ""
    """File of a line that begins a hunk; empty for other lines."""
    line: int = 0
    """Line of the old file that a hunk begins with, from 1; 0 for other lines and new files."""


@dataclass(slots=True)
class FileChange:
    """One file of a diff."""

    path: str
    """Path relative to the repository."""
    n_added: int = 0
    """Lines that are new."""
    n_removed: int = 0
    """Lines that are gone."""
    note: str = ""
    """`new`, `deleted`, or empty."""


def parse(diff: str) -> tuple[list[DiffLine], list[FileChange]]:
    """Classify every line of a unified diff.

    An added line `++ x` reads `+++ x`, like a file header; the counts of the hunk tell them apart.
    """
    lines: list[DiffLine] = []
    files: list[FileChange] = []
    old_left = new_left = 0
    old_path = ""
    for text in diff.removesuffix("\n").split("\n") if diff else []:
        in_hunk = old_left > 0 or new_left > 0
        if in_hunk and text[:1] in ("+", "-", " ", ""):
            kind = _body_kind(text)
            old_left -= kind in ("removed", "context")
            new_left -= kind in ("added", "context")
            _count(files, kind)
        elif match := _HUNK.match(text):
            old_left, new_left = (int(n) if n is not None else 1 for n in match.groups()[1:])
            path = files[-1].path if files else ""
            lines.append(DiffLine("hunk", text, path, int(match[1])))
            continue
        elif text.startswith("--- "):
            kind, old_path = "meta", _path(text)
        elif text.startswith("+++ "):
            kind = "file"
            files.append(_change(old_path, _path(text)))
        else:
            kind = "meta"
        lines.append(DiffLine(kind, text))
    return lines, files


def _body_kind(text: str) -> Kind:
    if text.startswith("+"):
        return "added"
    return "removed" if text.startswith("-") else "context"


def _count(files: list[FileChange], kind: Kind) -> None:
    if files and kind == "added":
        files[-1].n_added += 1
    elif files and kind == "removed":
        files[-1].n_removed += 1


def _change(old: str, new: str) -> FileChange:
    if new == "/dev/null":
        return FileChange(old, note="deleted")
    return FileChange(new, note="new" if old == "/dev/null" else "")


def _path(header: str) -> str:
    path = header[4:].split("\t")[0]
    return path[2:] if path[:2] in ("a/", "b/") else path
