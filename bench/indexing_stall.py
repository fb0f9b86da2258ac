"""How long indexing holds up the decode loop: many files change at once while a reply is decoded.

    python bench/indexing_stall.py [--model smollm2-135m] [--files 100] [--lines 2000] [--json FILE]

The engine process decodes. Meanwhile every file of the workspace corpus is sent
anew with other text. Between two target passes the loop commits, learns, emits, matches and drafts
(`StepCommitted.loop_us`); what indexing adds to that time is the hold-up. Prints a histogram of it
for the steps before, during and after the change.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agspec_tui.commands import Generate, IndexDocument, Message
from agspec_tui.config import Config
from agspec_tui.engine.client import EngineClient
from agspec_tui.events import DocumentIndexed, EngineEvent, StepCommitted
from agspec_tui.forms.choose import form
from agspec_tui.session.loading import plan_drafting, plan_load

EDGES_MS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
LIMIT_MS = 5.0
PROMPT = "Write a long Python module of small functions for a library of shapes. Write only code."


def source(lines: int, seed: int) -> str:
    """Python-like text of so many lines."""
    rng = random.Random(seed)
    words = ["area", "edge", "shape", "point", "total", "scale", "index", "value", "corner", "side"]
    out = []
    for number in range(lines):
        a, b, c = rng.choice(words), rng.choice(words), rng.choice(words)
        row = (f"def {a}_{b}_{number}({c}):", f"    {a} = {b} + {rng.randrange(999)}", f"    {c}()")
        out.append(row[number % 3])
    return "\n".join(out) + "\n"


def histogram(values: Sequence[float]) -> dict[str, int]:
    """Counts of values in milliseconds by the edges."""
    names = [*(f"<{edge:g}" for edge in EDGES_MS), f">={EDGES_MS[-1]:g}"]
    counts = dict.fromkeys(names, 0)
    for value in values:
        counts[
            next((n for n, edge in zip(names, EDGES_MS, strict=False) if value < edge), names[-1])
        ] += 1
    return counts


async def measure(model: str, n_files: int, n_lines: int) -> dict[str, Any]:
    """Decode reply after reply with the change in their middle; returns the report."""
    seen: list[tuple[float, EngineEvent]] = []
    config = Config(model=model, n_ctx=4096, min_match=2)
    old, new = documents(n_files, n_lines, 1), documents(n_files, n_lines, 2)
    over = asyncio.Event()
    with tempfile.TemporaryDirectory() as folder:
        client = EngineClient(lambda e: seen.append((time.perf_counter(), e)), Path(folder))
        try:
            await client.start(plan_load(config), plan_drafting(config))
            for document in old:
                await client.index(document)
            decoding = asyncio.create_task(decode(client, over))
            await steps(seen, 100)
            began = time.perf_counter()
            await asyncio.gather(*(client.index(document) for document in new))
            ended = time.perf_counter()
            await steps(seen, 100)
            over.set()
            await decoding
        finally:
            await client.close()
    return report_of(seen, began, ended) | {"model": model, "n_files": n_files, "n_lines": n_lines}


def documents(n_files: int, n_lines: int, seed: int) -> list[IndexDocument]:
    """One version of every file."""
    whole = form("whole")
    return [
        IndexDocument(
            path=f"src/file{number}.py",
            views=whole.index_views(source(n_lines, seed * 1000 + number)),
        )
        for number in range(n_files)
    ]


async def decode(client: EngineClient, over: asyncio.Event) -> None:
    """Ask for one reply after the other."""
    request = 0
    while not over.is_set():
        request += 1
        message = Message("user", f"{PROMPT} Version {request}.")
        await client.generate(
            Generate(request=request, sequence="coder", turn=1, role="coder", messages=(message,))
        )


async def steps(seen: list[tuple[float, EngineEvent]], n: int) -> None:
    """Wait for so many further steps."""
    start = len(seen)
    while sum(isinstance(event, StepCommitted) for _, event in seen[start:]) < n:
        await asyncio.sleep(0.01)


def report_of(seen: list[tuple[float, EngineEvent]], began: float, ended: float) -> dict[str, Any]:
    """Times between target passes before, during and after the change."""
    passes = [(at, e) for at, e in seen if isinstance(e, StepCommitted) and e.loop_us]
    parts = {
        "before": [e for at, e in passes if at < began],
        "during": [e for at, e in passes if began <= at <= ended],
        "after": [e for at, e in passes if at > ended],
    }
    n_corpus = [e.n_corpus_tokens for _, e in seen if isinstance(e, DocumentIndexed)]
    return {
        "schema": 1,
        "n_corpus_tokens": n_corpus[-1],
        "index_s": round(ended - began, 3),
        "loop_ms": {name: summary([e.loop_us / 1e3 for e in es]) for name, es in parts.items()},
        "decode_ms_p50": {
            name: round(statistics.median(e.decode_us / 1e3 for e in es), 2)
            for name, es in parts.items()
        },
    }


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Steps, median, largest value and histogram, in milliseconds."""
    return {
        "n_steps": len(values),
        "p50": round(statistics.median(values), 3),
        "max": round(max(values), 3),
        "histogram": histogram(values),
    }


def main() -> int:
    """Measure and report; 1 if a step was held up for longer than the limit."""
    parser = argparse.ArgumentParser(description="How long indexing holds up the decode loop.")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    report = asyncio.run(measure(options.model, options.files, options.lines))
    document = msgspec.json.format(msgspec.json.encode(report), indent=2)
    print(document.decode())
    if options.json:
        Path(options.json).write_bytes(document + b"\n")
    return int(report["loop_ms"]["during"]["max"] >= LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
