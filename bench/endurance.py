"""Whether the engine grows: many short generations in one process, and its memory beside them.

    python bench/endurance.py [--model smollm2-135m] [--n 2000] [--json FILE]

Each generation is a short exchange of one of four roles, with a prompt of its own behind a shared
beginning; every second one is under a grammar, every eighth is cancelled, and every twentieth puts
a file anew into the workspace corpus. After each, the resident memory of the engine process that is
no file's, its file descriptors and its threads are read. What counts is the growth behind the first
tenth. The corpora hold what was said, so some growth with the tokens is by design.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil

from agspec_tui.commands import DocumentView, Generate, IndexDocument, Message
from agspec_tui.config import Config
from agspec_tui.engine.client import EngineClient
from agspec_tui.events import EngineEvent, EngineFailed, StepCommitted
from agspec_tui.session.loading import plan_drafting, plan_load

MOST_GROWTH = 0.03
"""Share by which resident memory may grow from the first tenth on."""
ROLES = ("planner", "coder", "executor", "reviewer")
GRAMMAR = 'root ::= [a-z ]+ "."'
FILE = "def area_{n}(edge):\n    return edge * {n}\n"


async def exchange(client: EngineClient, number: int, max_tokens: int) -> None:
    """One short generation."""
    role = ROLES[number % len(ROLES)]
    messages = (
        Message("system", "You are brief. Answer with one short line of text."),
        Message("user", f"Say something about the number {number} and the shape it has."),
    )
    command = Generate(
        request=number + 1,
        sequence=role,
        turn=number + 1,
        role=role,
        messages=messages,
        max_tokens=max_tokens,
        grammar=GRAMMAR if number % 2 else "",
    )
    reply = asyncio.ensure_future(client.generate(command))
    if number % 8 == 7:
        await asyncio.sleep(0.02)
        await client.cancel(number + 1)
    await reply
    if number % 20 == 19:
        text = FILE.format(n=number) * 20
        view = DocumentView("raw", text)
        await client.index(IndexDocument(path=f"src/{number % 7}.py", views=(view,)))


def sample(process: psutil.Process) -> tuple[int, int, int]:
    """Resident bytes that are no file's, file descriptors, threads."""
    memory = process.memory_info()
    return memory.rss - getattr(memory, "shared", 0), process.num_fds(), process.num_threads()


async def measure(model: str, n: int, max_tokens: int) -> dict[str, Any]:
    """Run all generations; returns the report."""
    config = Config(model=model, n_ctx=2048, n_batch=128)
    events: dict[str, int] = {}
    n_tokens = 0

    def count(event: EngineEvent) -> None:
        nonlocal n_tokens
        events[type(event).__name__] = events.get(type(event).__name__, 0) + 1
        if isinstance(event, StepCommitted):
            n_tokens += len(event.ids)

    samples: list[tuple[int, int, int]] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        client = EngineClient(count, Path(folder))
        try:
            await client.start(plan_load(config), plan_drafting(config))
            assert client.pid is not None
            process = psutil.Process(client.pid)
            for number in range(n):
                await exchange(client, number, max_tokens)
                samples.append(sample(process))
                if number % 100 == 99:
                    print(number + 1, samples[-1], file=sys.stderr, flush=True)
        finally:
            await client.close()
    return report_of(samples) | {
        "model": model,
        "n": n,
        "n_tokens": n_tokens,
        "n_deaths": events.get(EngineFailed.__name__, 0),
        "wall_s": round(time.perf_counter() - began, 1),
    }


def report_of(samples: list[tuple[int, int, int]]) -> dict[str, Any]:
    """Growth between the first tenth and the end, by medians over a twentieth of the samples."""
    n_settled, width = len(samples) // 10, max(1, len(samples) // 20)

    def median(column: int, start: int) -> float:
        return statistics.median(one[column] for one in samples[start : start + width])

    first, last = median(0, n_settled), median(0, len(samples) - width)
    mega = 1 << 20
    steps = [round(median(0, start) / mega, 2) for start in range(0, len(samples), width)]
    return {
        "schema": 1,
        "rss_mb": {"settled": round(first / mega, 2), "end": round(last / mega, 2)},
        "growth": round(last / first - 1.0, 4),
        "rss_mb_along": steps,
        "n_fds": {"settled": median(1, n_settled), "end": median(1, len(samples) - width)},
        "n_threads": {"settled": median(2, n_settled), "end": median(2, len(samples) - width)},
    }


def main() -> int:
    """Measure and report; 1 if memory or file descriptors grew, or an engine died."""
    parser = argparse.ArgumentParser(description="Whether the engine grows.")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--n", type=int, default=2000, help="generations")
    parser.add_argument("--max-tokens", type=int, default=8)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    report = asyncio.run(measure(options.model, options.n, options.max_tokens))
    document = msgspec.json.format(msgspec.json.encode(report), indent=2)
    print(document.decode())
    if options.json:
        Path(options.json).write_bytes(document + b"\n")
    grew = report["growth"] > MOST_GROWTH or report["n_fds"]["end"] > report["n_fds"]["settled"]
    return int(grew or report["n_deaths"] > 0)


if __name__ == "__main__":
    sys.exit(main())
