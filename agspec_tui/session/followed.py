"""The files that are followed: which of them changed, where they went, and what they hold now.

Everything here blocks on the disk and runs on a thread beside the event loop.
"""

import contextlib
import os
import stat
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agspec_tui.errors import ToolError
from agspec_tui.session.content import decoded
from agspec_tui.session.folder_events import Events, FolderEvents, WatchRefused
from agspec_tui.session.repo import (
    INSTALLED_FOLDERS,
    MAX_FILE_BYTES,
    SKIPPED_FOLDERS,
    ignored,
    ignored_folders,
    list_names,
    locate,
)
from agspec_tui.session.skipping import skip_reason

_Signature = tuple[int, ...]
_RULES = ".gitignore"


@dataclass(slots=True)
class _File:
    """One followed file."""

    spots: tuple[str, ...]
    """Absolute paths at which its events are seen: the name itself, and where a link leads."""
    seen: _Signature | None
    """Its signature when it was last read; None if it was not there, or was never read."""


class FollowedFiles:
    """Follows single files, or all of a repository; watches the folders that they lie in."""

    def __init__(self, repo: Path, events: FolderEvents, *, whole: bool) -> None:
        """Follow nothing yet.

        Args:
            repo: the resolved root.
            events: where folders are watched.
            whole: follow every file of the repository, new ones too.
        """
        self.refused: WatchRefused | None = None
        """Why changes are not reported by the system; None if they are."""
        self._repo = repo
        self._events = events
        self._whole = whole
        self._files: dict[str, _File] = {}
        self._ignored: frozenset[str] = frozenset()
        self._pruned: frozenset[str] = frozenset()
        self._pruned_names = INSTALLED_FOLDERS
        self._lock = threading.RLock()

    def begin(self) -> list[str]:
        """Start to watch; returns the files to read, as `survey` does."""
        with self._lock:
            try:
                self._events.start()
            except WatchRefused as error:
                self.refused = error
            return self.survey(Events(lost=self._whole))

    def follow(self, path: str) -> None:
        """Follow one more file, as it is now."""
        with self._lock:
            if path not in self._files:
                self._files[path] = _File(self._spots(path), None)
                self._watch_folders_of((path,))

    def read(self, path: str) -> str | None:
        """Text of a followed file for the corpus; None if it is gone or is not to be indexed."""
        with self._lock:
            file = self._files.get(path)
            if file is None:
                return None
            file.seen = _signature(self._repo / path)
            if file.seen is None and self._whole:
                del self._files[path]
            is_ignored = path in self._ignored
        data = _bytes_of(self._repo, path)
        if data is None or skip_reason(self._repo, path, data, is_ignored=is_ignored):
            return None
        return decoded(data)

    def survey(self, events: Events) -> list[str]:
        """Paths that may hold something else than when they were last read; sorted.

        Events only hint at what to look at: the followed files are compared with the disk.
        """
        with self._lock:
            for folder in events.folders:
                self._events.unwatch(folder)
            self._follow_moves(events.moves)
            self._watch_folders_of(self._files)
            if self._whole:
                self._follow_found(events)
            else:
                self._follow_renamed()
            hit = {
                path
                for path, file in self._files.items()
                if not events.paths.isdisjoint(file.spots)
                or _signature(self._repo / path) != file.seen
            }
            for path in hit:
                self._files[path].spots = self._spots(path)
            if hit:
                self._watch_folders_of(hit)
                self._ignored = self._ignored - hit | self._ignored_of(hit)
            return sorted(hit)

    # ── finding ──────────────────────────────────────────────────────────────────────────────────

    def _follow_moves(self, moves: Iterable[tuple[str, str]]) -> None:
        """Follow files to their new names, where the old one is gone."""
        for old, new in moves:
            source, target = self._relative(old), self._relative(new)
            if not source or not target or Path(old).exists():
                continue
            for path in [one for one in self._files if one == source or _is_below(one, source)]:
                self._add(target + path[len(source) :])

    def _follow_renamed(self) -> None:
        """Look for vanished files under other names, for moves that were not seen as one."""
        lost = {
            file.seen[:-1]
            for path, file in self._files.items()
            if file.seen is not None and _signature(self._repo / path) is None
        }
        if not lost:
            return
        for path in list_names(self._repo):
            if path not in self._files:
                found = _signature(self._repo / path)
                if found is not None and found[:-1] in lost:
                    self._add(path)

    def _follow_found(self, events: Events) -> None:
        """Follow the files of a repository that appeared, or all of it where that is not known."""
        changed_rules = any(Path(path).name == _RULES for path in events.paths)
        if events.lost or changed_rules:
            self._prune()
            if self.refused is None:
                self._watch_below(str(self._repo))
            for path in list_names(self._repo):
                self._add(path)
            return
        if events.folders:
            self._prune()
        for folder in sorted(events.folders):
            for path in self._watch_below(folder):
                self._add(path)
        for name in events.paths:
            self._add(self._relative(name))

    def _add(self, path: str) -> None:
        if not path or path in self._files:
            return
        if self._whole and (self._repo / path).is_symlink():
            return  # what it leads to is followed under its own name
        if not skip_reason(self._repo, path, is_ignored=False):
            self._files[path] = _File(self._spots(path), None)

    def _ignored_of(self, paths: Iterable[str]) -> frozenset[str]:
        inside = []
        for path in paths:
            with contextlib.suppress(ToolError):
                locate(self._repo, path)
                inside.append(path)
        return ignored(self._repo, inside)

    # ── watching ─────────────────────────────────────────────────────────────────────────────────

    def _watch_folders_of(self, paths: Iterable[str]) -> None:
        """Watch the folders of files, up to the root: a folder above may be moved as well."""
        root = str(self._repo)
        folders: set[str] = set()
        for path in paths:
            for spot in self._files[path].spots:
                folder = _above(spot)
                while folder not in folders and (folder == root or _is_below(folder, root)):
                    folders.add(folder)
                    folder = _above(folder)
        missing = sorted(folders - self._events.watched)  # from the root down: no gap
        self._watch([folder for folder in missing if Path(folder).is_dir()])

    def _watch_below(self, top: str) -> list[str]:
        """Watch a folder and all below it but the pruned ones; returns the files there.

        A folder is watched before it is listed, so that nothing made meanwhile is missed.
        """
        found: list[str] = []
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            if self._is_pruned(folder) or Path(folder).is_symlink() or not Path(folder).is_dir():
                continue
            self._watch((folder,))
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        found.append(self._relative(entry.path))
        return found

    def _watch(self, folders: Sequence[str]) -> None:
        if self.refused is not None or not folders:
            return
        try:
            self._events.watch(folders)
        except WatchRefused as error:
            self.refused = error
            self._events.stop()

    def _is_pruned(self, folder: str) -> bool:
        path = self._relative(folder)
        return Path(folder).name in self._pruned_names or path in self._pruned

    def _prune(self) -> None:
        """Ask which folders are not to be watched."""
        found = ignored_folders(self._repo)
        self._pruned = found or frozenset()
        self._pruned_names = SKIPPED_FOLDERS if found is None else INSTALLED_FOLDERS

    def _spots(self, path: str) -> tuple[str, ...]:
        name = self._repo / path
        beside = f"{os.path.realpath(name.parent)}/{name.name}"
        return tuple(dict.fromkeys((beside, os.path.realpath(name))))

    def _relative(self, path: str) -> str:
        """Path relative to the root; empty for the root itself and for what is outside."""
        root = str(self._repo)
        return path[len(root) + 1 :] if _is_below(path, root) else ""


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _signature(path: Path) -> _Signature | None:
    """Differs whenever a file was written or replaced; its last number alone if it was renamed."""
    try:
        now = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(now.st_mode):
        return None
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def _bytes_of(repo: Path, path: str) -> bytes | None:
    """Bytes of a regular file, one more than the bound at most; None if there is none."""
    try:
        real = locate(repo, path)
        with open(real, "rb", opener=_open) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return file.read(MAX_FILE_BYTES + 1)
    except (OSError, ToolError):
        return None


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe must not block
