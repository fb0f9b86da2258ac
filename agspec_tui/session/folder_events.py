"""File events of single folders, collected on a thread of their own until they are taken.

Each folder is watched by itself and none with what is below it, so that ignored folders cost
nothing, and so that a watch which the system refuses is an error here and not a gap.
"""

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
    FileSystemMovedEvent,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch
from watchdog.observers.polling import PollingObserver

MAX_FOLDERS = 512
"""Most folders that are watched; each one costs a thread that sleeps."""

# Opening and closing files is left out: reading a file to index it must not lead to reading it
# again.
_KINDS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
_LIMITS = (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class WatchRefused(Exception):
    """The system, or a bound of ours, refuses to watch: why, and what to do about it."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


@dataclass(slots=True)
class Events:
    """What happened since the last time, each path once."""

    paths: set[str] = field(default_factory=set)
    """Files that were written, made, moved or deleted: absolute paths, old and new names."""
    folders: set[str] = field(default_factory=set)
    """Folders that were made, moved or deleted: absolute paths, old and new names."""
    moves: list[tuple[str, str]] = field(default_factory=list)
    """Old and new absolute path of each file or folder whose move was seen as one."""
    lost: bool = False
    """Events were lost: anything may have happened."""
    first_s: float = 0.0
    """Monotonic time of the first event."""
    last_s: float = 0.0
    """Monotonic time of the last one."""


class FolderEvents(FileSystemEventHandler):
    """Watches folders; `wake` is called from another thread at the first event of each batch."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._changing = threading.Lock()
        self._events = Events()
        self._observer: BaseObserver | None = None
        self._stopped = False
        self._watches: dict[str, ObservedWatch] = {}
        self._complaints = _Complaints(self._lose)

    def start(self) -> None:
        """Start the thread that collects events, unless it was stopped before.

        Raises:
            WatchRefused: the system has no file events, or gives no more of them.
        """
        if Observer is PollingObserver:
            raise WatchRefused("this system reports no file events", "")
        with self._changing:
            if self._stopped:
                return
            try:
                self._observer = Observer()
                self._observer.start()
            except OSError as error:
                self._observer = None
                raise _refusal(error) from error
            _log().addHandler(self._complaints)

    def stop(self) -> None:
        """Stop every thread and give back every watch; safe to call twice."""
        with self._changing:
            self._stopped = True
            observer, self._observer = self._observer, None
            self._watches.clear()
        if observer is not None:
            observer.stop()
            observer.join()
        _log().removeHandler(self._complaints)

    def watch(self, folders: Iterable[str]) -> None:
        """Watch folders as well; those that are gone or closed to us are left out.

        Raises:
            WatchRefused: there are more of them than can be watched.
        """
        with self._changing:
            for folder in folders:
                if self._observer is not None and folder not in self._watches:
                    self._add(self._observer, folder)

    def _add(self, observer: BaseObserver, folder: str) -> None:
        if len(self._watches) >= MAX_FOLDERS:
            raise WatchRefused(f"more than {MAX_FOLDERS} folders", 'corpus_scope = "opened"')
        try:
            self._watches[folder] = observer.schedule(self, folder, event_filter=_KINDS)
        except OSError as error:
            if error.errno in _LIMITS:
                raise _refusal(error) from error

    def unwatch(self, folder: str) -> None:
        """Stop watching a folder and those below it: its name stands for something else now."""
        below = f"{folder}{os.sep}"
        with self._changing:
            for name in [one for one in self._watches if one == folder or one.startswith(below)]:
                watch = self._watches.pop(name)
                if self._observer is not None:
                    self._observer.unschedule(watch)

    @property
    def watched(self) -> frozenset[str]:
        """Folders that are watched now."""
        return frozenset(self._watches)

    def times(self) -> tuple[float, float]:
        """Monotonic times of the first and the last event that were not taken yet."""
        with self._lock:
            return self._events.first_s, self._events.last_s

    def take(self) -> Events:
        """The events since the last call."""
        with self._lock:
            events, self._events = self._events, Events()
        return events

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Note an event; called on the observer's thread."""
        names = [os.fsdecode(event.src_path), os.fsdecode(event.dest_path)]
        with self._lock:
            into = self._events.folders if event.is_directory else self._events.paths
            into.update(name for name in names if name)
            if isinstance(event, FileSystemMovedEvent):
                self._events.moves.append((names[0], names[1]))
            self._stamp()

    def _lose(self) -> None:
        with self._lock:
            self._events.lost = True
            self._stamp()

    def _stamp(self) -> None:
        """Note the time of an event, with the lock held."""
        now = time.monotonic()
        first = self._events.first_s == 0.0
        if first:
            self._events.first_s = now
        self._events.last_s = now
        if first:
            self._wake()


class _Complaints(logging.Handler):
    """The library reports lost events only to its log, which must not reach the terminal."""

    def __init__(self, lose: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._lose = lose

    def emit(self, record: logging.LogRecord) -> None:
        self._lose()


def _log() -> logging.Logger:
    return logging.getLogger("watchdog")


def _refusal(error: OSError) -> WatchRefused:
    setting = "watches" if error.errno == errno.ENOSPC else "instances"
    return WatchRefused(str(error.strerror), f"raise fs.inotify.max_user_{setting} with sysctl")
