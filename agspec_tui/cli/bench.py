"""`agspec-tui bench`: tokens per second of drafting methods, live and interleaved."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import click
import msgspec

from agspec_tui.config import load as load_config
from agspec_tui.config import logs_dir
from agspec_tui.drafting.choose import LABELS
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import AgspecError
from agspec_tui.session.bench import (
    BenchPrompt,
    BenchReport,
    Method,
    Run,
    make_report,
    parse_methods,
    read_prompts,
    run_bench,
)
from agspec_tui.session.calibration import measured_once, with_cost
from agspec_tui.session.loading import plan_load


@click.command("bench")
@click.option("--model", metavar="NAME|PATH", help="A name of the catalogue, or a GGUF file.")
@click.option(
    "--methods",
    default="none,agspec-sam",
    show_default=True,
    metavar="A,B,…",
    help="Drafters to compare, each as DRAFTER or DRAFTER:POLICY.",
)
@click.option(
    "--prompts",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A TOML file of prompts instead of the built-in ones.",
)
@click.option(
    "--draft-model",
    metavar="NAME|PATH",
    help="A smaller model, for the methods that use one.",
)
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1), help="Rounds.")
@click.option("--json", "json_file", metavar="FILE", help="Write the report to FILE; - is stdout.")
def bench(
    model: str | None,
    methods: str,
    prompts: Path | None,
    draft_model: str | None,
    repeat: int,
    json_file: str | None,
) -> int:
    """Decode the same prompts with each method, interleaved, and compare them."""
    config = load_config()
    if model is not None:
        config = msgspec.structs.replace(config, model=model)
    if draft_model is not None:
        config = msgspec.structs.replace(config, draft_model=draft_model)
    chosen = parse_methods(methods, config)
    texts = read_prompts(prompts)
    load = plan_load(config)

    async def measure() -> BenchReport:
        client = EngineClient(lambda event: None, logs_dir())
        try:
            loaded = await client.start(load, chosen[0].drafting)
            found = await measured_once(client, load, loaded, config, _complain)
            methods = [
                replace(method, drafting=with_cost(method.drafting, found, config, loaded.device))
                for method in chosen
            ]
            runs = await run_bench(client, methods, texts, repeat, _show_run)
        finally:
            await client.close()
        return make_report(loaded, runs)

    _announce(load.name, chosen, texts)
    report = asyncio.run(measure())
    document = msgspec.json.format(msgspec.json.encode(report), indent=2)
    if json_file == "-":
        click.echo(document)
    else:
        click.echo(_table(report))
        if json_file is not None:
            Path(json_file).write_bytes(document + b"\n")
    return 0


def _complain(error: AgspecError) -> None:
    print(f"warning: {error.one_line()}", file=sys.stderr)


def _announce(model: str, methods: list[Method], prompts: list[BenchPrompt]) -> None:
    names = ", ".join(method.name for method in methods)
    print(f"{model}: {len(prompts)} prompts, methods {names}", file=sys.stderr)


def _show_run(run: Run) -> None:
    finished = run.finished
    n_steps = max(1, finished.n_steps)
    rate = finished.n_tokens / finished.decode_s if finished.decode_s else 0.0
    print(
        f"  {run.prompt.path:<18} {run.method:<23} {finished.n_tokens:>5} tokens"
        f" {rate:>7.2f} tok/s  accept length {1 + finished.n_accepted / n_steps:.2f}"
        f"  ended by {finished.stop_reason}",
        file=sys.stderr,
        flush=True,
    )


def _table(report: BenchReport) -> str:
    lines = [
        f"{report.model} on {report.device}; accept length = tokens per target pass,"
        " 1.0 = plain decoding",
        f"{'method':<24}{'kind':<12}{'tokens':>8}{'tok/s':>9}{'speed-up':>10}"
        f"{'accept':>8}{'rejected/step':>15}{'same ids':>10}",
    ]
    for row in report.rows:
        speedup = "–" if row.speedup is None else f"{row.speedup:.2f}×"
        equal = "–" if row.ids_equal is None else ("yes" if row.ids_equal else "NO")
        lines.append(
            f"{row.method:<24}{row.kind:<12}{row.n_tokens:>8}{row.tok_per_s:>9.2f}{speedup:>10}"
            f"{row.accept_length:>8.2f}{row.rejected_per_step:>15.2f}{equal:>10}"
        )
    drafters = dict.fromkeys(row.method.partition(":")[0] for row in report.rows)
    lines += [f"{name}: {LABELS[name]}" for name in drafters if name in LABELS]
    return "\n".join(lines)
