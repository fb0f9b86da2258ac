"""How often the screen is drawn: drawing takes a core's time from the model, so it gets a share."""

SHARE = 0.03
"""Of one core's time, what frames may take while tokens arrive."""
SHORTEST_S, LONGEST_S = 0.2, 0.6
"""Least and longest time from one frame to the next, in seconds: eyes read no faster, and who waits
longer thinks that nothing goes on."""
_NEWEST = 0.3
"""What the newest frame counts for in the mean."""


class Pace:
    """Says when the next frame is due, by what frames cost on this machine."""

    def __init__(self) -> None:
        """Begin with frames that cost nothing."""
        self.due_s = 0.0
        """When the next frame may be drawn, on the clock of `begins` and `ends`."""
        self._cost_s = 0.0
        self._cpu_s = 0.0

    def begins(self, now_s: float, cpu_s: float) -> None:
        """A frame has begun; until it ends no other is due, or only after the longest time.

        Args:
            now_s: the time.
            cpu_s: processor time that this process had used before it.
        """
        self._cpu_s, self.due_s = cpu_s, now_s + LONGEST_S

    def ends(self, now_s: float, cpu_s: float) -> None:
        """A frame is on the terminal.

        Args:
            now_s: the time.
            cpu_s: processor time of this process so far.
        """
        self._cost_s += _NEWEST * (cpu_s - self._cpu_s - self._cost_s)
        self.due_s = now_s + min(LONGEST_S, max(SHORTEST_S, self._cost_s / SHARE))
