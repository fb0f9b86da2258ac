"""The memory plan: what a model needs at a context size, against what is there, before loading.

An over-large context is not refused by llama.cpp: memory grows until the kernel kills the process.
"""

import msgspec

from agspec_tui.errors import ModelError, UsageError
from agspec_tui.models.gguf import GgufHeader
from agspec_tui.models.memory import available_bytes

N_CTX_STEP = 256
"""Context sizes are rounded to this many tokens, as the cache is."""

_F16_BYTES = 2
_F32_BYTES = 4
_N_LOGIT_ROWS = 64
_PROCESS_BYTES = 256 << 20
"""The engine process itself: interpreter, libraries, vocabulary, corpora."""


class MemoryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Memory one loaded model takes, in bytes."""

    n_ctx: int
    """Context size in tokens."""
    n_batch: int
    """Most tokens in one decode."""
    weights_bytes: int
    """The tensors."""
    kv_bytes: int
    """The KV cache in f16."""
    compute_bytes: int
    """Buffers of one decode, and the logit rows that are kept."""
    process_bytes: int
    """The engine process without the model."""

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.weights_bytes + self.kv_bytes + self.compute_bytes + self.process_bytes


def kv_bytes_per_token(header: GgufHeader) -> int:
    """Bytes one token takes in the KV cache, over all layers, in f16."""
    per_head = header.n_embd_head_k + header.n_embd_head_v
    return sum(header.n_head_kv) * per_head * _F16_BYTES


def plan(header: GgufHeader, n_ctx: int, n_batch: int = 512) -> MemoryPlan:
    """Estimate the memory of a model at a context size.

    The compute buffer is n_batch · (n_vocab + 2 · n_embd) f32 values, which is what llama.cpp
    reserves with flash attention, plus the logit rows of drafts. Layers with a sliding window
    count in full, as they are allocated so that a rejected draft can be rolled back.

    Raises:
        UsageError: a context of fewer than 256 tokens or a batch of none.
    """
    if n_ctx < N_CTX_STEP:
        raise UsageError(
            f"a context of {n_ctx} tokens is too small", f"at least {N_CTX_STEP} tokens"
        )
    if n_batch < 1:
        raise UsageError(f"a batch of {n_batch} tokens is too small", "at least 1 token")
    n_cells = -(-n_ctx // N_CTX_STEP) * N_CTX_STEP
    n_batch = min(n_batch, n_ctx)
    row = header.n_vocab + 2 * header.n_embd
    return MemoryPlan(
        n_ctx=n_ctx,
        n_batch=n_batch,
        weights_bytes=header.weights_bytes,
        kv_bytes=n_cells * kv_bytes_per_token(header),
        compute_bytes=_F32_BYTES * (n_batch * row + _N_LOGIT_ROWS * header.n_vocab),
        process_bytes=_PROCESS_BYTES,
    )


def trained_n_ctx(header: GgufHeader, n_ctx: int) -> int:
    """The wanted context, or the trained one where that is smaller: for a default, not a request.

    Args:
        header: the model.
        n_ctx: wanted context in tokens.
    """
    return min(n_ctx, header.n_ctx_train) if header.n_ctx_train else n_ctx


def largest_n_ctx(header: GgufHeader, n_batch: int, available: int) -> int:
    """The largest context that fits, in tokens, a multiple of 256; 0 if none does.

    Args:
        header: the model.
        n_batch: most tokens in one decode.
        available: memory that may be taken, in bytes.
    """
    bound = header.n_ctx_train or 1 << 20
    low, high = 0, bound // N_CTX_STEP
    while low < high:
        middle = (low + high + 1) // 2
        if plan(header, middle * N_CTX_STEP, n_batch).total_bytes <= available:
            low = middle
        else:
            high = middle - 1
    return low * N_CTX_STEP


def check_fits(
    header: GgufHeader, n_ctx: int, n_batch: int = 512, available: int | None = None
) -> MemoryPlan:
    """Plan the memory and refuse what cannot work.

    Args:
        header: the model.
        n_ctx: context size in tokens.
        n_batch: most tokens in one decode.
        available: memory that may be taken, in bytes; by default what this process may still take.

    Raises:
        ModelError: the context is longer than the trained one or does not fit; the hint names the
            largest that does.
        UsageError: the context or the batch is too small.
    """
    made = plan(header, n_ctx, n_batch)
    label = header.name or header.architecture
    if available is None:
        available = available_bytes()
    largest = largest_n_ctx(header, n_batch, available)
    if largest and header.n_ctx_train and n_ctx > header.n_ctx_train:
        raise ModelError(
            f"a context of {n_ctx} tokens is more than {label} was trained for",
            f"it was trained for {header.n_ctx_train} tokens"
            + (f", of which {largest} fit" if largest < header.n_ctx_train else ""),
        )
    if made.total_bytes > available:
        raise ModelError(
            f"{label} with a context of {n_ctx} tokens needs {in_units(made.total_bytes)} "
            f"of memory, {in_units(available)} are available",
            f"the largest context that fits is {largest} tokens"
            if largest
            else "no context fits; use a smaller model or free memory",
        )
    return made


def in_units(n_bytes: int) -> str:
    """A size as people read it: `1.1 GB`, `98 MB`."""
    if n_bytes >= 1_000_000_000:
        return f"{n_bytes / 1e9:.1f} GB"
    if n_bytes >= 1_000_000:
        return f"{n_bytes / 1e6:.0f} MB"
    return f"{n_bytes} bytes"
