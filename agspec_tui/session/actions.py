"""Notices that the same is done over and over: one action, or a round of two or three."""

from typing import Literal

_N_WARN = 3
_N_STOP = 5
_LONGEST_ROUND = 3


class ActionLoop:
    """The actions of one task, in order."""

    def __init__(self, n_warn: int = _N_WARN, n_stop: int = _N_STOP) -> None:
        """Begin with none.

        Args:
            n_warn: times an action or a round comes in a row before it is warned of.
            n_stop: times before it is stopped.
        """
        self._n_warn = n_warn
        self._n_stop = n_stop
        self._done: list[str] = []

    def take(self, action: str) -> Literal["", "warn", "stop"]:
        """Take note of an action; says what is to be done about it."""
        self._done.append(action)
        n_rounds = max(self._n_rounds(length) for length in range(1, _LONGEST_ROUND + 1))
        if n_rounds >= self._n_stop:
            return "stop"
        return "warn" if n_rounds >= self._n_warn else ""

    def _n_rounds(self, length: int) -> int:
        """How many times the last `length` actions came in a row at the end."""
        last = self._done[-length:]
        n_rounds, end = 0, len(self._done)
        while end >= length and self._done[end - length : end] == last:
            n_rounds, end = n_rounds + 1, end - length
        return n_rounds
