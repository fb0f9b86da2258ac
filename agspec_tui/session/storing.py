"""What a session keeps on disk: begun with it, taken up when an earlier one is resumed."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from agspec_tui.config import sessions_dir
from agspec_tui.errors import AgspecError, EditError, StoreError
from agspec_tui.events import (
    ApprovalAnswered,
    ApprovalRequested,
    EditApplied,
    EditReverted,
    Event,
    TaskFinished,
    TaskSubmitted,
    Warned,
)
from agspec_tui.forms.diff import unified
from agspec_tui.forms.types import FileChange
from agspec_tui.session.bus import Bus
from agspec_tui.session.keeper import SessionKeeper
from agspec_tui.session.recovery import settle
from agspec_tui.session.store import Meta, SessionStore, faults
from agspec_tui.session.store_lock import StoreLock
from agspec_tui.session.stored import read_session
from agspec_tui.session.undo import Restored, UndoLog
from agspec_tui.session.undo_types import Stacks

_N_AT_ONCE = 500
"""Earlier events that are handed over before the screen gets its turn."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier session, read to be gone on with."""

    path: Path
    """Its file."""
    meta: Meta
    """What it is about."""
    events: tuple[Event, ...]
    """Its events."""


def read_earlier(path: Path) -> Earlier:
    """Read a session that is to be resumed.

    Raises:
        StoreError: it cannot be read as a whole.
    """
    content = read_session(path)
    if content.meta is None or content.notes:
        raise StoreError(
            f"{path.name}: damaged: {'; '.join(content.notes)}",
            f"`sessions export {path.stem}` writes what can still be read",
        )
    return Earlier(path, content.meta, tuple(content.events))


class Storing:
    """Keeps one session, if that is wanted; `undo` works in any case."""

    def __init__(self, bus: Bus, repo: Path, *, wanted: bool, earlier: Earlier | None) -> None:
        """Nothing is read or written before `start`."""
        self.bus = bus
        """Where everything is told."""
        self.undo = UndoLog(repo)
        """The session's undo log."""
        self.next_turn = 1
        """Number of the next turn."""
        self._repo = repo
        self._wanted = wanted
        self._earlier = earlier
        self._keeper: SessionKeeper | None = None

    async def start(self, meta: Meta) -> None:
        """Begin a session, or show an earlier one and go on with it.

        Raises:
            StoreError: the earlier session is damaged or open elsewhere.
            EditError: a write of it that was cut off could not be brought to an end.
        """
        self._repo = Path(meta.repo)  # resolved by now
        self.undo = UndoLog(self._repo)
        loop = asyncio.get_running_loop()
        for line in await asyncio.to_thread(recover, self._repo, sessions_dir()):
            self._warn(line)

        def complain(reason: str) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: there is no one to tell
                loop.call_soon_threadsafe(
                    self._warn, f"the session could not be stored: {reason}", "the work goes on"
                )

        if self._earlier is None:
            if self._wanted:
                path = sessions_dir() / f"{meta.session_id}.db"
                self._keep(SessionKeeper(path, meta, complain), Stacks())
            return
        meta = replace(meta, started_s=self._earlier.meta.started_s)
        self._keeper = keeper = SessionKeeper(self._earlier.path, meta, complain)
        stacks, line = await asyncio.to_thread(take_up, keeper, self._earlier.path, meta)
        await self._show(self._earlier.events)
        if line:
            self._warn(line)
        self._keep(keeper, stacks)
        self._close_open_ends(self._earlier.events, stacks)

    def _keep(self, keeper: SessionKeeper, stacks: Stacks) -> None:
        self._keeper = keeper
        self.bus.tap(keeper.take)
        self.undo = UndoLog(self._repo, keeper, stacks)

    async def _show(self, events: Sequence[Event]) -> None:
        for first in range(0, len(events), _N_AT_ONCE):
            self.bus.replay(events[first : first + _N_AT_ONCE])
            await asyncio.sleep(0)
        self.next_turn = max((event.turn for event in events), default=0) + 1

    def _close_open_ends(self, events: Sequence[Event], stacks: Stacks) -> None:
        """Answer what nobody answered and end the task that nothing ended."""
        asked: ApprovalRequested | None = None
        begun: TaskSubmitted | None = None
        first_turn = 1
        for event in events:
            match event:
                case ApprovalRequested():
                    asked = event
                case ApprovalAnswered():
                    asked = None
                case TaskSubmitted():
                    begun = event
                    first_turn = max((one.turn for one in events if one.seq < event.seq), default=0)
                case TaskFinished():
                    begun = asked = None
        if asked is not None:
            answer = ApprovalAnswered(call_id=asked.call_id, approved=False, turn=asked.turn)
            self.bus.publish(answer)
        if begun is None:
            return
        left = stacks.since(first_turn)
        changes = [FileChange(path, one.before, one.after) for path, one in left.versions.items()]
        names = ", ".join(sorted(left.versions))
        summary = "The program ended in the middle of this task."
        if names:
            summary += f"\nAs it left them: {names}. Undo takes that back."
        wall_s = events[-1].t_s - begun.t_s
        self.bus.publish(
            TaskFinished(status="cancelled", summary=summary, diff=unified(changes), wall_s=wall_s)
        )

    async def take_back(self, *, again: bool) -> None:
        """Take the last turn back, or with `again` the last undo, and say what was done."""
        try:
            restored = await asyncio.to_thread(self.undo.redo if again else self.undo.restore)
        except AgspecError as error:
            self._warn(error.message, error.hint)
            return
        for event in said(restored, again=again):
            self.bus.publish(event)

    async def close(self) -> None:
        """Store what is waiting, and close the file."""
        if self._keeper is not None:
            await asyncio.to_thread(self._keeper.close)

    def _warn(self, message: str, hint: str = "") -> None:
        self.bus.publish(Warned(message=message, hint=hint))


