"""`agspec-tui bench`: tokens per second of drafting methods, live and interleaved."""

import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click
import msgspec

from agspec_tui.cli.bench_partings import partings_of
from agspec_tui.cli.engine_options import engine_options
from agspec_tui.commands import LoadModel
from agspec_tui.config import Config, logs_dir
from agspec_tui.drafting.choose import LABELS
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import AgspecError
from agspec_tui.events import ModelLoaded
from agspec_tui.policy.cost import Cost
from agspec_tui.replay.live import read_recording
from agspec_tui.replay.oracle import oracle_time
from agspec_tui.replay.pass_times import as_recorded, time_by_request
from agspec_tui.replay.realised import realised
from agspec_tui.replay.walk import MAX_DRAFT
from agspec_tui.session.bench import Method, Run, parse_methods, require_enough, run_bench
from agspec_tui.session.bench_prompts import BenchPrompt, read_prompts
from agspec_tui.session.bench_report import BenchReport, BenchRow, Parting, make_report
from agspec_tui.session.calibration import is_measurable, measured_once, with_cost
from agspec_tui.session.load_notes import show_load_notes
from agspec_tui.session.loading import plan_load


@click.command("bench")
@engine_options
@click.option(
    "--methods",
    default="none,agspec-sam",
    show_default=True,
    metavar="A,B,…",
    help="Drafters to compare, each as DRAFTER or DRAFTER:POLICY; fixedN drafts N tokens.",
)
@click.option(
    "--prompts",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A TOML file of prompts instead of the built-in ones.",
)
@click.option(
    "--kinds",
    default="",
    metavar="A,B,…",
    help="Only prompts of these kinds, e.g. whole-file,diff,multi-turn,prose,test-log.",
)
@click.option(
    "--batch",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Prompts that are decoded at once.",
)
@click.option(
    "--draft-model",
    metavar="NAME|PATH",
    help="A smaller model, for the methods that use one.",
)
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1), help="Rounds.")
@click.option("--json", "json_file", metavar="FILE", help="Write the report to FILE; - is stdout.")
def bench(
    config: Config,
    methods: str,
    prompts: Path | None,
    kinds: str,
    batch: int,
    draft_model: str | None,
    repeat: int,
    json_file: str | None,
) -> int:
    """Decode the same prompts with each method, interleaved, and compare them."""
    if draft_model is not None:
        config = msgspec.structs.replace(config, draft_model=draft_model)
    chosen = parse_methods(methods, config)
    texts = read_prompts(prompts, [kind for kind in map(str.strip, kinds.split(",")) if kind])
    require_enough(texts, batch)
    load = plan_load(config, n_at_once=batch)
    _announce(load.name, chosen, texts, batch)
    with tempfile.TemporaryDirectory(prefix="agspec-bench-") as folder:
        report = asyncio.run(_measure(config, load, chosen, texts, repeat, batch, Path(folder)))
    document = msgspec.json.format(msgspec.json.encode(report), indent=2)
    if json_file == "-":
        click.echo(document)
    else:
        click.echo(table(report))
        if json_file is not None:
            Path(json_file).write_bytes(document + b"\n")
    return 0


async def _measure(
    config: Config,
    load: LoadModel,
    chosen: list[Method],
    prompts: list[BenchPrompt],
    n_repeats: int,
    batch: int,
    folder: Path,
) -> BenchReport:
    """Run everything; what the oracle needs is recorded in the folder meanwhile."""
    record = folder / "bench.jsonl"
    load = msgspec.structs.replace(
        load,
        # One recording holds one generation at a time.
        record=str(record) if batch == 1 else "",
    )
    client = EngineClient(lambda event: None, logs_dir())
    try:
        loaded = await client.start(load, chosen[0].drafting)
        show_load_notes(loaded)
        found = await measured_once(client, load, loaded, config, _complain, batch, anew=True)
        methods = [
            replace(m, drafting=with_cost(m.drafting, found, config, loaded.device)) for m in chosen
        ]
        if batch > 1 and not loaded.rollback:
            print(
                "warning: this memory cannot be wound back: prompts are read again, and the time"
                " of it counts",
                file=sys.stderr,
            )
        runs = await run_bench(
            client, methods, prompts, n_repeats, _show_run, batch, winds_back=loaded.rollback
        )
    finally:
        await client.close()
    shares = {}
    if batch == 1:
        cost = as_recorded(read_recording(record), Cost("measured", methods[0].drafting.cost))
        shares = _shares_of_oracle(record, cost, loaded, load.n_batch)
    # The scripted target does not round: what differs there is a fault.
    partings = partings_of(load, runs, batch) if is_measurable(load) else ()
    return make_report(loaded, runs, shares, partings, batch)


