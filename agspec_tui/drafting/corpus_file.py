"""The file of a global corpus: its text, sorted once, with the names of its documents.

Little-endian, version 1. A header of 160 bytes:

    8 s   magic `AGSPECGC`          I    version
    I     n_vocab                   Q    n_tokens, separators included
    I     n_documents               I    n_name_bytes
    Q     created_s, Unix time      32 s fingerprint of the tokenizer
    32 s  BLAKE2b of the payload    24 s zeros
    32 s  BLAKE2b of the header up to here

then the payload: token ids (int32), the order of the suffixes (int32), start, length and end of the
name of every document (int32 each), shared prefixes (uint8), names (UTF-8, one behind another).
Documents follow each other with one separator, a negative id, in between.
"""

import hashlib
import mmap
import os
import stat
import struct
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agspec_tui._native import SuffixArray, sort_suffixes
from agspec_tui.drafting.types import Ids
from agspec_tui.errors import DraftError

MAGIC = b"AGSPECGC"
VERSION = 1
N_FINGERPRINT_BYTES = 32
_FIELDS = struct.Struct("<8sIIQIIQ32s32s24x")
_DIGEST_BYTES = 32
HEADER_BYTES = _FIELDS.size + _DIGEST_BYTES
_MOST_TOKENS = 1 << 30
_LAST_S = 253_402_300_799  # the end of the year 9999
_BUILD = "build it anew with `agspec-tui corpus build`"


@dataclass(frozen=True, slots=True)
class CorpusHeader:
    """What a corpus file says of itself."""

    version: int
    """Version of the format."""
    n_vocab: int
    """Vocabulary size of its tokenizer."""
    n_tokens: int
    """Tokens in the text, separators included."""
    n_documents: int
    """Documents in the text."""
    n_name_bytes: int
    """Bytes of all names."""
    created_s: int
    """When it was made, in seconds since 1970."""
    fingerprint: bytes
    """Fingerprint of its tokenizer, 32 bytes."""
    payload_digest: bytes
    """BLAKE2b of everything behind the header."""

    @property
    def n_bytes(self) -> int:
        """Size of the whole file."""
        return HEADER_BYTES + 9 * self.n_tokens + 12 * self.n_documents + self.n_name_bytes

    def packed(self) -> bytes:
        """The header as it is stored."""
        fields = _FIELDS.pack(
            *(MAGIC, self.version, self.n_vocab, self.n_tokens, self.n_documents),
            *(self.n_name_bytes, self.created_s, self.fingerprint, self.payload_digest),
        )
        return fields + _digest(fields)


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """An open corpus file; its arrays are read where they lie in the mapped file."""

    header: CorpusHeader
    """What it says of itself."""
    ids: Ids
    """Token ids, shape (n_tokens,); documents are separated by a negative id."""
    order: Ids
    """Positions in the order of their suffixes, shape (n_tokens,)."""
    shared: npt.NDArray[np.uint8]
    """Leading tokens that each suffix shares with the one before it, at most 255."""
    starts: Ids
    """Position of each document's first token, ascending, shape (n_documents,)."""
    name_ends: Ids
    """Where each document's name ends in `names`, shape (n_documents,)."""
    names: bytes
    """All names, UTF-8."""
    array: SuffixArray
    """The suffix array over them."""

    def locate(self, position: int) -> tuple[str, int]:
        """Name of the document that holds a position, and the offset in it, in tokens."""
        number = int(np.searchsorted(self.starts, position, side="right")) - 1
        return self.name(number), position - int(self.starts[number])

    def name(self, number: int) -> str:
        """Name of a document by its number in the file."""
        start = int(self.name_ends[number - 1]) if number else 0
        return self.names[start : int(self.name_ends[number])].decode("utf-8", "replace")


def write_corpus(
    path: Path, documents: Iterable[tuple[str, Ids]], fingerprint: bytes, n_vocab: int
) -> CorpusHeader:
    """Sort documents into a corpus file for its owner only; it appears whole or not at all.

    Args:
        path: the file; one that is there is replaced. Its folder must exist.
        documents: name and token ids of each; empty ones are left out.
        fingerprint: of the tokenizer, 32 bytes.
        n_vocab: size of its vocabulary.

    Raises:
        DraftError: there are no tokens, too many, or one out of range, or the disk refuses.
    """
    kept = [(name.encode("utf-8", "replace"), ids) for name, ids in documents if len(ids)]
    if not kept:
        raise DraftError("a corpus needs at least one token", "name traces that hold text")
    lengths = np.array([len(ids) for _, ids in kept], dtype=np.int64)
    n_tokens = int(lengths.sum()) + len(kept) - 1
    if n_tokens >= _MOST_TOKENS:
        raise DraftError(f"{n_tokens} tokens are too many for a corpus", "name fewer traces")
    starts = np.concatenate(([0], np.cumsum(lengths + 1)[:-1])).astype(np.int32)
    ids = _joined(kept, starts, n_tokens)
    if any(int(each.min()) < 0 for _, each in kept) or int(ids.max()) >= n_vocab:
        raise DraftError("a token id is out of the vocabulary", "use the model's own tokenizer")
    order, shared = sort_suffixes(ids)
    names = b"".join(name for name, _ in kept)
    name_ends = np.cumsum([len(name) for name, _ in kept]).astype(np.int32)
    table = (starts, lengths.astype(np.int32), name_ends)
    parts = [*(part.astype("<i4").tobytes() for part in (ids, order, *table)), shared.tobytes()]
    parts.append(names)
    header = CorpusHeader(
        version=VERSION,
        n_vocab=n_vocab,
        n_tokens=n_tokens,
        n_documents=len(kept),
        n_name_bytes=len(names),
        created_s=int(time.time()),
        fingerprint=fingerprint,
        payload_digest=_digest(*parts),
    )
    _write_whole(path, [header.packed(), *parts])
    return header


