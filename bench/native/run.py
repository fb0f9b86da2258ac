"""The core's benchmark: engines on recorded sessions of growing size, and the peers beside them.

    python bench/native/run.py [--traces DIR] [--model NAME] [--sizes n,…] [--json FILE]

Recorded sessions are tokenised with the model's vocabulary, once. Then, one after the other:

- `argmax-…`: the choice of greedy decoding from a row of 151,936 logits, by each instruction set;
- `automaton`: the session corpus in C++, appends, and match + draft of 16 tokens at each token;
- `array`: the global corpus through its binding; an append is a token's share of the building;
- `tree` and `arctic-tree`: both through their bindings in one interleaved run with equal drafts, if
  AGSPEC_PEERS names an environment with arctic-inference (`compare_tree.py`).

One JSON object a line. Times are of one core; run it on a quiet machine.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agspec_tui import _native
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.models.resolve import resolve
from agspec_tui.replay.traces import read_all

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench-native"
N_TOKENS = 1_100_000
"""Tokens of the stream: the largest text, and as much again as the questions need."""
K = 16
"""Most tokens of a draft, as in the C++ benchmark."""
SEPARATOR = -1
N_HELD_OUT = 50_000
"""Tokens behind the text with which the array is asked."""

Tokens = npt.NDArray[np.int32]


def stream_of(traces: Path, model: str) -> Path:
    """A file of token ids of the sessions in a folder, in the order in which they were said."""
    path = BUILD / f"{traces.resolve().name}-{model.replace('/', '_')}.i32"
    if path.exists():
        return path
    print(f"tokenising {traces} for {model}", file=sys.stderr)
    parts: list[Tokens] = []
    n_tokens = 0
    with closing(Vocabulary(Path(resolve(model).path))) as vocabulary:
        for _, session in read_all([traces]):
            for call in session.calls:
                for text in (*(message.content for message in call.prompt), call.output):
                    parts.append(vocabulary.tokenize(text, special=False))
                    n_tokens += len(parts[-1])
            if n_tokens >= N_TOKENS:
                break
    BUILD.mkdir(parents=True, exist_ok=True)
    np.concatenate(parts)[:N_TOKENS].tofile(path)
    return path


def build(name: str) -> Path:
    """A C++ benchmark, built."""
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DAGSPEC_BUILD_BENCH=ON"]
    for command in (
        ["cmake", "-S", str(ROOT / "native"), "-B", str(BUILD), "-G", "Ninja", *flags],
        ["cmake", "--build", str(BUILD)],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return BUILD / name


def argmax() -> list[dict[str, object]]:
    """Rows of the arg-max, all variants in one interleaved run."""
    lines = subprocess.run(
        [build("bench_argmax")], check=True, capture_output=True, text=True
    ).stdout
    return [json.loads(line) for line in lines.splitlines()]


def automaton(stream: Path, sizes: list[int]) -> list[dict[str, object]]:
    """Rows of the session corpus."""
    lines = subprocess.run(
        [build("bench_automaton"), stream], check=True, capture_output=True, text=True
    ).stdout
    rows = [json.loads(line) for line in lines.splitlines()]
    return [row for row in rows if row["n_tokens"] in sizes]


def array(stream: Path, n: int) -> dict[str, object]:
    """One row of the global corpus: built over `n` tokens, asked with the tokens behind them."""
    tokens = np.fromfile(stream, dtype=np.int32)
    text, held_out = np.append(tokens[:n], np.int32(SEPARATOR)), tokens[n : n + N_HELD_OUT]
    begun = time.perf_counter()
    order, shared = _native.sort_suffixes(text)
    built_s = time.perf_counter() - begun
    found = _native.SuffixArray(text, order, shared, 1 << 18)
    cursor = _native.ArrayCursor(found)
    query_us = []
    for start in range(len(held_out)):
        cursor.advance(held_out[start : start + 1])
        asked = time.perf_counter()
        if cursor.length():
            cursor.draft(K)
        query_us.append((time.perf_counter() - asked) * 1e6)
    p50, p99 = np.percentile(query_us, [50, 99])
    n_bytes = text.nbytes + order.nbytes + shared.nbytes + found.memory_bytes
    return {
        "engine": "array",
        "corpus": stream.stem,
        "n_tokens": n,
        "append_us": round(built_s / n * 1e6, 3),
        "query_us_p50": round(float(p50), 2),
        "query_us_p99": round(float(p99), 2),
        "bytes_per_token": round(n_bytes / n, 1),
        "n_queries": len(query_us),
    }


def trees(stream: Path, sizes: list[int]) -> list[dict[str, object]]:
    """Rows of the suffix tree and of the peer's."""
    script = Path(__file__).with_name("compare_tree.py")
    sizes_text = ",".join(map(str, sizes))
    command = [sys.executable, str(script), str(stream), "--depth", "64", "--sizes", sizes_text]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def main() -> None:
    """Run all of it; print and, if asked to, write the rows."""
    parser = argparse.ArgumentParser(description="Benchmark of the compiled core.")
    parser.add_argument("--traces", type=Path, default=ROOT.parent / "shared" / "traces")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="whose tokenizer counts")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="tokens of the texts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE as well")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    stream = stream_of(options.traces, options.model)
    rows: list[dict[str, object]] = []

    def show(new: list[dict[str, object]]) -> None:
        rows.extend(new)
        for row in new:
            print(json.dumps(row), flush=True)

    show(argmax())
    show(automaton(stream, sizes))
    for size in sizes:
        show([array(stream, size)])
    if os.environ.get("AGSPEC_PEERS"):
        show(trees(stream, sizes))
    else:
        print("without peers: AGSPEC_PEERS names no environment", file=sys.stderr)
    if options.json is not None:
        options.json.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
