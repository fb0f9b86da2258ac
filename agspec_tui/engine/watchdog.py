"""Tells a child that works from one that hangs, by what it answers while somebody waits for it."""

from collections import deque
from dataclasses import dataclass

from agspec_tui.engine_events import Pong

_DEAF = 3
"""A child that says something but answers no ping has so many times the patience for silence."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much patience there is with a child, in seconds, and how often it is started again."""

    silence_s: float = 10.0
    """Without any sign of life, while somebody waits."""
    start_s: float = 60.0
    """Without any sign of life, before the first one: the interpreter is starting."""
    hang_s: float = 120.0
    """Alive but without progress: one and the same pass of the target, or one file's indexing."""
    load_s: float = 600.0
    """Alive but without progress while the model is loaded."""
    period_s: float = 1.0
    """Between two pings."""
    n_restarts: int = 5
    """Restarts within `window_s`; one more death ends the engine for good."""
    window_s: float = 600.0
    """After so long a restart no longer counts."""


class Watchdog:
    """Judges one child. Times are the caller's, from one monotonic clock.

    Where the caller's own timer is late, its process was stopped or the machine slept; the child
    may have been as well, so its time starts anew.
    """

    def __init__(self, limits: Limits, now_s: float) -> None:
        self._limits = limits
        self._n_pings = 0
        self._n_beats = -1
        self._was_heard = False
        self._looked_s = now_s
        self._heard_s = now_s
        self._ponged_s = now_s
        self._progress_s = now_s

    def heard(self, now_s: float) -> None:
        """Something came from the child."""
        self._was_heard = True
        self._heard_s = now_s

    def pong(self, pong: Pong, now_s: float) -> None:
        """An answer came."""
        self._ponged_s = now_s
        if pong.n_beats != self._n_beats:
            self._n_beats = pong.n_beats
            self._progress_s = now_s

    def next_ping(self) -> int:
        """Number of the next ping."""
        self._n_pings += 1
        return self._n_pings

    def look(self, now_s: float, *, waiting: bool, loading: bool) -> str:
        """Judge; call it every `period_s`.

        Args:
            now_s: the time.
            waiting: whether the child owes anything; if not, its time starts anew.
            loading: whether it loads the model.

        Returns:
            What is wrong with the child, to follow "the engine process"; empty if nothing is.
        """
        limits = self._limits
        late = now_s - self._looked_s > 2 * limits.period_s + 0.25 * limits.silence_s
        self._looked_s = now_s
        if late or not waiting:
            self._heard_s = self._ponged_s = self._progress_s = now_s
            return ""
        patience = limits.silence_s
        if not self._was_heard:
            patience = max(patience, limits.start_s)
        if now_s - self._heard_s > patience:
            return f"did not answer for {patience:g} s"
        if self._was_heard and now_s - self._ponged_s > _DEAF * patience:
            return f"did not hear for {_DEAF * patience:g} s"
        patience = limits.load_s if loading else limits.hang_s
        if now_s - self._progress_s > patience:
            return f"made no progress for {patience:g} s"
        return ""


class RestartBudget:
    """How often a child may still be started again."""

    def __init__(self, limits: Limits) -> None:
        self.n_spent = 0
        """Restarts so far, in all."""
        self._limits = limits
        self._times: deque[float] = deque()

    def left(self, now_s: float) -> bool:
        """Whether there is one more."""
        while self._times and now_s - self._times[0] > self._limits.window_s:
            self._times.popleft()
        return len(self._times) < self._limits.n_restarts

    def spend(self, now_s: float) -> None:
        """Take one."""
        self.n_spent += 1
        self._times.append(now_s)
