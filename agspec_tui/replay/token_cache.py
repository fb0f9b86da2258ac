"""Tokenised sessions on disk, by the hash of what they are made from.

One file a session, little-endian: 8 bytes of magic, the length of the head (uint32), the number of
tokens (uint32), a BLAKE2b digest of the rest (32 bytes), the head (MessagePack: the session, and
the length of every token run), zeros up to a multiple of 4, and the runs (int32) in that order.
A file that is damaged is ignored and written anew; files appear whole or not at all, so that
several processes may fill one cache.
"""

import hashlib
import os
import struct
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

import msgspec
import numpy as np

from agspec_tui.drafting.types import Ids
from agspec_tui.replay.tokens import StoredSession
from agspec_tui.replay.traces import TraceSession

_MAGIC = b"AGSPTOK1"
_FORMAT = 2
"""Raised whenever the same recording gives other pieces, turns, shown files or views."""
_FIELDS = struct.Struct("<8sII32s")


class _Head(msgspec.Struct, frozen=True, array_like=True):
    """What stands before the tokens."""

    session: StoredSession
    """The session in terms of runs."""
    lengths: tuple[int, ...]
    """Tokens of every run."""


_decoder = msgspec.msgpack.Decoder(_Head)


def key_of(session: TraceSession, source: str, fingerprint: bytes) -> str:
    """Name of a session's entry: a hash of content, source, tokenizer and format."""
    digest = hashlib.blake2b(digest_size=20)
    digest.update(b"%d " % _FORMAT)
    digest.update(fingerprint)
    digest.update(source.encode("utf-8", "surrogatepass") + b"\n")
    digest.update(msgspec.msgpack.encode(session))
    return digest.hexdigest()


class TokenCache:
    """A folder of tokenised sessions; without a writable folder it holds nothing."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, which is made when something is put in."""
        self._folder = folder

    def path(self, key: str) -> Path:
        """Where an entry is kept."""
        return self._folder / key[:2] / f"{key}.tokens"

    def get(self, key: str) -> tuple[StoredSession, list[Ids]] | None:
        """A session and its runs; None if the entry is missing or damaged."""
        try:
            data = self.path(key).read_bytes()
        except OSError:
            return None
        return _unpacked(data)

    def put(self, key: str, session: StoredSession, runs: Sequence[Ids]) -> bool:
        """Keep a session; returns False where the disk refuses."""
        path = self.path(key)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)
        except OSError:
            return False
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(_packed(session, runs))
            Path(name).replace(path)
        except OSError:
            with suppress(OSError):
                Path(name).unlink()
            return False
        return True


def _packed(session: StoredSession, runs: Sequence[Ids]) -> list[bytes]:
    head = msgspec.msgpack.encode(_Head(session, tuple(len(run) for run in runs)))
    n_tokens = sum(len(run) for run in runs)
    parts = [head, bytes(-(_FIELDS.size + len(head)) % 4)]
    parts += [run.astype("<i4").tobytes() for run in runs]
    return [_FIELDS.pack(_MAGIC, len(head), n_tokens, _digest(parts)), *parts]


def _unpacked(data: bytes) -> tuple[StoredSession, list[Ids]] | None:
    if len(data) < _FIELDS.size:
        return None
    magic, n_head, n_tokens, digest = _FIELDS.unpack_from(data)
    start = _FIELDS.size + n_head
    start += -start % 4
    if magic != _MAGIC or len(data) != start + 4 * n_tokens:
        return None
    if digest != _digest([memoryview(data)[_FIELDS.size :]]):
        return None
    try:
        head = _decoder.decode(memoryview(data)[_FIELDS.size : _FIELDS.size + n_head])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    tokens = np.frombuffer(data, "<i4", n_tokens, start).astype(np.int32, copy=False)
    ends = list(accumulate(head.lengths))
    return head.session, [tokens[end - n : end] for end, n in zip(ends, head.lengths, strict=True)]


def _digest(parts: Sequence[bytes | memoryview]) -> bytes:
    digest = hashlib.blake2b(digest_size=32)
    for part in parts:
        digest.update(part)
    return digest.digest()
