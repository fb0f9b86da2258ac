"""Small models of random weights whose memory is a recurrent state, or partly one."""

from pathlib import Path

from gguf_writer import Tensor, pair, read_pairs, write_gguf
from random_gguf import n_tokens_of

from tests.models.ggufs import numbers

WIDE, N_LAYERS, N_HEAD, N_HEAD_KV, N_FF = 64, 4, 4, 2, 128
D_CONV, D_INNER, D_STATE, DT_RANK = 4, 2 * WIDE, 16, 4
L_CACHE = 3


def _common(architecture: str, n_layers: int) -> list[bytes]:
    return [
        pair("general.architecture", architecture),
        pair("general.name", f"random {architecture}"),
        pair(f"{architecture}.block_count", n_layers),
        pair(f"{architecture}.embedding_length", WIDE),
        pair(f"{architecture}.context_length", 4096),
        pair(f"{architecture}.attention.layer_norm_rms_epsilon", 1e-5),
    ]


def _weight(name: str, n_in: int, n_out: int) -> Tensor:
    return Tensor(f"{name}.weight", (n_in, n_out), "F32", n_in**-0.5)


def _norm(name: str, size: int) -> Tensor:
    return Tensor(f"{name}.weight", (size,), "F32", mean=1.0)


def write_mamba(path: Path, vocabulary: Path) -> Path:
    """A recurrent model without snapshots: its state must be saved and restored."""
    pairs = read_pairs(vocabulary, "tokenizer.")
    keys = [
        *_common("mamba", N_LAYERS),
        pair("mamba.ssm.conv_kernel", D_CONV),
        pair("mamba.ssm.inner_size", D_INNER),
        pair("mamba.ssm.state_size", D_STATE),
        pair("mamba.ssm.time_step_rank", DT_RANK),
        *pairs.values(),
    ]
    tensors = [
        Tensor("token_embd.weight", (WIDE, n_tokens_of(pairs)), "F16", 1.0),
        _norm("output_norm", WIDE),
    ]
    for layer in range(N_LAYERS):
        blk = f"blk.{layer}"
        tensors += [
            _norm(f"{blk}.attn_norm", WIDE),
            _weight(f"{blk}.ssm_in", WIDE, 2 * D_INNER),
            _weight(f"{blk}.ssm_conv1d", D_CONV, D_INNER),
            Tensor(f"{blk}.ssm_conv1d.bias", (D_INNER,), "F32", 0.1),
            _weight(f"{blk}.ssm_x", D_INNER, DT_RANK + 2 * D_STATE),
            _weight(f"{blk}.ssm_dt", DT_RANK, D_INNER),
            Tensor(f"{blk}.ssm_dt.bias", (D_INNER,), "F32", 0.1),
            Tensor(f"{blk}.ssm_a", (D_STATE, D_INNER), "F32", mean=-1.0),
            Tensor(f"{blk}.ssm_d", (D_INNER,), "F32", mean=1.0),
            _weight(f"{blk}.ssm_out", D_INNER, WIDE),
        ]
    write_gguf(path, keys, tensors, seed=1)
    return path


def write_lfm2(path: Path, vocabulary: Path) -> Path:
    """A hybrid model, every second layer attention, of a kind that keeps snapshots."""
    pairs = read_pairs(vocabulary, "tokenizer.")
    heads_kv = [N_HEAD_KV if layer % 2 else 0 for layer in range(N_LAYERS)]
    keys = [
        *_common("lfm2", N_LAYERS),
        pair("lfm2.attention.head_count", N_HEAD),
        numbers("lfm2.attention.head_count_kv", heads_kv),
        pair("lfm2.feed_forward_length", N_FF),
        pair("lfm2.shortconv.l_cache", L_CACHE),
        pair("lfm2.rope.freq_base", 10000.0),
        *pairs.values(),
    ]
    head = WIDE // N_HEAD
    tensors = [
        Tensor("token_embd.weight", (WIDE, n_tokens_of(pairs)), "F16", 1.0),
        _norm("token_embd_norm", WIDE),
    ]
    for layer, n_kv in enumerate(heads_kv):
        blk = f"blk.{layer}"
        tensors += [
            _norm(f"{blk}.attn_norm", WIDE),
            _norm(f"{blk}.ffn_norm", WIDE),
            _weight(f"{blk}.ffn_gate", WIDE, N_FF),
            _weight(f"{blk}.ffn_up", WIDE, N_FF),
            _weight(f"{blk}.ffn_down", N_FF, WIDE),
        ]
        if n_kv:
            tensors += [
                _norm(f"{blk}.attn_q_norm", head),
                _norm(f"{blk}.attn_k_norm", head),
                _weight(f"{blk}.attn_q", WIDE, WIDE),
                _weight(f"{blk}.attn_k", WIDE, n_kv * head),
                _weight(f"{blk}.attn_v", WIDE, n_kv * head),
                _weight(f"{blk}.attn_output", WIDE, WIDE),
            ]
        else:
            tensors += [
                _weight(f"{blk}.shortconv.conv", L_CACHE, WIDE),
                _weight(f"{blk}.shortconv.in_proj", WIDE, 3 * WIDE),
                _weight(f"{blk}.shortconv.out_proj", WIDE, WIDE),
            ]
    write_gguf(path, keys, tensors, seed=2)
    return path
