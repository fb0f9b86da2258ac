"""Reads the header of a GGUF file, versions 2 and 3: what a model is, and whether it is complete.

The format is described in `docs/gguf.md` of the ggml project. Nothing of the weights is read, and
large arrays are skipped, so a header of any size costs a bounded amount of memory. Counts and
lengths come from the file, so each is checked against the bytes that are left before it is used.
"""

import re
import stat
from collections import Counter
from pathlib import Path

import msgspec

from agspec_tui.errors import ModelError
from agspec_tui.models.gguf_layers import n_state_values, split_layers
from agspec_tui.models.gguf_reader import GgufReader, Scalar, Value

_MAX_KEYS = 1 << 14
_MAX_TENSORS = 1 << 16
_MAX_DIMS = 4
_DEFAULT_ALIGNMENT = 32
_BLOCK = re.compile(r"blk\.(\d{1,6})\.")
_NOT_COMPLETE = "the file is damaged or still being downloaded; fetch it again"

_TENSOR_TYPES: dict[int, tuple[int, int]] = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
    40: (64, 36),
    41: (128, 18),
    42: (64, 18),
}
"""Values and bytes of one block of each ggml tensor type, by its number in the file."""


class GgufHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a GGUF says about its model."""

    architecture: str
    """Model family as llama.cpp names it, e.g. `qwen2`."""
    name: str
    """Name its maker gave it; empty if none."""
    n_layers: int
    """Transformer blocks."""
    n_embd: int
    """Width of the hidden state."""
    n_head: int
    """Attention heads of the widest layer."""
    n_head_kv: tuple[int, ...]
    """Key-value heads of each layer; 0 for a layer without attention."""
    n_embd_head_k: int
    """Length of one head's key."""
    n_embd_head_v: int
    """Length of one head's value."""
    n_ctx_train: int
    """Context the model was trained for, in tokens; 0 if the file does not say."""
    n_vocab: int
    """Vocabulary size."""
    n_bytes: int
    """Size of the file in bytes."""
    weights_bytes: int
    """Size of all tensors in bytes."""
    layer_bytes: tuple[int, ...] = ()
    """Size of each block's tensors in bytes."""
    output_bytes: int = 0
    """Size of the output layer in bytes; where it is the embedding again, of that."""
    is_tied: bool = False
    """Whether the output layer is the embedding again."""
    n_window: int = 0
    """Tokens that layers with a sliding window see; 0 if there are none."""
    state_values: tuple[int, ...] = ()
    """Values (f32) that each layer keeps of a sequence as its recurrent state; 0 for none."""


