"""`agspec-tui calibrate`: what a target pass over n tokens costs on this machine."""

import asyncio
import sys
from pathlib import Path

import click
import msgspec

from agspec_tui.cli.engine_options import engine_options
from agspec_tui.cli.output import table
from agspec_tui.commands import LoadModel
from agspec_tui.config import Config, logs_dir
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import UsageError
from agspec_tui.session.calibration import Calibration, encode, measure, path_of, write
from agspec_tui.session.load_notes import show_load_notes
from agspec_tui.session.loading import plan_drafting, plan_load

_MOST_SEQUENCES = 64


@click.command("calibrate")
@engine_options
@click.option(
    "--batch",
    "batches",
    default="1",
    show_default=True,
    metavar="A,B,…",
    help="Sequences decoded together, each number measured by itself.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the figures to FILE; - is stdout.")
def calibrate(config: Config, batches: str, json_file: str | None) -> int:
    """Measure T(n), the time of a target pass over n tokens, and λ.

    λ is the acceptance probability at which one more drafted token pays for itself. Takes up to a
    minute for each number of sequences; let little else run meanwhile. What is measured for one
    sequence is kept and used from then on; what more share follows from it.
    """
    wanted = read_batches(batches)
    load = plan_load(config, n_at_once=max(wanted))
    drafting = plan_drafting(msgspec.structs.replace(config, drafter="none", policy="off"))
    if json_file is not None and json_file != "-" and not Path(json_file).parent.is_dir():
        raise UsageError(f"{json_file} cannot be written", "--json FILE, in a folder that exists")

    async def run() -> list[tuple[Path | None, Calibration]]:
        client = EngineClient(lambda event: None, logs_dir())
        try:
            loaded = await client.start(load, drafting)
            show_load_notes(loaded)
            found: list[tuple[Path | None, Calibration]] = []
            for batch in wanted:
                print(f"{load.name}: measuring {_sequences(batch)}…", file=sys.stderr, flush=True)
                measured = await measure(client, load, loaded, batch=batch)
                path = path_of(load, loaded) if batch == 1 else None
                if path is not None:
                    write(path, measured)
                found.append((path, measured))
            return found
        finally:
            await client.close()

    _report(load, asyncio.run(run()), json_file)
    return 0


def read_batches(text: str) -> list[int]:
    """Numbers of sequences from `1,4`.

    Raises:
        UsageError: one is no number or out of range, or stands there twice.
    """
    numbers: list[int] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if not part.isascii() or not part.isdecimal() or not 1 <= int(part) <= _MOST_SEQUENCES:
            raise UsageError(
                f"{part!r} is no number of sequences", f"--batch 1,4: from 1 to {_MOST_SEQUENCES}"
            )
        if int(part) not in numbers:
            numbers.append(int(part))
    if not numbers:
        raise UsageError("no number of sequences is named", "--batch 1")
    return numbers


def _report(
    load: LoadModel, found: list[tuple[Path | None, Calibration]], json_file: str | None
) -> None:
    documents = b"".join(encode(calibration) for _, calibration in found)
    if len(found) > 1:  # several measurements are one document too: a list
        whole = msgspec.json.encode([calibration for _, calibration in found])
        documents = msgspec.json.format(whole, indent=2) + b"\n"
    if json_file == "-":
        click.echo(documents.decode(), nl=False)
        return
    for path, calibration in found:
        _show(load, path, calibration)
    if json_file is not None:
        try:
            Path(json_file).write_bytes(documents)
        except OSError as error:
            raise UsageError(f"{json_file} cannot be written: {error.strerror}") from error


def _show(load: LoadModel, path: Path | None, calibration: Calibration) -> None:
    first = calibration.times[0][1]
    click.echo(
        f"{load.name} on {calibration.device}, {_sequences(calibration.batch)}, median of"
        f" {calibration.n_rounds} rounds behind {calibration.depth} tokens"
    )
    rows = [
        (str(n), f"{1e3 * seconds:.1f}", f"{seconds / first:.2f}")
        for n, seconds in calibration.times
    ]
    table(("tokens", "ms", "T(n)/T(1)"), rows)
    limit = calibration.n_exact
    bounded = 0 < limit < 64 and calibration.batch == 1
    used = f"; drafts here have at most {limit - 1} tokens" if bounded else ""
    click.echo(f"λ = {calibration.break_even:.3f}{used}")
    if path is not None:
        click.echo(f"kept in {path}")


def _sequences(batch: int) -> str:
    return "1 sequence" if batch == 1 else f"{batch} sequences"
