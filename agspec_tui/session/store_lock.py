"""Says that a stored session is in use; the lock goes with the process, however it ends."""

import contextlib
import fcntl
import os
import stat
from pathlib import Path

SUFFIX = ".lock"


def make_folder(folder: Path) -> None:
    """Make the folder of sessions, for the user alone.

    Raises:
        OSError: it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        folder.chmod(0o700)


class StoreLock:
    """Held by the one process that writes to a session."""

    def __init__(self, fd: int, path: Path) -> None:
        self._fd = fd
        self._path = path

    @classmethod
    def take(cls, store: Path) -> "StoreLock | None":
        """Lock a session; None if another process has it.

        Raises:
            OSError: the lock file cannot be made.
        """
        path = store.with_suffix(SUFFIX)
        make_folder(path.parent)
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(fd), path.stat()):
                    return cls(fd, path)
            except BlockingIOError:
                os.close(fd)
                return None
            except FileNotFoundError:
                """Its last holder removed it meanwhile: make another one."""
            os.close(fd)

    def release(self) -> None:
        """Let go of it, and remove the lock file."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        os.close(self._fd)


def is_locked(store: Path) -> bool:
    """Whether a process has a session open."""
    if not store.with_suffix(SUFFIX).exists():
        return False
    try:
        lock = StoreLock.take(store)
    except OSError:
        return False
    if lock is None:
        return True
    lock.release()
    return False