def read_header(path: Path) -> GgufHeader:
    """Read and check the header of a GGUF file.

    Raises:
        ModelError: missing, unreadable, not a GGUF, of an unsupported version, damaged, shorter
            than its tensors, one shard of several, or not a language model.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ModelError(f"{path} is a folder", "name the .gguf file in it")
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{path} is not a regular file", "name a .gguf file")
        with path.open("rb") as stream:
            return _read(GgufReader(stream, path, status.st_size), path, status.st_size)
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist", "check the path") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(f"{path} cannot be read: {reason}", "check its permissions") from error


def _read(reader: GgufReader, path: Path, n_bytes: int) -> GgufHeader:
    _check_magic(reader, path)
    n_tensors, n_keys = reader.u64(), reader.u64()
    if n_keys > _MAX_KEYS or n_tensors > _MAX_TENSORS:
        raise ModelError(
            f"{path}: absurd counts in the header, {n_keys} keys and {n_tensors} tensors",
            _NOT_COMPLETE,
        )
    values: dict[str, Value] = {}
    lengths: dict[str, int] = {}
    for _ in range(n_keys):
        key, value, length = reader.pair()
        if value is not None:
            values[key] = value
        lengths[key] = length
    if _count(values, "split.count") > 1:
        raise ModelError(
            f"{path} is one of {_count(values, 'split.count')} shards",
            "join them with `llama-gguf-split --merge` and name the result",
        )
    sizes, data_bytes = _tensors(reader, path, n_tensors)
    alignment = _count(values, "general.alignment") or _DEFAULT_ALIGNMENT
    start = -(-reader.position() // alignment) * alignment
    if n_tensors and start + data_bytes > n_bytes:
        raise ModelError(
            f"{path} is cut short: {n_bytes} bytes, its tensors need {start + data_bytes}",
            _NOT_COMPLETE,
        )
    return _header(values, lengths, path, n_bytes, sizes)


def _check_magic(reader: GgufReader, path: Path) -> None:
    magic = reader.take(4, "not a GGUF file")
    if magic != b"GGUF":
        raise ModelError(f"{path} is not a GGUF file", "name a .gguf file, or a catalogue model")
    version = reader.u32()
    if version & 0xFFFF == 0:
        raise ModelError(f"{path} is a big-endian GGUF", "convert it to little-endian")
    if version not in (2, 3):
        raise ModelError(
            f"{path}: GGUF version {version} is not supported", "convert it to version 3"
        )


class _Sizes:
    """Bytes of the tensors, by where they belong."""

    def __init__(self) -> None:
        self.total = 0
        self.layers: Counter[int] = Counter()
        self.others: Counter[str] = Counter()

    def add(self, name: str, size: int) -> None:
        """Count a tensor."""
        self.total += size
        block = _BLOCK.match(name)
        if block:
            self.layers[int(block[1])] += size
        else:
            self.others[name] += size

    @property
    def is_tied(self) -> bool:
        """Whether the output layer is the embedding again."""
        return "output.weight" not in self.others

    @property
    def output(self) -> int:
        """Bytes of the output layer."""
        head = "token_embd.weight" if self.is_tied else "output.weight"
        return self.others[head] + self.others["output_norm.weight"]


def _tensors(reader: GgufReader, path: Path, n_tensors: int) -> tuple[_Sizes, int]:
    """Bytes of the tensors, and the end of the last one from the start of the data."""
    data_bytes = 0
    sizes = _Sizes()
    for _ in range(n_tensors):
        name = reader.name()
        n_dims = reader.u32()
        if n_dims > _MAX_DIMS:
            raise ModelError(f"{path}: tensor {name!r} has {n_dims} dimensions", _NOT_COMPLETE)
        n_values = 1
        for _ in range(n_dims):
            n_values *= reader.u64()
        kind, offset = reader.u32(), reader.u64()
        if kind not in _TENSOR_TYPES:
            raise ModelError(
                f"{path}: tensor {name!r} has the unknown type {kind}",
                "use a file quantised to a type of this llama.cpp, e.g. Q4_K_M",
            )
        n_block, block_bytes = _TENSOR_TYPES[kind]
        size = -(-n_values // n_block) * block_bytes
        sizes.add(name, size)
        data_bytes = max(data_bytes, offset + size)
    return sizes, data_bytes


def _header(
    values: dict[str, Value], lengths: dict[str, int], path: Path, n_bytes: int, sizes: _Sizes
) -> GgufHeader:
    architecture = _text(values, "general.architecture")
    n_layers = _count(values, f"{architecture}.block_count")
    n_embd = _count(values, f"{architecture}.embedding_length")
    n_vocab = lengths.get("tokenizer.ggml.tokens", 0)
    if not (architecture and n_layers and n_embd and n_vocab):
        raise ModelError(
            f"{path} holds no language model",
            "adapters, projectors and bare vocabularies cannot be run; name a whole model",
        )
    heads = _counts(values, f"{architecture}.attention.head_count")
    n_head = max(heads, default=0)
    heads_kv = _counts(values, f"{architecture}.attention.head_count_kv") or heads
    head_size = n_embd // n_head if n_head else 0
    if n_layers > _MAX_KEYS or len(heads_kv) not in (0, 1, n_layers):
        raise ModelError(
            f"{path}: {n_layers} layers and {len(heads_kv)} head counts", _NOT_COMPLETE
        )
    heads_kv = heads_kv if len(heads_kv) == n_layers else (heads_kv or (0,)) * n_layers

    def count(key: str) -> int:
        return _count(values, f"{architecture}.{key}")

    n_state = n_state_values(count, n_embd, n_head)
    heads_kv, states = split_layers(architecture, count, heads_kv, n_state)
    return GgufHeader(
        architecture=architecture,
        name=_text(values, "general.name"),
        n_layers=n_layers,
        n_embd=n_embd,
        n_head=n_head,
        n_head_kv=heads_kv,
        n_embd_head_k=count("attention.key_length") or head_size,
        n_embd_head_v=count("attention.value_length") or head_size,
        n_ctx_train=count("context_length"),
        n_vocab=n_vocab,
        n_bytes=n_bytes,
        weights_bytes=sizes.total,
        layer_bytes=tuple(sizes.layers[layer] for layer in range(n_layers)),
        output_bytes=sizes.output,
        is_tied=sizes.is_tied,
        n_window=count("attention.sliding_window"),
        state_values=states,
    )


def _text(values: dict[str, Value], key: str) -> str:
    value = values.get(key)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _is_count(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _count(values: dict[str, Value], key: str) -> int:
    """A non-negative whole number; 0 if it is missing or of another kind."""
    value = values.get(key)
    return value if isinstance(value, int) and _is_count(value) else 0


def _counts(values: dict[str, Value], key: str) -> tuple[int, ...]:
    """A whole number, or one for each layer; empty if missing."""
    value = values.get(key)
    if isinstance(value, tuple):
        return tuple(item for item in value if isinstance(item, int) and _is_count(item))
    return (value,) if isinstance(value, int) and _is_count(value) else ()
