"""Compare the suffix tree with arctic-inference's: equal drafts, and the time both take.

Both trees read the same token streams through their Python bindings in one process, chunk by chunk
in turn, and are asked at the same positions. Every draft, score and match length is compared. One
JSON object a line goes to standard output; the exit status is 1 if anything differs.

`tree` is asked at the end of its sequence, `tree-any-context` is given the context as arctic's is.
Queries are timed by the clock, each with the conversion of its answer to Python; appends and
removals by processor time.

    AGSPEC_PEERS=PATH python bench/native/compare_tree.py STREAM.i32 … [--depth 64,…] [--sizes n,…]

A stream is a file of int32 token ids. AGSPEC_PEERS is an environment with arctic-inference.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agspec_tui import _native

Tokens = npt.NDArray[np.int32]
CHUNK = 1000
"""Tokens that one tree reads before it is the other's turn."""
EVERY = 97
"""Tokens between two questions."""
K = 32
"""Most tokens of a draft."""


def arctic_tree(depth: int) -> Any:
    """A tree of the installed peer.

    Raises:
        SystemExit: AGSPEC_PEERS is not set, or the peer is not in it.
    """
    folder = Path(os.environ.get("AGSPEC_PEERS", ""))
    for packages in sorted(folder.glob("lib/python3*/site-packages")):
        sys.path.append(str(packages))
    try:
        from arctic_inference.suffix_decoding._C import SuffixTree
    except ImportError as error:
        raise SystemExit(f"arctic-inference is not in AGSPEC_PEERS={folder}: {error}") from None
    return SuffixTree(depth)


@dataclass
class Times:
    """What one tree took."""

    append_s: float = 0.0
    """Processor seconds in appends."""
    query_s: list[float] = field(default_factory=list)
    """Seconds of each question."""


def ask_ours(tree: _native.SuffixTree, context: Tokens) -> tuple[list[int], float, int]:
    """Tokens, score and match length."""
    return tree.draft(context, K)[:3]


def ask_end(tree: _native.SuffixTree, sequence: int) -> tuple[list[int], float, int]:
    """The same from the end of a sequence, without reading the context."""
    return tree.draft_sequence(sequence, K)[:3]


def ask_arctic(tree: Any, context: Tokens) -> tuple[list[int], float, int]:
    """Tokens, score and match length, with the defaults of the peer's cache."""
    draft = tree.speculate_ndarray(context, K, 1.0, 0.0, 0.1, False)
    return draft.token_ids, draft.score, draft.match_len


def timed(into: list[float], ask: Any, *args: Any) -> tuple[list[int], float, int]:
    """An answer, and the time that it took."""
    start = time.perf_counter()
    answer = ask(*args)
    into.append(time.perf_counter() - start)
    return answer


def differ(what: str, position: int, ours: object, arctic: object) -> int:
    """Report a difference to standard error; 1 if there is one."""
    if ours == arctic:
        return 0
    print(f"{what} at {position}: {ours} is not {arctic}", file=sys.stderr)
    return 1


def compare(stream: Tokens, name: str, n: int, depth: int) -> int:
    """Read `n` tokens into both trees, print both rows; returns the number of differences."""
    ours, arctic = _native.SuffixTree(depth), arctic_tree(depth)
    times = {"tree": Times(), "tree-any-context": Times(), "arctic-tree": Times()}
    n_differ = 0
    for start in range(0, n, CHUNK):
        chunk = stream[start : min(start + CHUNK, n)]
        # A part in bulk, the rest in steps of `EVERY` tokens with a question after each.
        parts = (
            [chunk]
            if n > 10 * CHUNK and start % (10 * CHUNK)
            else np.split(chunk, range(EVERY, len(chunk), EVERY))
        )
        end = start
        for part in parts:
            end += len(part)
            begin = time.thread_time()
            ours.append(0, part)
            between = time.thread_time()
            arctic.extend_ndarray(0, part)
            times["tree"].append_s += between - begin
            times["arctic-tree"].append_s += time.thread_time() - between
            if len(parts) == 1:
                continue
            context = stream[max(0, end - depth) : end]
            theirs = timed(times["arctic-tree"].query_s, ask_arctic, arctic, context)
            same = timed(times["tree"].query_s, ask_end, ours, 0)
            other = timed(times["tree-any-context"].query_s, ask_ours, ours, context)
            n_differ += differ("end of the sequence", end, same, theirs)
            n_differ += differ("context", end, other, theirs)
    sizes = {"tree": ours.memory_bytes, "arctic-tree": arctic.estimate_memory()}
    sizes["tree-any-context"] = sizes["tree"]
    times["tree-any-context"].append_s = times["tree"].append_s
    for engine, each in times.items():
        p50, p99 = np.percentile(each.query_s, [50, 99]) * 1e6
        row = {
            "engine": engine,
            "corpus": name,
            "n_tokens": n,
            "depth": depth,
            "append_us": round(each.append_s / n * 1e6, 3),
            "query_us_p50": round(float(p50), 2),
            "query_us_p99": round(float(p99), 2),
            "bytes_per_token": round(sizes[engine] / n, 1),
            "n_queries": len(each.query_s),
            "n_differ": n_differ,
        }
        print(json.dumps(row), flush=True)
    return n_differ


def compare_removal(stream: Tokens, name: str, n: int, depth: int) -> int:
    """Append sequences in turns and remove half of them in any order; compare what is left."""
    ours, arctic = _native.SuffixTree(depth), arctic_tree(depth)
    random = np.random.default_rng(1)
    ends: dict[int, list[int]] = {}
    removed_s = {"tree": 0.0, "arctic-tree": 0.0}
    n_differ = n_queries = n_removed = 0
    for start in range(0, n - CHUNK, CHUNK):
        sequence = int(random.integers(0, 40))
        part = stream[start : start + CHUNK]
        ours.append(sequence, part)
        arctic.extend_ndarray(sequence, part)
        ends.setdefault(sequence, []).append(start + CHUNK)
        if random.random() < 0.1:
            gone = int(random.choice(list(ends)))
            n_removed += CHUNK * len(ends.pop(gone))
            begin = time.thread_time()
            ours.remove(gone)
            between = time.thread_time()
            arctic.remove(gone)
            removed_s["tree"] += between - begin
            removed_s["arctic-tree"] += time.thread_time() - between
        for at in random.integers(depth, n, 20):
            context = stream[max(0, at - depth) : at]
            n_queries += 1
            answer = ask_arctic(arctic, context)
            n_differ += differ("after removals", int(at), ask_ours(ours, context), answer)
    for engine, seconds in removed_s.items():
        row = {
            "engine": engine,
            "corpus": f"{name}, removals",
            "n_tokens": n,
            "depth": depth,
            "remove_us": round(seconds / max(n_removed, 1) * 1e6, 3),
            "n_queries": n_queries,
            "n_differ": n_differ,
        }
        print(json.dumps(row), flush=True)
    return n_differ


def main() -> None:
    """Compare on every stream given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("streams", nargs="+", type=Path, help="files of int32 token ids")
    parser.add_argument("--depth", default="64,24", help="depths of the trees")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="tokens to read")
    args = parser.parse_args()
    n_differ = 0
    for path in args.streams:
        stream = np.fromfile(path, dtype=np.int32)
        for depth in map(int, args.depth.split(",")):
            for n in map(int, args.sizes.split(",")):
                n_differ += compare(stream[:n], path.stem, min(n, len(stream)), depth)
            n_differ += compare_removal(stream, path.stem, min(200_000, len(stream)), depth)
    sys.exit(1 if n_differ else 0)


if __name__ == "__main__":
    main()