def read_header(path: Path) -> CorpusHeader:
    """Read and check the header of a corpus file, and the file's size.

    Raises:
        DraftError: it is missing, no corpus file, damaged, or of another version.
    """
    with _Mapping(path) as data:
        return _header(path, data)


def open_corpus(
    path: Path, fingerprint: bytes | None = None, n_vocab: int | None = None
) -> CorpusFile:
    """Map a corpus file and check all of it: about 25 ms for a million tokens.

    The file must not be cut while it is open; `write_corpus` never does that.

    Args:
        path: the file.
        fingerprint: of the tokenizer it is to be used with; None takes any.
        n_vocab: size of that vocabulary; None takes any.

    Raises:
        DraftError: it is missing, no corpus file, damaged, of another version or tokenizer.
    """
    with _Mapping(path) as data:
        header = _header(path, data)
        wrong_tokenizer = fingerprint is not None and fingerprint != header.fingerprint
        if wrong_tokenizer or (n_vocab is not None and n_vocab != header.n_vocab):
            raise DraftError(
                f"{path} was built with the tokenizer of another model", f"{_BUILD} --model M"
            )
        if _digest(memoryview(data)[HEADER_BYTES:]) != header.payload_digest:
            raise _damaged(path, "its checksum is wrong")
        return _checked(path, header, data)


class _Mapping:
    """A file mapped for reading; unmapped again only if nothing was taken from it."""

    def __init__(self, path: Path) -> None:
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise DraftError(f"{path} is no file", "name a file made by `corpus build`")
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < HEADER_BYTES:
                    raise _damaged(path, f"it holds {size} bytes, less than a header")
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError as error:
            raise DraftError(f"the corpus {path} does not exist", _BUILD) from error
        except (OSError, ValueError) as error:
            raise DraftError(f"{path} cannot be read: {error}", _BUILD) from error

    def __enter__(self) -> mmap.mmap:
        return self._data

    def __exit__(self, *exc: object) -> None:
        with suppress(BufferError):  # arrays that live on keep the mapping
            self._data.close()


def _header(path: Path, data: mmap.mmap) -> CorpusHeader:
    stored = data[:HEADER_BYTES]
    magic, version, *rest = _FIELDS.unpack_from(stored)
    if magic != MAGIC:
        raise DraftError(f"{path} is no corpus file", "name a file made by `corpus build`")
    if _digest(stored[: _FIELDS.size]) != stored[_FIELDS.size :]:
        raise _damaged(path, "its header's checksum is wrong")
    if version != VERSION or sys.byteorder != "little":
        raise DraftError(f"{path} has version {version} of the format, not {VERSION}", _BUILD)
    header = CorpusHeader(version, *rest)
    if header.n_bytes != len(data):
        raise _damaged(path, f"it holds {len(data)} bytes, not {header.n_bytes}")
    return header


def _checked(path: Path, header: CorpusHeader, data: mmap.mmap) -> CorpusFile:
    """The file's arrays, once nothing in them can lead out of the text."""
    n, n_documents = header.n_tokens, header.n_documents
    if not 0 < n < _MOST_TOKENS or not n_documents:
        raise _damaged(path, "it holds no text")
    if header.created_s > _LAST_S:
        raise _damaged(path, "its date is wrong")
    at = HEADER_BYTES
    ids = np.frombuffer(data, dtype=np.int32, count=n, offset=at)
    order = np.frombuffer(data, dtype=np.int32, count=n, offset=at + 4 * n)
    table = np.frombuffer(data, dtype=np.int32, count=3 * n_documents, offset=at + 8 * n)
    at += 8 * n + 12 * n_documents
    shared = np.frombuffer(data, dtype=np.uint8, count=n, offset=at)
    starts, lengths, name_ends = table.reshape(3, n_documents)
    ends = starts.astype(np.int64) + lengths
    follow = np.array_equal(starts, np.concatenate(([0], ends[:-1] + 1))) and ends[-1] == n
    if not follow or lengths.min() < 1 or not np.all(ids[ends[:-1]] < 0):
        raise _damaged(path, "its documents do not fill the text")
    if (
        np.any(np.diff(name_ends.astype(np.int64), prepend=0) < 0)
        or name_ends[-1] != header.n_name_bytes
    ):
        raise _damaged(path, "the names of its documents do not fit")
    try:
        array = SuffixArray(ids, order, shared, min(header.n_vocab, 2**31 - 1))
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    return CorpusFile(header, ids, order, shared, starts, name_ends, data[at + n :], array)


def _joined(kept: list[tuple[bytes, Ids]], starts: npt.NDArray[np.int32], n_tokens: int) -> Ids:
    """The documents one behind another, with the separators −1, −2, … in between."""
    ids = np.empty(n_tokens, dtype=np.int32)
    ids[starts[1:] - 1] = -np.arange(1, len(kept))
    for start, (_, document) in zip(starts, kept, strict=True):
        ids[start : start + len(document)] = document
    return ids


def _write_whole(path: Path, parts: list[bytes]) -> None:
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DraftError(f"{path} cannot be written: {reason}", "choose --output FILE") from error


def _digest(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _damaged(path: Path, fault: str) -> DraftError:
    return DraftError(f"{path} is damaged: {fault}", _BUILD)
