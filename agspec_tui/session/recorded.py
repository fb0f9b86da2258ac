"""Replays a recorded session: a file with one event a line, shown again as if it happened now."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from agspec_tui.commands import AnswerApproval, EditPlan, Interrupt, Quit, SessionCommand
from agspec_tui.errors import UsageError
from agspec_tui.events import (
    ApprovalAnswered,
    ApprovalRequested,
    Event,
    TaskFinished,
    TaskSubmitted,
    Warned,
)
from agspec_tui.session.bus import Bus

FASTEST = float("inf")
"""Speed that waits for nothing."""
STEPWISE = 0.0
"""Speed at which events come only by `step`."""


def read_events(path: Path) -> list[Event]:
    """Read a recording.

    Raises:
        UsageError: the file cannot be read, or a line is no event; the message names the line.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{path}: {reason}", "give a file with one JSON event a line") from error
    decoder = msgspec.json.Decoder(Event)
    events: list[Event] = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            events.append(decoder.decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{path}, line {number}: {error}", "this is no recording of a session"
            ) from error
    return events


def write_events(path: Path, events: list[Event]) -> None:
    """Write a recording that `read_events` reads."""
    encoder = msgspec.json.Encoder()
    path.write_bytes(b"".join(encoder.encode(event) + b"\n" for event in events))


TOGETHER_S = 0.02
"""Events this close to each other are published together, in seconds of the replay."""


class RecordedSession:
    """Publishes the events of a recording, at their own pace, faster, at once, or one by one.

    What was recorded cannot be changed: a task that is submitted is not worked on. A paced replay
    stops at a recorded question until it is answered; a no, or an interrupt, ends it.
    """

    def __init__(self, recording: Path | Sequence[Event], speed: float = 1.0) -> None:
        """Prepare a replay.

        Args:
            recording: The file, or its events.
            speed: 1.0 is the recorded pace, 2.0 twice as fast; `FASTEST` and `STEPWISE` are
                special.
        """
        if speed < 0:
            raise UsageError(f"speed {speed} is negative", "use 1 for the recorded pace")
        self.bus = Bus()
        self._recording = recording
        self._speed = speed
        self._paused = False
        self._events: list[Event] = []
        self._next = 0
        self._at_s = 0.0  # recorded time up to which everything was shown
        self._question: ApprovalRequested | None = None
        self._go_on = asyncio.Event()
        self._changed = asyncio.Event()  # the pace is another one now
        self._playing: asyncio.Task[None] | None = None

    @property
    def n_left(self) -> int:
        """Events not yet published."""
        return len(self._events) - self._next

    @property
    def n_events(self) -> int:
        """Events of the recording."""
        return len(self._events)

    @property
    def speed(self) -> float:
        """How many recorded seconds pass in a second."""
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        """Take effect at once, also in the middle of a wait."""
        self._speed = speed
        self._changed.set()

    @property
    def paused(self) -> bool:
        """True while a paced replay stands still."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        """Take effect at once."""
        self._paused = paused
        self._changed.set()

    @property
    def asking(self) -> bool:
        """True while a recorded question waits for its answer."""
        return self._question is not None

    async def start(self) -> None:
        """Read the recording and begin to play it.

        Raises:
            UsageError: the recording cannot be read.
        """
        recording = self._recording
        self._events = read_events(recording) if isinstance(recording, Path) else list(recording)
        self._at_s = self._events[0].t_s if self._events else 0.0
        if self._speed == FASTEST:
            self.step(len(self._events))
        elif self._speed > STEPWISE:
            self._playing = asyncio.create_task(self._play())

    def step(self, n: int = 1) -> list[Event]:
        """Publish the next `n` events, whatever the speed; returns those there were."""
        batch = self._events[self._next : self._next + n]
        for event in batch:
            self._next += 1
            self._at_s = max(self._at_s, event.t_s)
            self.bus.publish(event)
        return batch

    def step_paused(self) -> None:
        """Show the next event while the replay stands still; a question has to be answered."""
        if self._paused and not self.asking and self.n_left:
            self._ask_if_it_asks(self._events[self._next])
            self.step()

    def _ask_if_it_asks(self, event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            self._question = event
            self._go_on.clear()

    async def _play(self) -> None:
        while self._next < len(self._events):
            event = self._events[self._next]
            if await self._pause_before(event):
                continue
            self._ask_if_it_asks(event)
            at_s = max(self._at_s, event.t_s)
            self.step(self._n_together(event))
            self._at_s = at_s  # those that came early take no time off what follows
            if self._question is not None:
                await self._go_on.wait()

    def _n_together(self, event: Event) -> int:
        """Events, of which this is the next, that come within one look of an eye."""
        if self._question is not None:
            return 1
        until_s, end = event.t_s + TOGETHER_S * self._speed, self._next + 1
        while end < len(self._events):
            later = self._events[end]
            if later.t_s > until_s or isinstance(later, ApprovalRequested):
                break
            end += 1
        return end - self._next

    async def _pause_before(self, event: Event) -> bool:
        """Let recorded time pass up to an event; True if the pace changed before that."""
        self._changed.clear()
        if self._paused or self._question is not None:
            await self._changed.wait()
            return True
        began = time.monotonic()
        speed = self._speed
        try:
            wait_s = max(0.0, event.t_s - self._at_s) / speed
            await asyncio.wait_for(self._changed.wait(), wait_s)
        except TimeoutError:
            return False
        self._at_s += (time.monotonic() - began) * speed
        return True

    async def send(self, command: SessionCommand) -> None:
        """Answer the recorded question, or end the replay; other commands change nothing."""
        match command:
            case AnswerApproval(call_id=call_id, approved=approved, left_out=out, written=own):
                if self._question is None or self._question.call_id != call_id:
                    return
                question, self._question = self._question, None
                if approved and (out or own):
                    self.bus.publish(
                        Warned(
                            message="a recorded change is written as it was",
                            hint="the recording goes on with all of it",
                        )
                    )
                if approved:
                    self._answered()
                else:
                    self.bus.publish(
                        ApprovalAnswered(call_id=call_id, approved=False, turn=question.turn)
                    )
                    self._end("the recorded change was rejected; the recording ends here")
            case EditPlan(call_id=call_id):
                if self._question is not None and self._question.call_id == call_id:
                    self.bus.publish(
                        Warned(
                            message="a recorded plan cannot be changed",
                            hint="the recording goes on by the plan it has",
                        )
                    )
                    self._question = None
                    self._answered()
            case Interrupt() | Quit():
                self._end("the replay was stopped")
            case _:
                return

    def _answered(self) -> None:
        self._go_on.set()
        self._changed.set()

    def _end(self, summary: str) -> None:
        """Stop playing; a task that was begun ends as cancelled."""
        if self._playing is not None:
            self._playing.cancel()
            self._playing = None
        shown = self._events[: self._next]
        begun = [event for event in shown if isinstance(event, TaskSubmitted | TaskFinished)]
        self._next = len(self._events)
        if begun and isinstance(begun[-1], TaskSubmitted):
            wall_s = shown[-1].t_s - begun[-1].t_s
            self.bus.publish(
                TaskFinished(status="cancelled", summary=summary, diff="", wall_s=wall_s)
            )

    async def close(self) -> None:
        """Stop playing."""
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)
            self._playing = None
