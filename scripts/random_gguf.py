"""Makes a model of random weights: `random_gguf.py SHAPE VOCABULARY OUT [--seed N]`.

SHAPE is `7b`, `27b`, `100m` or `tiny`: dense Qwen2 architecture, quantised like Q4_K_M. VOCABULARY
is any GGUF file with a tokenizer, one without tensors too: `random_gguf.py vocabulary MODEL OUT`
makes such a file. What the model says makes no sense; how long it takes does.
"""

import argparse
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from gguf_writer import GgufError, Tensor, pair, read_pairs, write_gguf

TOKENS = "tokenizer.ggml.tokens"


@dataclass(frozen=True, slots=True)
class Shape:
    """A dense Qwen2 model."""

    n_layers: int
    """Transformer blocks."""
    n_embd: int
    """Width of the hidden state."""
    n_ff: int
    """Width of the feed-forward layers."""
    n_head: int
    """Attention heads."""
    n_head_kv: int
    """Key-value heads."""
    n_ctx: int = 32768
    """Context it claims to be trained for, in tokens."""


SHAPES = {
    "tiny": Shape(2, 256, 512, 4, 2),
    "100m": Shape(8, 512, 1536, 8, 2),
    "7b": Shape(28, 3584, 18944, 28, 4),
    "27b": Shape(52, 5120, 27648, 40, 8),
}
"""`7b` is Qwen2.5-7B; `27b` is Qwen2.5-32B with 52 of its 64 layers."""


def qwen2_keys(name: str, shape: Shape, vocabulary: dict[str, bytes]) -> list[bytes]:
    """Metadata of a dense Qwen2 model."""
    return [
        pair("general.architecture", "qwen2"),
        pair("general.name", name),
        pair("general.file_type", 15),
        pair("general.quantization_version", 2),
        pair("qwen2.block_count", shape.n_layers),
        pair("qwen2.context_length", shape.n_ctx),
        pair("qwen2.embedding_length", shape.n_embd),
        pair("qwen2.feed_forward_length", shape.n_ff),
        pair("qwen2.attention.head_count", shape.n_head),
        pair("qwen2.attention.head_count_kv", shape.n_head_kv),
        pair("qwen2.attention.layer_norm_rms_epsilon", 1e-6),
        pair("qwen2.rope.freq_base", 1e6),
        *vocabulary.values(),
    ]


def qwen2_tensors(shape: Shape, n_vocab: int) -> list[Tensor]:
    """Tensors of a dense Qwen2 model, with the types that Q4_K_M gives them."""
    wide, kv = shape.n_embd, shape.n_embd // shape.n_head * shape.n_head_kv
    tensors = [
        Tensor("token_embd.weight", (wide, n_vocab), "Q4_K", 0.02),
        Tensor("output_norm.weight", (wide,), "F32", mean=1.0),
        Tensor("output.weight", (wide, n_vocab), "Q6_K", wide**-0.5),
    ]
    for layer in range(shape.n_layers):
        more = "Q6_K" if _has_more_bits(layer, shape.n_layers) else "Q4_K"
        weights: list[tuple[str, int, int, str]] = [
            ("attn_q", wide, wide, "Q4_K"),
            ("attn_k", wide, kv, "Q4_K"),
            ("attn_v", wide, kv, more),
            ("attn_output", wide, wide, "Q4_K"),
            ("ffn_gate", wide, shape.n_ff, "Q4_K"),
            ("ffn_up", wide, shape.n_ff, "Q4_K"),
            ("ffn_down", shape.n_ff, wide, more),
        ]
        tensors += [
            Tensor(f"blk.{layer}.{name}.weight", (n_in, n_out), kind, n_in**-0.5)
            for name, n_in, n_out, kind in weights
        ]
        tensors += [
            Tensor(f"blk.{layer}.{name}.bias", (n_out,), "F32")
            for name, n_out in (("attn_q", wide), ("attn_k", kv), ("attn_v", kv))
        ]
        tensors += [
            Tensor(f"blk.{layer}.{name}.weight", (wide,), "F32", mean=1.0)
            for name in ("attn_norm", "ffn_norm")
        ]
    return tensors


def _has_more_bits(layer: int, n_layers: int) -> bool:
    """Q4_K_M's rule: the first and the last eighth, and every third layer between them."""
    eighth = n_layers // 8
    return layer < eighth or layer >= 7 * n_layers // 8 or (layer - eighth) % 3 == 2


def n_tokens_of(vocabulary: dict[str, bytes]) -> int:
    """Tokens of a vocabulary.

    Raises:
        GgufError: there is none.
    """
    listed = vocabulary.get(TOKENS)
    if listed is None:
        raise GgufError("the file holds no tokenizer")
    at = 8 + len(TOKENS) + 4 + 4  # the key, the kind of the value, the kind of its items
    return int(struct.unpack_from("<Q", listed, at)[0])


def write_model(path: Path, name: str, shape: Shape, vocabulary: Path, *, seed: int = 0) -> int:
    """Write a dense Qwen2 model of random weights.

    Returns:
        Its size in bytes.

    Raises:
        GgufError: the vocabulary cannot be used, or the shape does not go with the block types.
        OSError: a file cannot be read or written.
    """
    pairs = read_pairs(vocabulary, "tokenizer.")
    tensors = qwen2_tensors(shape, n_tokens_of(pairs))
    return write_gguf(path, qwen2_keys(name, shape, pairs), tensors, seed=seed)


def write_vocabulary(path: Path, model: Path) -> int:
    """Write the tokenizer of a model to a file of its own, without tensors; its size in bytes."""
    pairs = read_pairs(model, "tokenizer.")
    n_tokens_of(pairs)
    head = [pair("general.architecture", "qwen2"), *pairs.values()]
    return write_gguf(path, head, [])


def main() -> int:
    """Write what was asked for; say how large it is and how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", choices=[*SHAPES, "vocabulary"])
    parser.add_argument("source", type=Path, metavar="VOCABULARY|MODEL")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    started = time.perf_counter()
    try:
        if arguments.shape == "vocabulary":
            size = write_vocabulary(arguments.out, arguments.source)
        else:
            shape = SHAPES[arguments.shape]
            name = f"random-{arguments.shape}"
            size = write_model(arguments.out, name, shape, arguments.source, seed=arguments.seed)
    except (GgufError, OSError) as error:
        print(f"random_gguf: {error}", file=sys.stderr)
        return 2
    print(f"{arguments.out}: {size:,} bytes in {time.perf_counter() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
