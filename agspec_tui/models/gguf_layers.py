"""What the layers of a model keep of the text: keys and values, or a recurrent state.

Sizes of the states are those of llama.cpp's `llama_hparams::n_embd_r` and `n_embd_s`.
"""

from collections.abc import Callable

Count = Callable[[str], int]
"""The whole number of a key without its architecture; 0 if it is missing."""

_RECURRENT = {"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"}
_BOTH = {"falcon-h1"}
"""Architectures of whose layers each has attention and a state."""
_INTERVAL = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "qwen4exp": 4, "minimax-01": 8}
"""Architectures of whose layers every n-th alone has attention, and n where the file is silent."""


def n_state_values(count: Count, n_embd: int, n_head: int) -> int:
    """Values (f32) of the state that one recurrent layer keeps of a sequence; 0 without one."""
    if head_size := count("wkv.head_size"):
        return (count("token_shift_count") or 2) * n_embd + n_embd * head_size
    if n_cached := count("shortconv.l_cache"):
        return n_embd * (n_cached - 1)
    n_conv = max(0, count("ssm.conv_kernel") - 1)
    if head := count("kda.head_dim"):
        return 3 * (n_conv or 3) * n_head * head + head * head * n_head
    inner, n_state = count("ssm.inner_size"), count("ssm.state_size")
    return n_conv * (inner + 2 * count("ssm.group_count") * n_state) + n_state * inner


def split_layers(
    architecture: str, count: Count, heads_kv: tuple[int, ...], n_values: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Key-value heads and state values of each layer.

    Args:
        architecture: model family as llama.cpp names it.
        count: numbers of the header.
        heads_kv: key-value heads of each layer as the header says.
        n_values: what `n_state_values` says.
    """
    n_layers = len(heads_kv)
    if not n_values:
        return heads_kv, (0,) * n_layers
    if architecture in _RECURRENT:
        return (0,) * n_layers, (n_values,) * n_layers
    if architecture in _BOTH:
        return heads_kv, (n_values,) * n_layers
    if architecture in _INTERVAL:
        every = count("full_attention_interval") or _INTERVAL[architecture]
        has_state = [(layer + 1) % every != 0 for layer in range(n_layers)]
    else:
        has_state = [heads == 0 for heads in heads_kv]
    kept = tuple(0 if state else h for h, state in zip(heads_kv, has_state, strict=True))
    return kept, tuple(n_values if state else 0 for state in has_state)
