"""Writes GGUF headers by hand, right or wrong on purpose."""

import struct
from collections.abc import Sequence

U32, F32, BOOL, STRING, ARRAY, U64 = 4, 6, 7, 8, 9, 10


def text(value: str) -> bytes:
    """A string of the format."""
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str, kind: int, value: bytes) -> bytes:
    """One key with its value."""
    return text(key) + struct.pack("<I", kind) + value


def u32(key: str, value: int) -> bytes:
    """A key with a number."""
    return pair(key, U32, struct.pack("<I", value))


def string(key: str, value: str) -> bytes:
    """A key with a text."""
    return pair(key, STRING, text(value))


def strings(key: str, values: list[str]) -> bytes:
    """A key with an array of texts."""
    return pair(key, ARRAY, struct.pack("<IQ", STRING, len(values)) + b"".join(map(text, values)))


def numbers(key: str, values: list[int]) -> bytes:
    """A key with an array of numbers."""
    body = struct.pack(f"<{len(values)}I", *values)
    return pair(key, ARRAY, struct.pack("<IQ", U32, len(values)) + body)


def tensor(name: str, shape: list[int], kind: int, offset: int) -> bytes:
    """What a header says about one tensor."""
    return (
        text(name)
        + struct.pack("<I", len(shape))
        + struct.pack(f"<{len(shape)}Q", *shape)
        + struct.pack("<IQ", kind, offset)
    )


def model_pairs(**changes: bytes) -> dict[str, bytes]:
    """The keys of a small whole model; replace some, or add more."""
    return {
        "architecture": string("general.architecture", "toy"),
        "blocks": u32("toy.block_count", 2),
        "width": u32("toy.embedding_length", 64),
        "context": u32("toy.context_length", 2048),
        "heads": u32("toy.attention.head_count", 4),
        "tokens": strings("tokenizer.ggml.tokens", ["a", "b", "c"]),
        **changes,
    }


def gguf(
    pairs: list[bytes],
    tensors: Sequence[bytes] = (),
    *,
    data: int = 0,
    magic: bytes = b"GGUF",
    version: int = 3,
    n_tensors: int | None = None,
    n_keys: int | None = None,
) -> bytes:
    """A whole file; the counts can be made to lie."""
    head = magic + struct.pack(
        "<IQQ",
        version,
        len(tensors) if n_tensors is None else n_tensors,
        len(pairs) if n_keys is None else n_keys,
    )
    body = head + b"".join(pairs) + b"".join(tensors)
    return body + bytes(-len(body) % 32) + bytes(data)
