"""The engine process's way out: events reach the wire by a thread of their own."""

import contextlib
import queue
import socket
import threading

from agspec_tui.engine import wire
from agspec_tui.engine.pulse import Pulse
from agspec_tui.engine_events import EngineEvent, Pong

_Event = EngineEvent | Pong

_LAST_S = 1.0
"""Seconds that the last events have to be read by the other side."""


class EventWriter:
    """Sends events in their order; whoever has one never waits for the reader at the other end."""

    def __init__(self, connection: socket.socket, pulse: Pulse) -> None:
        """Send over a socket; every event but a pong is a sign of progress."""
        self._connection = connection
        self._pulse = pulse
        self._queue: queue.SimpleQueue[tuple[_Event, ...] | None] = queue.SimpleQueue()
        self._held: list[_Event] = []
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, event: _Event) -> None:
        """Queue an event; never blocks."""
        if not isinstance(event, Pong):
            self._pulse.beat()
        self._queue.put((event,))

    def hold(self, event: _Event) -> None:
        """Keep an event of the decode loop until `flush`, which comes before the next pass.

        A thread that is woken between two passes wants the interpreter, which the loop needs.
        """
        self._pulse.beat()
        self._held.append(event)

    def flush(self) -> None:
        """Queue what is held."""
        if self._held:
            self._queue.put(tuple(self._held))
            self._held.clear()

    def close(self) -> None:
        """Send what is queued, as long as the other side reads."""
        self.flush()
        self._queue.put(None)
        self._thread.join(timeout=_LAST_S)

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while (events := self._queue.get()) is not None:
                self._connection.sendall(b"".join(map(wire.frame, events)))
