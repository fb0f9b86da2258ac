"""What the engine process says of its progress when it is asked."""

import time
from collections.abc import Callable

from agspec_tui.engine_events import Pong


class Pulse:
    """Counts signs of progress: events, commands begun and done, passes of a measurement.

    Beaten by every thread that works, read by the one that takes commands off the wire.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._n = 0
        self._last_s = clock()

    def beat(self) -> None:
        """There was progress. Two threads may count one beat together: any change will do."""
        self._n += 1
        self._last_s = self._clock()

    def pong(self, number: int) -> Pong:
        """The answer to the ping of this number."""
        return Pong(number=number, n_beats=self._n, idle_s=self._clock() - self._last_s)
