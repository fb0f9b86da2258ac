"""The watcher: keeps the workspace corpus true while files are changed from outside.

    file events → a quiet moment → which files differ → read the newest text → the engine

Events are collected on a thread of the observer, files are read on threads beside the event loop,
and the engine is sent one file at a time: neither the screen nor a generation waits for any of it.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from agspec_tui.errors import EngineError
from agspec_tui.events import Warned
from agspec_tui.session.corpus_feed import CorpusFeed, digest
from agspec_tui.session.folder_events import Events, FolderEvents
from agspec_tui.session.followed import FollowedFiles
from agspec_tui.session.repo import git_lock

_QUIET_S = 0.3
"""Seconds without an event after which a batch is complete."""
_LONGEST_S = 1.0
"""Seconds after its first event at which a batch is taken anyway."""
_GIT_LONGEST_S = 10.0
"""The same while git is changing the work tree, so that a checkout is one batch."""
_REFRESH_S = 2.0
"""Seconds a turn waits for the files that changed."""


class Watcher:
    """Follows files of a repository from the event loop that starts it."""

    def __init__(
        self, repo: Path, feed: CorpusFeed, warn: Callable[[Warned], object], *, scope: str
    ) -> None:
        """Nothing is watched until `start`.

        Args:
            repo: the resolved root.
            feed: where the texts of files go.
            warn: takes the one warning there may be.
            scope: `opened` follows what `follow` names, `repo` every file.
        """
        self.n_batches = 0
        """Batches of events dealt with."""
        self.started = asyncio.Event()
        """Set once changes are seen, or once it is known that they cannot be."""
        self._repo = repo
        self._feed = feed
        self._warn = warn
        self._woken = asyncio.Event()
        self._events = FolderEvents(self._wake)
        self._followed = FollowedFiles(repo, self._events, whole=scope == "repo")
        self._pending: dict[str, None] = {}
        self._unsettled: set[str] = set()
        self._queued = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._warned = False
        self._git_lock: Path | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to watch. Where the system refuses, files are compared before each turn instead."""
        self._loop = asyncio.get_running_loop()
        self._tasks = [
            self._loop.create_task(self._take_batches()),
            self._loop.create_task(self._send_files()),
        ]

    async def stop(self) -> None:
        """Stop watching; leaves no thread and no watch behind. Safe to call twice."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.to_thread(self._events.stop)
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def follow(self, path: str) -> None:
        """Follow a file that was just put into the corpus.

        What was put may be an edit that is not on disk yet, so a difference is not repaired here:
        the next event or the next turn does it.
        """
        await asyncio.to_thread(self._followed.follow, path)
        text = await asyncio.to_thread(self._followed.read, path)
        if text is None or digest(text) != self._feed.holds(path):
            self._unsettled.add(path)
        self._warn_if_refused()

    async def refresh(self) -> None:
        """Before a turn: bring the corpus up to the files as they are, events or not."""
        unsettled, self._unsettled = self._unsettled, set()
        blind = Events(lost=self._followed.refused is not None)
        changed = await asyncio.to_thread(self._followed.survey, blind)
        self._warn_if_refused()
        self._queue((*unsettled, *changed))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REFRESH_S):
                await self._idle.wait()

    # ── batches ──────────────────────────────────────────────────────────────────────────────────

    def _wake(self) -> None:
        """Called from the observer's thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(self._woken.set)

    async def _take_batches(self) -> None:
        self._git_lock = await asyncio.to_thread(git_lock, self._repo)
        self._queue(reversed(await asyncio.to_thread(self._followed.begin)))
        self._warn_if_refused()
        self.started.set()
        while True:
            await self._woken.wait()
            await self._until_quiet()
            self._woken.clear()
            if not self._events.times()[0]:
                continue  # what it was woken for went with the batch before
            changed = await asyncio.to_thread(self._followed.survey, self._events.take())
            self.n_batches += 1
            self._queue(reversed(changed))
            self._warn_if_refused()

    async def _until_quiet(self) -> None:
        while True:
            first_s, last_s = self._events.times()
            now = time.monotonic()
            if self._is_git_busy() and now < first_s + _GIT_LONGEST_S:
                await asyncio.sleep(_QUIET_S / 4)
                continue
            due = min(last_s + _QUIET_S, max(first_s + _LONGEST_S, now - _QUIET_S))
            if due <= now:
                return
            await asyncio.sleep(due - now)

    def _is_git_busy(self) -> bool:
        """Whether git holds its lock; one that a crash left behind does not count."""
        if self._git_lock is None:
            return False
        try:
            return time.time() - self._git_lock.stat().st_mtime < _GIT_LONGEST_S
        except OSError:
            return False

    # ── sending ──────────────────────────────────────────────────────────────────────────────────

    def _queue(self, paths: Iterable[str]) -> None:
        """Queue files to be read and sent; the last one is the next, a waiting one moves up."""
        for path in paths:
            self._pending.pop(path, None)
            self._pending[path] = None
        if self._pending:
            self._idle.clear()
            self._queued.set()

    async def _send_files(self) -> None:
        while True:
            await self._queued.wait()
            self._queued.clear()
            while self._pending:
                path, _ = self._pending.popitem()
                # A dead engine is reported elsewhere, and the next one is given the files.
                with contextlib.suppress(EngineError):
                    await self._bring(path)
            self._idle.set()

    async def _bring(self, path: str) -> None:
        """Make the corpus hold a file as it is now, or not at all."""
        if self._feed.full and self._feed.holds(path) is None:
            return
        text = await asyncio.to_thread(self._followed.read, path)
        if text is None:
            await self._feed.drop(path)
        else:
            await self._feed.put(path, text)

    def _warn_if_refused(self) -> None:
        refused = self._followed.refused
        if refused is not None and not self._warned:
            self._warned = True
            self._warn(
                Warned(
                    message=f"changes of files are seen only before each turn: {refused.why}",
                    hint=refused.hint,
                    lasting="files are not watched",
                )
            )
