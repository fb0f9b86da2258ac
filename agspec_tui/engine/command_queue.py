"""Commands of the engine process in the order in which they were sent."""

import queue
from collections import deque

from agspec_tui.commands import EngineCommand
from agspec_tui.engine.indexing import Hold

Queued = tuple[EngineCommand, Hold | None]
"""A command, and the point at which indexing stands still for it; None for a command that changes
no corpus as a whole."""


class CommandQueue:
    """One thread puts commands in, another one takes the front as soon as its turn has come."""

    def __init__(self) -> None:
        self._sent: queue.SimpleQueue[Queued] = queue.SimpleQueue()
        self._waiting: deque[Queued] = deque()

    def put(self, command: EngineCommand, hold: Hold | None = None) -> None:
        """Add a command; never blocks."""
        self._sent.put((command, hold))

    def front(self, *, wait: bool) -> Queued | None:
        """The oldest command, which stays in front until `pop`; None if there is none.

        Args:
            wait: whether to wait for one.
        """
        if wait and not self._waiting:
            self._waiting.append(self._sent.get())
        while not self._sent.empty():  # asked between any two passes
            self._waiting.append(self._sent.get())
        return self._waiting[0] if self._waiting else None

    def pop(self) -> None:
        """The front has been carried out."""
        self._waiting.popleft()
