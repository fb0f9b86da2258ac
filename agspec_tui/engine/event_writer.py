"""The engine process's way out: events reach the wire by a thread of their own."""

import contextlib
import queue
import socket
import threading

from agspec_tui.engine import wire
from agspec_tui.engine.pulse import Pulse
from agspec_tui.engine_events import EngineEvent, Pong

_LAST_S = 1.0
"""Seconds that the last events have to be read by the other side."""


class EventWriter:
    """Sends events in their order; whoever has one never waits for the reader at the other end."""

    def __init__(self, connection: socket.socket, pulse: Pulse) -> None:
        """Send over a socket; every event but a pong is a sign of progress."""
        self._connection = connection
        self._pulse = pulse
        self._bodies: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, event: EngineEvent | Pong) -> None:
        """Queue an event; never blocks."""
        if not isinstance(event, Pong):
            self._pulse.beat()
        self._bodies.put(wire.frame(event))

    def close(self) -> None:
        """Send what is queued, as long as the other side reads."""
        self._bodies.put(None)
        self._thread.join(timeout=_LAST_S)

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while (body := self._bodies.get()) is not None:
                self._connection.sendall(body)
