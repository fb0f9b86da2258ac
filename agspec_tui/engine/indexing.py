"""The indexing thread: files reach the workspace corpus while the target decodes.

Tokenising and indexing a file takes up to some hundred milliseconds, far more than a step. The
thread shares the corpora with the decode loop, which the compiled core makes safe: it gives a
waiting draft the right of way after every slice of an append.
"""

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable
from types import TracebackType

from agspec_tui.commands import ForgetDocument, IndexDocument

_NICENESS = 10
_SWITCH_S = 0.0005
"""Longest time a thread keeps the interpreter from another one; 5 ms by default."""


class Hold:
    """A point in the stream of commands at which indexing stands still.

    Entered by the main thread, it waits until everything sent before has been indexed, and keeps
    what was sent after from being indexed until it is left: commands that change the corpora as a
    whole keep their place in the order.
    """

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.left = threading.Event()

    def __enter__(self) -> None:
        self.reached.wait()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.left.set()


class IndexingThread:
    """Serves `IndexDocument` and `ForgetDocument` in their order, beside the decode loop."""

    def __init__(self, serve: Callable[[IndexDocument | ForgetDocument], object]) -> None:
        """Hand each command to `serve`, which must not raise."""
        self._serve = serve
        self._queue: queue.SimpleQueue[IndexDocument | ForgetDocument | Hold] = queue.SimpleQueue()

    def start(self) -> None:
        """Start the thread; it ends with the process."""
        sys.setswitchinterval(_SWITCH_S)
        threading.Thread(target=self._run, name="indexing", daemon=True).start()

    def put(self, command: IndexDocument | ForgetDocument) -> None:
        """Queue a command; never blocks."""
        self._queue.put(command)

    def hold(self) -> Hold:
        """Queue a point at which indexing stands still until the hold is left."""
        hold = Hold()
        self._queue.put(hold)
        return hold

    def _run(self) -> None:
        # The decoding threads wait for each other at every layer: on a busy machine they go first.
        if sys.platform == "linux":  # elsewhere a niceness belongs to the whole process
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        while True:
            command = self._queue.get()
            if isinstance(command, Hold):
                command.reached.set()
                command.left.wait()
            else:
                self._serve(command)
