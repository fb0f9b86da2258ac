"""Stores a session while it runs: from a thread of its own, so that nobody waits for the disk."""

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from agspec_tui.events import Event, TaskSubmitted
from agspec_tui.session.store import Meta, SessionStore
from agspec_tui.session.store_lock import StoreLock
from agspec_tui.session.undo_types import Operation, Stacks

_EVERY_S = 0.25
"""Longest time that an event waits to be stored."""
_AGAIN_S = 2.0
"""Seconds between two tries once the disk has refused."""
_N_WAITING = 50_000
"""Events that are held while the disk refuses; behind them storing is given up."""
_JOIN_S = 5.0


class SessionKeeper:
    """Takes events and undo copies of one session. A session without a task leaves no file."""

    def __init__(self, path: Path, meta: Meta, complain: Callable[[str], None]) -> None:
        """Nothing is written before the first task.

        Args:
            path: the session's file.
            meta: what the session is about.
            complain: told once, in any thread, why something could not be stored.
        """
        self._path = path
        self._meta = meta
        self._complain = complain
        self._store: SessionStore | None = None
        self._held: StoreLock | None = None
        self._lock = threading.RLock()
        self._waiting: deque[Event] = deque()
        self._wanted = False
        self._given_up = False
        self._refused_s = float("-inf")
        self._complained = False
        self._news = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def go_on(self, store: SessionStore, held: StoreLock) -> None:
        """Go on with the open file of an earlier session instead of a new one."""
        self._store, self._held, self._wanted = store, held, True

    def take(self, event: Event) -> None:
        """Queue an event; returns at once."""
        if self._given_up:
            return
        self._waiting.append(event)
        if isinstance(event, TaskSubmitted):
            self._wanted = True
        if self._wanted:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="store", daemon=True)
                self._thread.start()
            self._news.set()

    def begin(self, operation: Operation, after: Stacks) -> None:
        """As in `UndoKeeper`; waits for the disk."""
        with self._lock:
            if self._flush(now=True) and self._store is not None:
                self._attempt(lambda store: store.begin(operation, after))

    def finish(self, stacks: Stacks, *, done: bool) -> None:
        """As in `UndoKeeper`; waits for the disk."""
        with self._lock:
            self._attempt(lambda store: store.finish(stacks, done=done))

    def close(self) -> None:
        """Store what is waiting, and close the file; waits for the disk."""
        self._stop.set()
        self._news.set()
        if self._thread is not None:
            self._thread.join(_JOIN_S)
        with self._lock:
            if self._wanted:
                self._flush(now=True)
            self._given_up = True
            if self._store is not None:
                self._store.close()
                self._store = None
            if self._held is not None:
                self._held.release()
                self._held = None

    def _run(self) -> None:
        while not (self._stop.is_set() or self._given_up):
            self._news.wait()
            if self._store is not None:
                self._stop.wait(_EVERY_S)  # what comes within this time goes in one batch
            self._news.clear()
            with self._lock:
                stored = self._flush()
            if not stored:
                self._stop.wait(_EVERY_S)

    def _flush(self, *, now: bool = False) -> bool:
        """Store the waiting events; False if the disk refused."""
        if self._given_up or (not now and time.monotonic() - self._refused_s < _AGAIN_S):
            self._news.set()
            return False
        events = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if self._attempt(lambda store: store.append(events)):
            return True
        self._waiting.extendleft(reversed(events))
        self._news.set()
        if len(self._waiting) > _N_WAITING:
            self._given_up = True
            self._waiting.clear()
        return False

    def _attempt(self, work: Callable[[SessionStore], None]) -> bool:
        """Do something with the file, which is made now if there is none; False if it failed."""
        try:
            if self._store is None:
                self._held = self._held or StoreLock.take(self._path)
                if self._held is None:
                    raise BlockingIOError("another program has its file")
                self._store = SessionStore.create(self._path, self._meta)
            work(self._store)
        except (OSError, sqlite3.Error, UnicodeEncodeError) as error:
            self._refused_s = time.monotonic()
            if not self._complained:
                self._complained = True
                self._complain(str(error))
            return False
        return True
