"""What becomes of a failure that nobody foresaw: one line for the user, the rest in a log."""

import contextlib
import traceback
from pathlib import Path

from agspec_tui.config import logs_dir
from agspec_tui.errors import EngineError


def internal(error: Exception) -> EngineError:
    """The failure as the user sees it; its traceback goes to the session's log file."""
    log = _write(error)
    return EngineError(f"internal error: {type(error).__name__}: {error}", f"see {log}")


def _write(error: Exception) -> Path:
    path = logs_dir() / "session.log"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write("".join(traceback.format_exception(error)))
    return path
