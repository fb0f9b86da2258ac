"""Lets another thread change the corpora between two steps only.

Without it a file becomes part of the workspace corpus while a step is under way, in parts. That is
fast, but the same cannot happen twice. A recording needs changes that have a place in the order.
"""

import contextlib
import threading
from collections.abc import Iterator


class StepGate:
    """Open while nothing is generated; while something is, it opens between two steps."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = True
        self._n_waiting = 0

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """For the other thread: wait until the gate is open, and keep it so meanwhile."""
        with self._changed:
            self._n_waiting += 1
            try:
                self._changed.wait_for(lambda: self._open)
                yield
            finally:
                self._n_waiting -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def generating(self) -> Iterator[None]:
        """For the decoding thread: the gate is closed but for `let_in`."""
        with self._changed:
            self._open = False
        try:
            yield
        finally:
            with self._changed:
                self._open = True
                self._changed.notify_all()

    def let_in(self) -> None:
        """For the decoding thread: let changes that wait take place, and wait for them."""
        with self._changed:
            if not self._n_waiting:
                return
            self._open = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._n_waiting)
            self._open = False
