"""Measures T(n), the time of one target pass over n tokens of each sequence, on this machine.

A batch of tokens costs more than one and less than as many single passes, in steps that depend on
kernels, cores and memory: a stair, not a line. What a draft costs is read off this stair.

Every round measures every size once, in turn upwards and downwards, so that a load that comes and
goes meets all sizes alike; the median of the rounds counts. When time gets short, rounds measure
small sizes only.
"""

import math
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median_low

from agspec_tui.commands import Calibrate
from agspec_tui.engine.types import Backend, Cancelled, Part
from agspec_tui.errors import EngineError
from agspec_tui.events import Calibrated
from agspec_tui.policy.cost import Cost

_MOST_PREFILL = 0.4
"""Share of the time after which no more of the context is read."""
_CHUNK = 64
_OFTEN = 8
"""Sizes up to which every round measures: most passes are so small, and λ is their slope."""
_MOST_ALL = 0.6
"""Share of the time after which rounds leave out the larger sizes."""
_MOST_USED = 16
"""Largest pass that λ is the slope for; fewer tokens where drafts must stay exact."""
_HINT = "try again when less else runs"


def measure(
    backend: Backend,
    command: Calibrate,
    cancelled: Callable[[], bool],
    clock: Callable[[], float] = time.perf_counter,
) -> Calibrated:
    """Measure every size with the cache of the first `batch` slots, which are empty then as before.

    Raises:
        Cancelled: it was cancelled.
        EngineError: a size cannot be measured, or what was measured makes no sense.
    """
    started = clock()
    require_measurable(backend, command)
    slots = range(command.batch)
    text = _text(backend, command.depth + command.sizes[-1])
    most = backend.n_ctx - command.batch * command.sizes[-1] - 2
    samples: dict[int, list[float]] = {size: [] for size in command.sizes}

    def late(share: float = 1.0) -> bool:
        if cancelled():
            raise Cancelled
        return clock() - started > share * command.budget_s

    try:
        depth = _read(backend, text[: min(command.depth, most)], lambda: late(_MOST_PREFILL))
        backend.share(0, slots[1:])
        tail = text[depth:]
        for number in range(command.n_rounds):
            for size in _in_turn(command.sizes, number):
                # Two sizes at least: one alone says nothing.
                if late() and len(samples[command.sizes[1]]) > 0:
                    break
                if size > _OFTEN and number and late(_MOST_ALL):
                    continue
                samples[size].append(backend.time_pass(tail[:size], depth, slots))
                for slot in slots:
                    backend.trim(slot, depth)
            if late():
                break
    finally:
        backend.abort(on=False)
        for slot in slots:
            backend.trim(slot, 0)
    times = tuple((size, median_low(all_s)) for size, all_s in samples.items() if all_s)
    require_sense(times)
    # Sizes are tokens of each sequence, and all of them share an exact pass.
    n_exact = backend.n_exact // command.batch if backend.n_exact else _MOST_USED
    most_used = max(2, min(_MOST_USED, n_exact))
    return Calibrated(
        request=command.request,
        batch=command.batch,
        depth=depth,
        n_rounds=min(len(all_s) for all_s in samples.values() if all_s),
        times=times,
        break_even=Cost("measured", times).break_even(most_used),
        wall_s=clock() - started,
    )


def require_measurable(backend: Backend, command: Calibrate) -> None:
    """Check what is asked for.

    Raises:
        EngineError: the sizes are not ascending from 1, or a pass would not fit.
    """
    sizes = command.sizes
    if len(sizes) < 2 or sizes[0] != 1 or any(a >= b for a, b in pairwise(sizes)):
        raise EngineError("sizes to measure ascend from 1, and there are two or more of them")
    if command.batch < 1 or command.n_rounds < 1 or command.depth < 0:
        raise EngineError("a measurement has a sequence, a round and no negative depth")
    n_tokens = command.batch * sizes[-1]
    if n_tokens > backend.n_batch:
        raise EngineError(
            f"{n_tokens} tokens do not fit a batch of {backend.n_batch}",
            "choose a larger n_batch, or fewer sequences",
        )
    if n_tokens + 2 > backend.n_ctx:
        raise EngineError(
            f"{n_tokens} tokens do not fit a context of {backend.n_ctx}", "choose a larger n_ctx"
        )


def require_sense(times: Sequence[tuple[int, float]]) -> None:
    """Check a table of T(n), whether it was measured or read.

    Raises:
        EngineError: it is no ascending table from n = 1, a time is no time, or a pass over more
            tokens takes less than half of a plain pass, or far more than as many of them.
    """
    sizes = [n for n, _ in times]
    if len(sizes) < 2 or sizes[0] != 1 or any(a >= b for a, b in pairwise(sizes)):
        raise EngineError("the times of passes do not ascend from one token", _HINT)
    if any(not math.isfinite(seconds) or seconds <= 0.0 for _, seconds in times):
        raise EngineError("the target's passes take no time that could be measured", _HINT)
    first = times[0][1]
    for n, seconds in times:
        if not 0.5 * first <= seconds <= 20 * n * first:
            raise EngineError(
                f"a pass over {n} tokens took {seconds / first:.2f} times as long as one over a"
                " single token",
                _HINT,
            )


def _read(backend: Backend, ids: Sequence[int], late: Callable[[], bool]) -> int:
    """Read a context into the first slot, as far as there is time; returns its length."""
    depth = 0
    while depth < len(ids) and not late():
        part = ids[depth : depth + _CHUNK]
        backend.decode([Part(part, depth, 0, 0)])
        depth += len(part)
    return depth


def _in_turn(sizes: Sequence[int], number: int) -> Sequence[int]:
    """Upwards, then downwards; a plain pass at both ends, since all others are divided by it."""
    return (*sizes, 1) if number % 2 == 0 else (1, *reversed(sizes))


def _text(backend: Backend, n_tokens: int) -> list[int]:
    """Token ids of some source code that never repeats itself exactly."""
    ids: list[int] = []
    number = 0
    while len(ids) < n_tokens:
        lines = (
            f"def clamp_{n}(value, low={n}, high={n * n}):\n"
            "    return max(low, min(value, high))\n\n"
            for n in range(number, number + 32)
        )
        number += 32
        ids += backend.tokenize("".join(lines), special=False).tolist()
    return ids[:n_tokens]