def said(restored: Restored, *, again: bool) -> list[Event]:
    """Events that say what an undo or a redo did."""
    events: list[Event] = []
    turn, files = restored.turn, restored.files
    if files and again:
        events.append(EditApplied(turn=turn, files=files))
    elif files:
        reason = f"undo of turn {turn}" if turn else "undo"
        events.append(EditReverted(turn=turn, files=files, reason=reason))
    if restored.conflicts:
        events.append(Warned(message=restored.message(), hint="compare these files yourself"))
    if not events:
        what = "there is nothing to bring back" if again else "there is nothing to take back"
        events.append(Warned(message=what, hint=""))
    return events


def take_up(keeper: SessionKeeper | None, path: Path, meta: Meta | None) -> tuple[Stacks, str]:
    """Open the file of an earlier session and bring what was cut off in it to an end.

    Args:
        keeper: goes on with the file; None to close it again.
        path: the file.
        meta: what the session is about from here on; None for what it was.

    Returns:
        Its undo log, and one line about what was cut off; empty if nothing is to be said.

    Raises:
        StoreError: it is damaged, or open in another program.
        EditError: the disk refused.
    """
    try:
        held = StoreLock.take(path)
    except OSError as error:
        raise StoreError(f"{path.name}: {error.strerror}", "it cannot be written") from error
    if held is None:
        raise StoreError(f"{path.stem} is open in another program", "close it there first")
    with contextlib.ExitStack() as leaving:
        leaving.callback(held.release)
        store = SessionStore.open(path, writing=True)
        leaving.callback(store.close)
        with faults(path):
            line = end_operation(store)
            stacks = store.stacks()
            if meta is not None:
                store.put_meta(meta)
        if keeper is not None:
            keeper.go_on(store, held)
            leaving.pop_all()
    return stacks, line


async def undo_stored(path: Path, *, again: bool) -> list[Event]:
    """Take the last turn of a session that is not open back, or bring it back.

    Returns:
        What was done, and warnings about what was cut off before.

    Raises:
        StoreError: it is damaged, or open in another program.
        EditError: the disk refused; nothing was changed.
    """
    earlier = await asyncio.to_thread(read_earlier, path)
    storing = Storing(Bus(), Path(earlier.meta.repo), wanted=True, earlier=earlier)
    seen = storing.bus.subscribe()
    try:
        await storing.start(earlier.meta)
        told = [
            one for one in seen.drain() if isinstance(one, Warned) and one not in earlier.events
        ]
        await storing.take_back(again=again)
    finally:
        await storing.close()
    return [*told, *seen.drain()]


def end_operation(store: SessionStore) -> str:
    """End the write, undo or redo that was cut off; returns one line about it, or nothing.

    Raises:
        EditError: the disk refused.
    """
    begun = store.begun()
    if begun is None:
        return ""
    operation, after = begun
    settled = settle(Path(store.meta().repo), operation)
    store.finish(after if settled.applied else store.stacks(), done=settled.applied)
    ends = []
    if settled.put_back:
        ends.append(f"as before it again: {', '.join(settled.put_back)}")
    if settled.conflicts:
        ends.append(f"changed since, and left alone: {', '.join(settled.conflicts)}")
    return f"a write was cut off; {'; '.join(ends)}" if ends else ""


def recover(repo: Path, folder: Path) -> list[str]:
    """End what killed sessions over a repository left half done; returns lines about it."""
    lines: list[str] = []
    for log in folder.glob("*.db-wal"):
        path = log.with_suffix(".db")
        try:
            # A file that was closed has no log beside it, so few are opened here.
            if log.stat().st_size == 0 or not path.is_file():
                continue
            lines += _recover_one(repo, path)
        except (StoreError, EditError) as error:
            lines.append(f"session {path.stem}: {error.message}")
        except (OSError, sqlite3.Error) as error:
            lines.append(f"session {path.stem}: {error}")
    return lines


def _recover_one(repo: Path, path: Path) -> list[str]:
    with contextlib.closing(SessionStore.open(path, writing=False)) as store, faults(path):
        if store.meta().repo != str(repo) or not store.has_begun():
            return []
    held = StoreLock.take(path)
    if held is None:
        return []
    try:
        with contextlib.closing(SessionStore.open(path, writing=True)) as store, faults(path):
            line = end_operation(store)
    finally:
        held.release()
    return [f"session {path.stem}: {line}"] if line else []
