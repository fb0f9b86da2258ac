"""The event stream of a session: one producer side, many consumers, nobody waits for anybody."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from agspec_tui.events import Event


class Subscription:
    """One consumer's raw, lossless view. Drain it as rarely or as often as suits the consumer."""

    def __init__(self) -> None:
        self._pending: deque[Event] = deque()
        self._woken = asyncio.Event()

    def _push(self, event: Event) -> None:
        self._pending.append(event)
        self._woken.set()

    def drain(self) -> list[Event]:
        """All events since the last drain, in order; returns at once."""
        events = list(self._pending)
        self._pending.clear()
        self._woken.clear()
        return events

    async def wait(self) -> None:
        """Return as soon as there is something to drain."""
        await self._woken.wait()


class Bus:
    """Stamps events with `seq` and `t_s` and hands them to every subscription."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._seq = 0
        self._subscriptions: list[Subscription] = []
        self._taps: list[Callable[[Event], None]] = []

    def subscribe(self) -> Subscription:
        """A new consumer; it sees what is published from now on."""
        subscription = Subscription()
        self._subscriptions.append(subscription)
        return subscription

    def tap(self, take: Callable[[Event], None]) -> None:
        """Call `take` with every event from now on, as it is published; it returns at once."""
        self._taps.append(take)

    def replay(self, events: Sequence[Event]) -> None:
        """Hand events of an earlier run to every subscription; numbers and times go on from them.

        Taps do not see them.
        """
        for event in events:
            for subscription in self._subscriptions:
                subscription._push(event)
        if events:
            self._seq = max(self._seq, events[-1].seq)
            self._started = self._clock() - events[-1].t_s

    def publish(self, event: Event) -> Event:
        """Stamp an event and queue it for every consumer. Call from the session's event loop."""
        self._seq += 1
        stamped = msgspec.structs.replace(event, seq=self._seq, t_s=self._clock() - self._started)
        for subscription in self._subscriptions:
            subscription._push(stamped)
        for take in self._taps:
            take(stamped)
        return stamped