def _shares_of_oracle(
    record: Path, cost: Cost, loaded: ModelLoaded, n_batch: int
) -> dict[int, float]:
    """By request, the time of the oracle over that of its own draft lengths."""
    # Beyond the longest pass that was measured T(n) is a guess by its last slope.
    n_most = min(MAX_DRAFT + 1, loaded.n_exact or n_batch, cost.points[-1][0])
    longest = n_most - 1 if loaded.rollback else 0
    times = [cost.at(1 + k) for k in range(longest + 1)]
    own = time_by_request(read_recording(record), cost)
    found = realised(read_recording(record))
    return {
        each.request: oracle_time(each.reusable, times) / own[each.request]
        for each in found
        if each.reusable
    }


def _complain(error: AgspecError) -> None:
    print(f"warning: {error.one_line()}", file=sys.stderr)


def _announce(model: str, methods: list[Method], prompts: list[BenchPrompt], batch: int) -> None:
    names = ", ".join(method.name for method in methods)
    at_once = f", {batch} at once" if batch > 1 else ""
    print(f"{model}: {len(prompts)} prompts{at_once}, methods {names}", file=sys.stderr)


def _show_run(run: Run) -> None:
    n_accepted = sum(turn.n_accepted for turn in run.turns)
    # The time of prompts that are decoded at once is no single one's.
    own_s = 0.0 if run.at_once else run.decode_s
    rate = f"{run.n_tokens / own_s:>7.2f}" if own_s else f"{'–':>7}"
    ends = ", ".join(turn.stop_reason for turn in run.turns)
    print(
        f"  {run.prompt.kind:<11}{run.prompt.name:<16} {run.method:<23} {run.n_tokens:>5} tokens"
        f" {rate} tok/s  accept length {1 + n_accepted / max(1, run.n_steps):.2f}"
        f"  ended by {ends}",
        file=sys.stderr,
        flush=True,
    )


def table(report: BenchReport) -> str:
    """The report as text."""
    at_once = f"; {report.batch} prompts at once" if report.batch > 1 else ""
    lines = [
        f"{report.model} on {report.device}{at_once}; accept length = tokens per target pass,"
        " 1.0 = plain decoding",
        f"{'method':<24}{'kind':<12}{'tokens':>8}{'tok/s':>9}{'speed-up':>10}{'of oracle':>11}"
        f"{'accept':>8}{'rejected/step':>15}{'same ids':>10}",
    ]
    for row in report.rows:
        speedup = "–" if row.speedup is None else f"{row.speedup:.2f}×"
        share = "–" if row.share_of_oracle is None else f"{row.share_of_oracle:.0%}"
        equal = "–" if row.ids_equal is None else _same_ids(report, row)
        lines.append(
            f"{row.method:<24}{row.kind:<12}{row.n_tokens:>8}{row.tok_per_s:>9.2f}{speedup:>10}"
            f"{share:>11}{row.accept_length:>8.2f}{row.rejected_per_step:>15.2f}{equal:>10}"
        )
    lines += [_parting_line(parting) for parting in report.partings]
    drafters = dict.fromkeys(row.method.partition(":")[0] for row in report.rows)
    lines += [f"{name}: {LABELS[name]}" for name in drafters if name in LABELS]
    return "\n".join(lines)


def _same_ids(report: BenchReport, row: BenchRow) -> str:
    """`yes`, `tie` where every difference is proven to be no more than rounding, or `NO`."""
    if row.ids_equal:
        return "yes"
    found = [
        parting.near_tie
        for parting in report.partings
        if parting.method == row.method and row.kind in (parting.kind, "all")
    ]
    return "tie" if found and all(found) else "NO"


def _parting_line(parting: Parting) -> str:
    where = (
        f"{parting.kind} {parting.prompt}, turn {parting.turn}: {parting.method} parts from none"
        f" behind {parting.position} tokens"
    )
    if parting.gap is None:
        return f"{where}: a reply broke off"
    verdict = "a near tie" if parting.near_tie else "NO near tie"
    return (
        f"{where}: the logits are {parting.gap:.2g} apart, rounding moves them by up to"
        f" {parting.rounding:.2g}: {verdict}"
    )
