"""What a model needs of memory: weights, cache, states and buffers, layer by layer.

The sizes are those that llama.cpp reserves; `tests/models/test_real_buffers.py` compares them.
"""

from typing import Literal

import msgspec

from agspec_tui.engine_events import CacheType
from agspec_tui.errors import UsageError
from agspec_tui.models.gguf import GgufHeader

N_CTX_STEP = 256
"""Context sizes are rounded to this many tokens, as the cache is."""
PROCESS_BYTES = 256 << 20
"""The engine process itself: interpreter, libraries, vocabulary, corpora."""

_F32_BYTES = 4
_N_LOGIT_ROWS = 64
_N_BLOCK = 32

TYPE_BITS: dict[str, float] = {
    "f32": 32,
    "f16": 16,
    "bf16": 16,
    "q8_0": 8.5,
    "q5_1": 6,
    "q5_0": 5.5,
    "q4_1": 5,
    "q4_0": 4.5,
    "iq4_nl": 4.5,
}
"""Bits of a value in the cache, the scale of its block included."""
UNQUANTISED = ("f32", "f16", "bf16")
"""Types that need no flash attention for values, and fit heads of any length."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that decide how much memory a model takes."""

    n_ctx: int
    """Context size in tokens."""
    n_batch: int = 512
    """Most tokens in one decode."""
    type_k: CacheType = "f16"
    """Type of the keys in the cache."""
    type_v: CacheType = "f16"
    """Type of the values in the cache."""
    flash_attention: Literal["auto", "on", "off"] = "auto"
    """`auto` is off on the CPU."""
    n_gpu_layers: int = -1
    """Layers on devices, the output layer included; −1 for as many as fit."""
    n_seq_max: int = 4
    """Sequences that may be alive at once."""
    n_snapshots: int = 6
    """States kept of each sequence of a recurrent or hybrid model, the newest one left out."""


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes in one place: the host, or all devices together."""

    weights: int
    """The tensors."""
    kv: int
    """Keys and values."""
    state: int
    """Recurrent states."""
    compute: int
    """Buffers of one decode, and the logit rows that are kept."""

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.kv + self.state + self.compute


def n_cells(n_ctx: int) -> int:
    """Cells of the cache of a context."""
    return -(-n_ctx // N_CTX_STEP) * N_CTX_STEP


def has_flash(wanted: Wanted, n_gpu_layers: int) -> bool:
    """Whether flash attention is used: on the CPU only if asked for."""
    if wanted.flash_attention == "auto":
        return n_gpu_layers > 0
    return wanted.flash_attention == "on"


def kv_bytes_of_layers(header: GgufHeader, wanted: Wanted, *, flash: bool) -> list[int]:
    """Bytes of the cache of each layer.

    Layers with a sliding window count in full, as they are allocated so that a rejected draft can
    be rolled back. Without flash attention llama.cpp makes the values of all layers as wide as the
    widest.
    """
    n = n_cells(wanted.n_ctx)
    widest = max(header.n_head_kv, default=0)
    sizes = []
    for heads in header.n_head_kv:
        bits_k = heads * header.n_embd_head_k * TYPE_BITS[wanted.type_k]
        heads_v = heads if flash or not heads else widest
        bits_v = heads_v * header.n_embd_head_v * TYPE_BITS[wanted.type_v]
        sizes.append(int(n * (bits_k + bits_v) // 8))
    return sizes


def state_bytes_of_layers(header: GgufHeader, wanted: Wanted) -> list[int]:
    """Bytes of the recurrent states of each layer, of every sequence, with their snapshots.

    Counted with snapshots whether the architecture keeps them or not: what is saved instead takes
    about as much.
    """
    n_states = wanted.n_seq_max * (1 + wanted.n_snapshots)
    return [values * _F32_BYTES * n_states for values in header.state_values]


def compute_bytes(header: GgufHeader, wanted: Wanted, *, flash: bool, logits: bool) -> int:
    """Bytes of the buffers of one decode.

    Logits of all its tokens or the scores of one layer, whatever is larger: they are not alive at
    the same time. Without flash attention there is a score for each token, head and cell.

    Args:
        header: the model.
        wanted: the settings.
        flash: whether flash attention is used.
        logits: whether the output layer is computed here.
    """
    n_tokens, n = min(wanted.n_batch, wanted.n_ctx), n_cells(wanted.n_ctx)
    n_masks = 2 if header.n_window else 1
    rows = (1.5 if flash else 1) * n_masks + (0 if flash else header.n_head)
    scores = n * rows + 6 * header.n_embd if any(header.n_head_kv) else 6 * header.n_embd
    if not logits:
        return int(_F32_BYTES * n_tokens * scores)
    largest = max(scores, header.n_vocab + 2 * header.n_embd)
    return int(_F32_BYTES * (n_tokens * largest + _N_LOGIT_ROWS * header.n_vocab))


def split(header: GgufHeader, wanted: Wanted, n_gpu_layers: int) -> tuple[Needs, Needs]:
    """What the host needs, and what the devices need, with so many layers on devices.

    llama.cpp moves the output layer first, then the blocks from the last one on; the embedding
    stays on the host.
    """
    n_first = max(0, header.n_layers + 1 - n_gpu_layers)
    flash = has_flash(wanted, n_gpu_layers)
    kv = kv_bytes_of_layers(header, wanted, flash=flash)
    state = state_bytes_of_layers(header, wanted) or [0] * header.n_layers
    layers = list(header.layer_bytes) or [header.weights_bytes // header.n_layers] * header.n_layers
    moved = sum(layers[n_first:])
    if n_gpu_layers and not header.is_tied:
        moved += header.output_bytes
    on_device = moved + (header.output_bytes if n_gpu_layers and header.is_tied else 0)
    host = Needs(
        weights=header.weights_bytes - moved,
        kv=sum(kv[:n_first]),
        state=sum(state[:n_first]),
        compute=_host_compute(header, wanted, n_first, flash=flash, logits=not n_gpu_layers),
    )
    if not n_gpu_layers:
        return host, Needs(weights=0, kv=0, state=0, compute=0)
    devices = Needs(
        weights=on_device,
        kv=sum(kv[n_first:]),
        state=sum(state[n_first:]),
        compute=compute_bytes(header, wanted, flash=flash, logits=True),
    )
    return host, devices


def _host_compute(
    header: GgufHeader, wanted: Wanted, n_host_layers: int, *, flash: bool, logits: bool
) -> int:
    if n_host_layers:
        return compute_bytes(header, wanted, flash=flash, logits=logits)
    # What goes to the devices still lies here: embedded tokens and the mask.
    n_tokens = min(wanted.n_batch, wanted.n_ctx)
    return _F32_BYTES * n_tokens * (2 * header.n_embd + n_cells(wanted.n_ctx))


def require_sense(header: GgufHeader, wanted: Wanted) -> None:
    """Check the settings against each other and against the model, whatever the memory.

    Raises:
        UsageError: a size is too small, or the cache cannot have a type.
    """
    if wanted.n_ctx < N_CTX_STEP:
        raise UsageError(
            f"a context of {wanted.n_ctx} tokens is too small", f"at least {N_CTX_STEP} tokens"
        )
    if wanted.n_batch < 1:
        raise UsageError(f"a batch of {wanted.n_batch} tokens is too small", "at least 1 token")
    if wanted.n_gpu_layers < -1:
        raise UsageError(
            f"{wanted.n_gpu_layers} layers cannot be on devices",
            "-1 for as many as fit, 0 for none",
        )
    for kind, length in (
        (wanted.type_k, header.n_embd_head_k),
        (wanted.type_v, header.n_embd_head_v),
    ):
        if any(header.n_head_kv) and kind not in UNQUANTISED and length % _N_BLOCK:
            raise UsageError(
                f"heads of {length} values cannot be kept in {kind}: its blocks have {_N_BLOCK}",
                "leave the cache in f16",
            )
    if wanted.type_v not in UNQUANTISED and wanted.flash_attention == "off":
        raise UsageError(
            f"a cache of values in {wanted.type_v} needs flash attention, which is off",
            "--flash-attn on, or quantise the keys only: cache_type_k in config.toml",
        )
