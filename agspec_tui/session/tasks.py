"""Tasks to measure a team by: folders with a repository that has a bug, its issue and its tests."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agspec_tui.errors import UsageError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHAPE = "a task is repo/, ISSUE.md and task.toml with id, test and timeout_s"


class TaskFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `task.toml`."""

    id: str
    """Name of the task: letters, digits, `.`, `_` and `-`; no two tasks share one."""
    test: str
    """Test command, run by the shell in the scratch copy of `repo/`."""
    timeout_s: float = 60.0
    """Time limit of one run of the test command, in seconds."""


@dataclass(frozen=True, slots=True)
class EvalTask:
    """One task, read and checked."""

    folder: Path
    """Where it lies."""
    settings: TaskFile
    """Its `task.toml`."""
    issue: str
    """Text of its `ISSUE.md`."""
    digest: str
    """Changes with any byte of the task."""

    @property
    def id(self) -> str:
        """Name of the task."""
        return self.settings.id

    @property
    def repo(self) -> Path:
        """The repository with the bug, which is only ever copied."""
        return self.folder / "repo"


def read_tasks(folder: Path) -> tuple[list[EvalTask], list[UsageError]]:
    """Every task in a folder by name, and what is wrong with those that are none.

    Raises:
        UsageError: there is no such folder, or no folder in it.
    """
    if not folder.is_dir():
        kind = "is a file" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {kind}", f"name a folder of tasks; {_SHAPE}")
    places = sorted(
        place for place in folder.iterdir() if place.is_dir() and place.name[0] not in "._"
    )
    if not places:
        raise UsageError(f"{folder} holds no tasks", _SHAPE)
    tasks: dict[str, EvalTask] = {}
    faults: list[UsageError] = []
    for place in places:
        try:
            task = read_task(place)
            if task.id in tasks:
                raise UsageError(
                    f"{place.name}: the id {task.id} is that of {tasks[task.id].folder.name} too",
                    "give it another",
                )
        except UsageError as fault:
            faults.append(fault)
        else:
            tasks[task.id] = task
    return list(tasks.values()), faults


def read_task(folder: Path) -> EvalTask:
    """Read one task.

    Raises:
        UsageError: a part of it is missing or wrong; the message names the task.
    """
    name = folder.name
    if not (folder / "repo").is_dir() or not any((folder / "repo").iterdir()):
        raise UsageError(f"{name}: repo/ is missing or empty", _SHAPE)
    issue = _text(folder, "ISSUE.md")
    if not issue.strip():
        raise UsageError(f"{name}: ISSUE.md is empty", "write what is wrong into it")
    try:
        settings = msgspec.toml.decode(_text(folder, "task.toml"), type=TaskFile)
    except msgspec.DecodeError as error:
        raise UsageError(f"{name}: task.toml: {error}", _SHAPE) from error
    if not _ID.fullmatch(settings.id):
        raise UsageError(f"{name}: the id {settings.id!r} is no name", "letters, digits, . _ -")
    if not settings.test.strip():
        raise UsageError(f"{name}: test is empty", "give the command that runs its tests")
    if not 0 < settings.timeout_s < float("inf"):
        raise UsageError(f"{name}: timeout_s is {settings.timeout_s}", "seconds, above 0")
    return EvalTask(folder, settings, issue, _digest(folder))


def chosen(tasks: Iterable[EvalTask], ids: str) -> list[EvalTask]:
    """The tasks with these ids, as `a,b`; all for an empty text.

    Raises:
        UsageError: no task has one of the ids.
    """
    by_id = {task.id: task for task in tasks}
    wanted = [name.strip() for name in ids.split(",") if name.strip()]
    for name in wanted:
        if name not in by_id:
            raise UsageError(f"no task {name}", f"tasks: {', '.join(by_id)}")
    return [task for task in by_id.values() if not wanted or task.id in wanted]


def _text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(f"{folder.name}: {name} is missing", _SHAPE) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{folder.name}: {name} cannot be read: {error}", "UTF-8 text") from error


def _digest(folder: Path) -> str:
    """A digest of the names and bytes of a task."""
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.rglob("*")):
        if "__pycache__" in path.parts or not (path.is_file() or path.is_symlink()):
            continue
        data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        found.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
        found.update(data)
    return found.hexdigest()
