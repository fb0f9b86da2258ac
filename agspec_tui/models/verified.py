"""Remembers that a file of the models folder was checked, so that a start hashes nothing.

Beside `NAME.gguf` lies `NAME.gguf.ok` with the size, time of change and SHA-256 that were found.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from agspec_tui.errors import ModelError
from agspec_tui.models.catalogue import CatalogueEntry

_CHUNK = 1 << 22


class _Marker(msgspec.Struct, frozen=True):
    n_bytes: int
    """Size of the file when it was hashed."""
    mtime_ns: int
    """Its time of change then, in nanoseconds."""
    sha256: str
    """The hash that was found."""


def model_path(name: str, folder: Path) -> Path:
    """Where the file of a catalogue entry lives."""
    return folder / f"{name}.gguf"


def marker_path(path: Path) -> Path:
    """The marker beside a model file."""
    return path.with_name(path.name + ".ok")


def is_marked(entry: CatalogueEntry, path: Path) -> bool:
    """Whether the file is there and was found right, and has not changed since."""
    try:
        status = path.stat()
        marker = msgspec.json.decode(marker_path(path).read_bytes(), type=_Marker)
    except (OSError, msgspec.DecodeError):
        return False
    found = _Marker(status.st_size, status.st_mtime_ns, entry.sha256)
    return marker == found and status.st_size == entry.n_bytes


def mark(entry: CatalogueEntry, path: Path) -> None:
    """Write the marker. A folder that cannot be written to only costs a hash at the next start."""
    try:
        status = path.stat()
        marker = _Marker(status.st_size, status.st_mtime_ns, entry.sha256)
        write_whole(marker_path(path), msgspec.json.encode(marker))
    except OSError:
        return


def problem(
    entry: CatalogueEntry, path: Path, progress: Callable[[int], None] = lambda n_bytes: None
) -> str:
    """What is wrong with a file that should be this entry's; empty if its size and hash are right.

    Args:
        entry: what the file should be.
        path: the file.
        progress: told the number of bytes hashed so far.
    """
    n_bytes = path.stat().st_size
    if n_bytes != entry.n_bytes:
        return f"{n_bytes} bytes instead of {entry.n_bytes}"
    digest, n_hashed = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            n_hashed += len(chunk)
            progress(n_hashed)
    if digest.hexdigest() != entry.sha256:
        return f"SHA-256 is {digest.hexdigest()[:12]}… instead of {entry.sha256[:12]}…"
    return ""


def require_verified(entry: CatalogueEntry, folder: Path) -> Path:
    """The file of an entry, checked now if it was not before.

    Raises:
        ModelError: it is not there, or is damaged.
    """
    path = model_path(entry.name, folder)
    if is_marked(entry, path):
        return path
    try:
        wrong = problem(entry, path)
    except FileNotFoundError:
        raise ModelError(
            f"{entry.name} is not pulled yet", f"agspec-tui models pull {entry.name}"
        ) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(f"{path} cannot be read: {reason}", "check its permissions") from error
    if wrong:
        raise ModelError(f"{path} is damaged: {wrong}", f"agspec-tui models pull {entry.name}")
    mark(entry, path)
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file so that after a crash it holds either the old or the new content."""
    staged = path.with_name(path.name + ".new")
    with staged.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    staged.replace(path)


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a power loss."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
