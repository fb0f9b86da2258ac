"""Takes typed values from the bytes of a GGUF header, never past the end of the file."""

import struct
from pathlib import Path
from typing import BinaryIO

from agspec_tui.errors import ModelError

Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...]

_CHUNK = 1 << 20
_MAX_NAME = 1 << 12
_MAX_KEPT_TEXT = 256
_MAX_KEPT_ITEMS = 1024
_MAX_TEXTS = 1 << 24
_STRING, _ARRAY = 8, 9
_FORMATS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_KEPT_ARRAYS = (".attention.head_count", ".attention.head_count_kv")


class GgufReader:
    """A forward-only reader over a chunk of the file."""

    def __init__(self, stream: BinaryIO, path: Path, n_bytes: int) -> None:
        """Read `stream`, a file of `n_bytes` bytes; `path` is for messages."""
        self._stream = stream
        self._path = path
        self._n_bytes = n_bytes
        self._chunk = b""
        self._chunk_start = 0
        self._at = 0
        self._n_texts = 0

    def position(self) -> int:
        """Bytes taken or skipped so far."""
        return self._chunk_start + self._at

    def take(self, n_bytes: int, problem: str = "the header is cut short") -> bytes:
        """The next bytes.

        Raises:
            ModelError: the file ends before.
        """
        self._need(n_bytes, problem)
        start, self._at = self._at, self._at + n_bytes
        return self._chunk[start : self._at]

    def u32(self) -> int:
        """The next unsigned number of 4 bytes."""
        return int.from_bytes(self.take(4), "little")

    def u64(self) -> int:
        """The next unsigned number of 8 bytes."""
        return int.from_bytes(self.take(8), "little")

    def name(self) -> str:
        """The next string where a name is expected; shorter than 4 KiB, far above any in use."""
        length = self.u64()
        if length >= _MAX_NAME:
            raise self._damaged(f"a name of {length} bytes in the header")
        return self.take(length).decode("utf-8", "replace")

    def pair(self) -> tuple[str, Value | None, int]:
        """The next key and its value.

        Returns:
            The key, its value or None for one that is not kept (a long text, a large array), and
            the number of items of an array (0 for anything else).
        """
        key = self.name()
        kind = self.u32()
        if kind == _ARRAY:
            return self._array(key)
        if kind == _STRING:
            return key, self._text(), 0
        return key, self._number(kind), 0

    def _number(self, kind: int) -> int | float | bool:
        form = _FORMATS.get(kind)
        if form is None:
            raise self._damaged(f"unknown value type {kind} in the header")
        value: int | float | bool = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return value

    def _text(self) -> str | None:
        length = self.u64()
        if length > _MAX_KEPT_TEXT:
            self._skip(length)
            return None
        return self.take(length).decode("utf-8", "replace")

    def _array(self, key: str) -> tuple[str, Value | None, int]:
        kind, n_items = self.u32(), self.u64()
        if kind == _STRING:
            self._skip_texts(n_items)
            return key, None, n_items
        form = _FORMATS.get(kind)
        if form is None:
            raise self._damaged(f"unknown array type {kind} in the header")
        if key.endswith(_KEPT_ARRAYS) and n_items <= _MAX_KEPT_ITEMS:
            return key, tuple(self._number(kind) for _ in range(n_items)), n_items
        self._skip(n_items * struct.calcsize(form))
        return key, None, n_items

    def _skip_texts(self, n_items: int) -> None:
        # A string takes at least the 8 bytes of its length, so the file bounds the count; the cap
        # keeps a large file of empty strings from being walked for minutes.
        if n_items * 8 > self._n_bytes - self.position():
            raise self._damaged("the header is cut short")
        self._n_texts += n_items
        if self._n_texts > _MAX_TEXTS:
            raise self._damaged(f"an array of {n_items} strings in the header")
        unpack = struct.Struct("<Q").unpack_from
        for _ in range(n_items):
            if self._at + 8 > len(self._chunk):
                self._need(8)
            (length,) = unpack(self._chunk, self._at)
            if self._at + 8 + length <= len(self._chunk):
                self._at += 8 + length
            else:
                self._at += 8
                self._skip(length)

    def _skip(self, n_bytes: int) -> None:
        target = self.position() + n_bytes
        if target > self._n_bytes:
            raise self._damaged("the header is cut short")
        if self._at + n_bytes <= len(self._chunk):
            self._at += n_bytes
            return
        self._stream.seek(target)
        self._chunk, self._chunk_start, self._at = b"", target, 0

    def _need(self, n_bytes: int, problem: str = "the header is cut short") -> None:
        """Make the next `n_bytes` part of the chunk."""
        if self._at + n_bytes <= len(self._chunk):
            return
        if self.position() + n_bytes > self._n_bytes:
            raise self._damaged(problem)
        rest = self._chunk[self._at :]
        self._chunk_start, self._at = self.position(), 0
        self._chunk = rest + self._stream.read(max(_CHUNK, n_bytes))
        if len(self._chunk) < n_bytes:
            raise self._damaged(problem)

    def _damaged(self, problem: str) -> ModelError:
        return ModelError(
            f"{self._path}: {problem}",
            "it is not a GGUF file, or damaged, or still being downloaded; fetch it again",
        )
