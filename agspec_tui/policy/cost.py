"""T(n): what a target pass over n tokens costs, in units of a pass over one token.

The cost is a property of model, device, threads and batch. `calibrate` measures it; until then one
of three shipped shapes stands in.
"""

import sys
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from agspec_tui.errors import DraftError

K_MAX = 64
"""Longest draft that a policy here considers, in tokens."""
SCHEMA = 1
_LAMBDA_MIN, _LAMBDA_MAX = 0.01, 0.95

Points = tuple[tuple[int, float], ...]
"""Pairs of n and T(n)/T(1), n rising from 1."""

_SHAPES: dict[str, Points] = {
    # Two CPU cores, 1.5B Q4_K_M: 16 tokens cost less than 12 would by the slope before 8.
    "cpu": ((1, 1.0), (2, 1.7), (4, 2.8), (8, 5.3), (16, 6.4), (32, 10.7), (64, 20.0)),
    # CUDA: 2 % a token and a step behind 8 columns, where the matrix kernels take over; 16 tokens
    # are about 1.3·T(1) for 8B Q4_0 on an RTX 4090 (ggml-org/llama.cpp#15131).
    "gpu": ((1, 1.0), (8, 1.14), (9, 1.21), (64, 2.31)),
    # q4_0, 4096×14336, M4 Pro: a cliff and then a plain, since 9 to 32 columns are one tile. Beyond
    # it the second tile, as a line (ggml-org/llama.cpp#25250, #25377, #27441, #29110).
    "metal": ((1, 1.0), (2, 1.81), (4, 3.8), (5, 5.6), (8, 7.4), (32, 7.4), (64, 14.8)),
}

_DEVICES = ("GPU", "CUDA", "ROCm", "HIP", "MUSA", "SYCL", "Vulkan", "CANN", "MTL", "Metal", "RPC")
"""How names of devices begin that are no CPU."""

NAMES = tuple(_SHAPES)
"""Shipped shapes."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The file of `calibrate`."""

    schema: int
    """Number of the format."""
    model: str
    """Name of the model."""
    device: str
    """What it ran on."""
    threads: int
    """Threads used for decoding."""
    n_batch: int
    """Most tokens in one decode."""
    batch: int = 1
    """Sequences that decode at once."""
    times: tuple[tuple[int, float], ...]
    """Tokens of a pass for each sequence, and the median of its seconds."""


class Cost:
    """T(n)/T(1) between measured points, linear in between, by the last slope beyond them."""

    def __init__(self, name: str, points: Iterable[tuple[int, float]]) -> None:
        """Make one from points (n, T(n)/T(1)) in any order.

        Raises:
            DraftError: there are fewer than two, n = 1 is missing or repeated, or a time is not
                above zero.
        """
        self.name = name
        """Name in reports."""
        self.points: Points = tuple(sorted((int(n), float(t)) for n, t in points))
        """Pairs of n and T(n)/T(1), n rising from 1."""
        sizes = [n for n, _ in self.points]
        if len(sizes) < 2 or sizes[0] != 1 or len(set(sizes)) != len(sizes):
            raise DraftError(f"the cost {name} needs times for 1 and more tokens, each once")
        if not all(0.0 < t < float("inf") for _, t in self.points):
            raise DraftError(f"the cost {name} has a time that is not above zero")
        first = self.points[0][1]
        self.points = tuple((n, t / first) for n, t in self.points)

    def at(self, n: float) -> float:
        """T(n)/T(1) of a pass over n ≥ 1 tokens."""
        (n_before, t_before), (n_last, t_last) = self.points[-2:]
        if n > n_last:
            slope = max(0.0, (t_last - t_before) / (n_last - n_before))
            return t_last + slope * (n - n_last)
        sizes, times = zip(*self.points, strict=True)
        return float(np.interp(n, sizes, times))

    @cached_property
    def table(self) -> npt.NDArray[np.float64]:
        """T(1 + k)/T(1) for drafts of k = 0 … `K_MAX` tokens, shape (K_MAX + 1,)."""
        return np.array([self.at(1 + k) for k in range(K_MAX + 1)])

    def up_to(self, n: int) -> npt.NDArray[np.float64]:
        """T(k)/T(1) of passes over k = 0 … n ≥ 1 tokens, shape (n + 1,); no tokens cost nothing."""
        sizes, times = zip(*self.points, strict=True)
        counts = np.arange(n + 1, dtype=np.float64)
        out: npt.NDArray[np.float64] = np.interp(counts, sizes, times)
        slope = self.at(sizes[-1] + 1) - times[-1]
        out += slope * np.maximum(counts - sizes[-1], 0.0)
        out[0] = 0.0
        return out

    def least_slope(self) -> float:
        """The least that one more token ever costs, in units of T(1); never below zero."""
        slopes = [(t - s) / (n - m) for (m, s), (n, t) in pairwise(self.points)]
        return max(0.0, min(slopes))

    def for_batch(self, batch: int) -> "Cost":
        """The cost to one of `batch` sequences that all draft as many tokens: T(b·n)/T(b).

        All tokens of a decode share one pass, so b sequences with n tokens each pay T(b·n); one
        token for each is T(b).

        Raises:
            DraftError: the batch is below one.
        """
        if batch < 1:
            raise DraftError(f"a batch of {batch} sequences is none", "use 1 or more")
        if batch == 1:
            return self
        sizes = range(1, K_MAX + 2)
        return Cost(f"{self.name}, batch {batch}", [(n, self.at(batch * n)) for n in sizes])

    def break_even(self, n_most: int = 16) -> float:
        """λ: the acceptance probability at which one more position pays for itself.

        The slope of T(n)/T(1) by least squares through n = 1, over passes of 2 … `n_most` tokens:
        what one more position costs, over T(1), which is what an accepted token saves.

        Args:
            n_most: most tokens of a pass that matter; fewer where drafts must stay exact.

        Returns:
            λ within [0.01, 0.95], to be a probability.
        """
        drafted = np.arange(1, min(max(2, n_most), K_MAX + 1))
        slope = float(drafted @ (self.table[drafted] - 1.0)) / float(drafted @ drafted)
        return min(_LAMBDA_MAX, max(_LAMBDA_MIN, slope))


def shipped(name: str) -> Cost:
    """A shipped shape: `cpu`, `gpu` or `metal`.

    Raises:
        DraftError: there is none of this name.
    """
    if name not in _SHAPES:
        raise DraftError(f"unknown cost {name!r}", f"choose one of {', '.join(NAMES)}, or a file")
    return Cost(name, _SHAPES[name])


def shape_of(device: str) -> Cost:
    """The shipped shape for a device, as the engine names it, until its cost is measured."""
    if not device.startswith(_DEVICES):
        return shipped("cpu")
    return shipped("metal" if sys.platform == "darwin" else "gpu")


def read_cost(path: Path) -> Cost:
    """The cost in a file of `calibrate`.

    Raises:
        DraftError: the file cannot be read, is none of `calibrate`, or holds impossible times.
    """
    hint = "make one with agspec-tui calibrate"
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Calibration)
    except OSError as error:
        raise DraftError(f"{path} cannot be read: {error.strerror or error}", hint) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DraftError(f"{path} is no calibration: {error}", hint) from error
    if found.schema != SCHEMA:
        raise DraftError(f"{path} has schema {found.schema}, not {SCHEMA}", hint)
    if found.batch != 1:
        why = f"{path} was measured with {found.batch} sequences at once"
        raise DraftError(why, "give one of calibrate --batch 1")
    return Cost(path.stem, found.times)
