"""What our own kernels save: passes over n tokens with them and with llama.cpp's, in turns.

    python bench/own_kernels.py [--model NAME] [--rounds N] [--sizes 1,2,…] [--context N] [--json F]

Two processes hold the model, one with the kernels and one without, and take turns pass by pass. A
time is the median over the rounds; on a CPU it is processor time divided by the threads, as
`calibrate` measures. The exit code is 1 if a pass over up to 65 tokens with the kernels has other
logits than single tokens, or takes longer than without.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import IO

import msgspec
import numpy as np

from agspec_tui.commands import LoadModel
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.types import Part
from agspec_tui.models.resolve import resolve

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64)
_TEXT = Path(__file__).read_text(encoding="utf-8")
_N_COMPARED = 9
"""Tokens that are decoded one by one and in one pass."""
_TOLERANCE = 1.05
"""A pass over few tokens costs the same either way, and times are never the same."""


class Answer(msgspec.Struct):
    """What a process says of itself, or of a pass."""

    n_exact: int = 0
    """Most tokens of an exact pass."""
    is_same: bool = False
    """Whether a pass over several tokens has the logits of single ones."""
    seconds: float = 0.0
    """Time of a pass."""


def serve(path: str, context: int, *, own: bool) -> None:
    """Time a pass for every size that is read; the first answer is about the process."""
    load = LoadModel(
        path=path, name="model", n_ctx=context + 256, n_gpu_layers=0,
        own_kernels=own, packed_weights=False,
    )  # fmt: skip
    backend = LlamaBackend(load)
    ids = backend.tokenize(_TEXT * 8, special=False)[: context + 65].tolist()
    for start in range(0, context, backend.n_batch):
        part = ids[start : min(start + backend.n_batch, context)]
        backend.decode([Part(part, start, 0, 0)])
    tell(Answer(n_exact=backend.n_exact, is_same=alike(backend, ids[context:], context)))
    for line in sys.stdin:
        seconds = backend.time_pass(ids[context : context + int(line)], context, [0])
        backend.trim(0, context)
        tell(Answer(seconds=seconds))


def alike(backend: LlamaBackend, ids: Sequence[int], at: int) -> bool:
    """Whether a pass over several tokens has the logits of single ones, to the bit."""
    single = [
        backend.decode([Part([token], at + n, 0, 1)])[0].copy()
        for n, token in enumerate(ids[:_N_COMPARED])
    ]
    backend.trim(0, at)
    together = backend.decode([Part(ids[:_N_COMPARED], at, 0, _N_COMPARED)]).copy()
    backend.trim(0, at)
    return bool(np.array_equal(np.stack(single), together))


def tell(answer: Answer) -> None:
    """Write an answer."""
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def heard(process: "subprocess.Popen[bytes]") -> Answer:
    """The next answer of a process."""
    stream: IO[bytes] | None = process.stdout
    line = stream.readline() if stream is not None else b""
    if not line:
        sys.exit("a process has ended; its message is above")
    return msgspec.json.decode(line, type=Answer)


def measure(path: str, context: int, sizes: Sequence[int], n_rounds: int) -> dict[str, object]:
    """Both processes in turns."""
    workers = {}
    for name in ("own", "llama.cpp"):
        command = [sys.executable, __file__, "--serve", name, "--model", path]
        workers[name] = subprocess.Popen(
            [*command, "--context", str(context)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    about = {name: heard(worker) for name, worker in workers.items()}
    times: dict[str, dict[int, list[float]]] = {
        name: {size: [] for size in sizes} for name in workers
    }
    for turn in range(n_rounds):
        for size in sizes:
            for name in sorted(workers, reverse=bool(turn % 2)):
                worker = workers[name]
                if worker.stdin is not None:
                    worker.stdin.write(b"%d\n" % size)
                    worker.stdin.flush()
                times[name][size].append(heard(worker).seconds)
        print(f"round {turn + 1} of {n_rounds}", file=sys.stderr)
    for worker in workers.values():
        worker.terminate()
        worker.wait()
    return {
        "context": context,
        "n_exact": {name: one.n_exact for name, one in about.items()},
        "same_bits": {name: one.is_same for name, one in about.items()},
        "ms": {
            name: {size: 1e3 * median(all_of) for size, all_of in of.items()}
            for name, of in times.items()
        },
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve", choices=["own", "llama.cpp"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.model, options.context, own=options.serve == "own")
        return 0
    sizes = [int(size) for size in options.sizes.split(",")]
    found = measure(resolve(options.model).path, options.context, sizes, options.rounds)
    own, theirs = found["ms"]["own"], found["ms"]["llama.cpp"]
    print(f"behind {options.context} tokens; exact up to {found['n_exact']} tokens")
    print(f"{'tokens':>6}{'own, ms':>10}{'T(n)/T(1)':>11}{'llama.cpp, ms':>15}{'T(n)/T(1)':>11}")
    for n in sizes:
        shares = own[n] / own[sizes[0]], theirs[n] / theirs[sizes[0]]
        print(f"{n:>6}{own[n]:>10.1f}{shares[0]:>11.2f}{theirs[n]:>15.1f}{shares[1]:>11.2f}")
    if options.json is not None:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    is_faster = all(own[n] <= _TOLERANCE * theirs[n] for n in sizes)
    return 0 if found["same_bits"]["own"] and is_faster else 1


if __name__ == "__main__":
    sys.exit(main())
