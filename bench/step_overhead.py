"""What a step costs beside the target pass: `StepCommitted.loop_us` at batch 1.

    python bench/step_overhead.py [--model smollm2-135m] [--tokens 200] [--json FILE]

Between two passes the loop verifies, commits, learns, sends an event, matches and drafts. A model
rewrites a file that is in its prompt and in the workspace corpus, plainly and with drafts in turn;
for each, the median and the 99th percentile of that time, and of match and draft within it. Run it
on a quiet machine. The exit code is 1 if a median is above the target of 250 µs.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agspec_tui.config import Config
from agspec_tui.engine.client import EngineClient
from agspec_tui.events import EngineEvent, StepCommitted
from agspec_tui.session.bench import parse_methods, run_bench
from agspec_tui.session.bench_prompts import BenchPrompt, read_prompts
from agspec_tui.session.loading import plan_load

TARGET_US = 250.0
METHODS = "none,agspec-sam,agspec-sam:fixed4"


async def measure(model: str, n_tokens: int) -> dict[str, Any]:
    """Decode with each method; returns the report."""
    config = Config(model=model, n_ctx=4096)
    methods = parse_methods(METHODS, config)
    prompts = [
        BenchPrompt(p.kind, p.path, p.text, p.change, max_tokens=n_tokens)
        for p in read_prompts(None, ["whole-file"])
    ]
    steps: list[StepCommitted] = []
    of_method: dict[str, list[StepCommitted]] = {method.name: [] for method in methods}

    def take(event: EngineEvent) -> None:
        if isinstance(event, StepCommitted) and event.loop_us:
            steps.append(event)

    with tempfile.TemporaryDirectory() as folder:
        client = EngineClient(take, Path(folder))
        try:
            await client.start(plan_load(config), methods[0].drafting)
            for prompt in prompts:
                for method in methods:
                    steps.clear()
                    await run_bench(client, [method], [prompt], 1, lambda run: None)
                    of_method[method.name] += steps
        finally:
            await client.close()
    return {
        "schema": 1,
        "model": model,
        "methods": {name: summary(found) for name, found in of_method.items()},
    }


def summary(steps: Sequence[StepCommitted]) -> dict[str, Any]:
    """Figures of one method."""
    return {
        "n_steps": len(steps),
        "drafted_per_step": round(statistics.mean(step.n_drafted for step in steps), 2),
        "loop_us": quantiles([step.loop_us for step in steps]),
        "draft_us": quantiles([step.draft_us for step in steps]),
        "decode_us_p50": round(statistics.median(step.decode_us for step in steps)),
    }


def quantiles(values: Sequence[float]) -> dict[str, int]:
    """Median and 99th percentile."""
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return {"p50": round(cuts[49]), "p99": round(cuts[98])}


def main() -> int:
    """Measure and report; 1 if a step costs more than the target."""
    parser = argparse.ArgumentParser(description="What a step costs beside the target pass.")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    report = asyncio.run(measure(options.model, options.tokens))
    document = msgspec.json.format(msgspec.json.encode(report), indent=2)
    print(document.decode())
    if options.json:
        Path(options.json).write_bytes(document + b"\n")
    return int(max(each["loop_us"]["p50"] for each in report["methods"].values()) > TARGET_US)


if __name__ == "__main__":
    sys.exit(main())
