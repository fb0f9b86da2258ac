"""Products of llama.cpp's K-quantised weights, value by value: the oracle of the core's kernels.

A value of Q4_K and Q5_K is d · scale · q − dmin · minimum, with one scale and minimum for 32 of
them; one of Q6_K is d · scale · (q − 32), with one scale for 16 (ggml-common.h). Activations are
quantised to 8 bits for each 256 of them.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
BLOCK = 256


def values_of(blocks: npt.NDArray[np.void], weight_type: int) -> Floats:
    """Weights as floats: shape (n_out, n_blocks) becomes (n_out, n_blocks · 256)."""
    n_out, n_blocks = blocks.shape
    out = np.empty((n_out, n_blocks, BLOCK))
    for i in range(n_out):
        for j in range(n_blocks):
            of_block = _q6 if weight_type == 14 else _with_minima
            out[i, j] = of_block(blocks[i, j])
    return out.reshape(n_out, n_blocks * BLOCK)


def _with_minima(block: np.void) -> list[float]:
    bits = [int(byte) for byte in block["bits"]]
    packed, rest = bits[:12], bits[12:]
    high, low = (rest[:32], rest[32:]) if len(rest) == 160 else ([0] * 32, rest)
    out = []
    for run in range(8):
        if run < 4:
            scale, minimum = packed[run] & 63, packed[run + 4] & 63
        else:
            scale = packed[run + 4] & 15 | packed[run - 4] >> 6 << 4
            minimum = packed[run + 4] >> 4 | packed[run] >> 6 << 4
        for i in range(32):
            byte = low[32 * (run // 2) + i]
            q = (byte >> 4 if run % 2 else byte & 15) + 16 * (high[i] >> run & 1)
            out.append(float(block["d"]) * scale * q - float(block["dmin"]) * minimum)
    return out


def _q6(block: np.void) -> list[float]:
    low, high = block["bits"][:128], block["bits"][128:]
    out = [0.0] * BLOCK
    for half in range(2):
        for part in range(4):
            for i in range(32):
                byte = int(low[64 * half + 32 * (part % 2) + i])
                four = byte >> 4 if part >= 2 else byte & 15
                two = int(high[32 * half + i]) >> 2 * part & 3
                at = 128 * half + 32 * part + i
                scale = int(block["scales"][at // 16])
                out[at] = float(block["d"]) * scale * (four + 16 * two - 32)
    return out


def rounded(columns: npt.NDArray[np.float32]) -> Floats:
    """Activations as 8 bits for each of 256 and one scale hold them, shape as given."""
    blocks = columns.astype(np.float64).reshape(len(columns), -1, BLOCK)
    at = np.abs(blocks).argmax(axis=2, keepdims=True)
    # The value of the largest magnitude becomes −127: its sign is the scale's.
    scale = np.take_along_axis(blocks, at, axis=2) / -127.0
    whole = np.divide(blocks, scale, out=np.zeros_like(blocks), where=scale != 0.0)
    return (np.minimum(np.rint(whole), 127) * scale).reshape(columns.shape)
