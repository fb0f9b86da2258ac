"""How the engine process ends: with its parent, and never half alive.

A thread of the engine that fails leaves a process that hears nothing or says nothing. It is better
gone: the client starts another one, and that one goes on where this one was.
"""

import ctypes
import os
import signal
import sys
import threading
import traceback

BROKEN = 70
"""Exit code: a thread failed by a bug; the log holds its traceback."""
OUT_OF_MEMORY = 71
"""Exit code: an allocation failed."""
OUT_OF_STEP = 72
"""Exit code: the stream of commands could not be read any further."""

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Let the kernel end this process when its parent dies, where it can.

    The end of the socket says so too, but not to a process that is stopped.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_by(error: BaseException) -> None:
    """End the process at once over an error, with its traceback in the log."""
    code = OUT_OF_MEMORY if isinstance(error, MemoryError) else BROKEN
    try:
        traceback.print_exception(error)
    finally:
        os._exit(code)


def end_with_any_thread() -> None:
    """Let an error that ends a thread end the process."""

    def ended(failed: threading.ExceptHookArgs) -> None:
        end_by(failed.exc_value or RuntimeError(f"a thread ended by {failed.exc_type.__name__}"))

    threading.excepthook = ended
