"""`agspec-tui models`: list, pull, path, plan."""

import os
import sys
from pathlib import Path

import click
import msgspec

from agspec_tui.cli.engine_options import memory_options
from agspec_tui.cli.output import printable, table, write_json
from agspec_tui.cli.pull_progress import PullProgress
from agspec_tui.config import Config, models_dir
from agspec_tui.errors import ModelError
from agspec_tui.models.catalogue import DEFAULT, ENTRIES, CatalogueEntry, require
from agspec_tui.models.discover import FoundModel, discover
from agspec_tui.models.gguf import GgufHeader
from agspec_tui.models.joining import part_path
from agspec_tui.models.plan import MemoryPlan, Room, check_fits, in_units, plan
from agspec_tui.models.pull import pull
from agspec_tui.models.resolve import resolve
from agspec_tui.models.verified import is_marked, model_path
from agspec_tui.session.loading import room, wanted, wanted_n_ctx

_SCHEMA = 1


@click.group()
def models() -> None:
    """List, pull and check models."""


@models.command("list")
@click.option("--json", "json_file", metavar="FILE", help="Write JSON to FILE; - is stdout.")
def list_models(json_file: str | None) -> None:
    """List the catalogue, and GGUF files that other programs have fetched."""
    folder = models_dir()
    found = discover()
    if json_file is not None:
        write_json(_document(folder, found), json_file)
        return
    rows = [
        (entry.name, in_units(entry.n_bytes), entry.licence, _state(entry, folder), entry.use)
        for entry in ENTRIES
    ]
    table(("name", "size", "licence", "state", "use"), rows)
    if found:
        click.echo("\nfound on this machine")
        table(
            ("name", "size", "place", "path"),
            [
                (printable(m.name), in_units(m.n_bytes), m.place, printable(str(m.path)))
                for m in found
            ],
        )


@models.command("pull")
@click.argument("name")
@click.option("--force", is_flag=True, help="Fetch again even if it is there.")
def pull_model(name: str, force: bool) -> None:
    """Fetch a model of the catalogue, check it, and put it in the models folder."""
    entry = require(name)
    with PullProgress(entry.name, sys.stderr) as progress:
        pulled = pull(entry, force=force, progress=progress.update, note=progress.note)
    verb = "pulled and verified" if pulled.fetched else "already there"
    click.echo(f"{entry.name}: {verb}, {pulled.path}")


@models.command("path")
@click.argument("name")
def path_of_model(name: str) -> None:
    """Print the path of a model's file."""
    resolved = resolve(name)
    if resolved.header is None:
        raise ModelError(f"{name} is a script, not a file of weights", "name a model")
    click.echo(os.fsencode(resolved.path))


@models.command("plan")
@click.argument("name")
@memory_options
@click.option("--n-batch", type=int, help="Most tokens in one decode; by default as configured.")
def plan_model(config: Config, name: str, n_batch: int | None) -> int:
    """Show the memory a model takes, against what is there; exit code 2 if it does not fit.

    NAME is a name of the catalogue, of a file found on this machine, or a path.
    """
    resolved = resolve(name)
    header = resolved.header
    if header is None:
        raise ModelError(f"{name} is a script, it has no weights", "name a model")
    if n_batch is not None:
        config = msgspec.structs.replace(config, n_batch=n_batch)
    there = room(config)
    asked = wanted(config, wanted_n_ctx(config, header))
    made = plan(header, asked, there)
    table(("memory", printable(resolved.name)), _plan_rows(header, made, there))
    check_fits(header, asked, there)
    click.echo("fits")
    return 0


def _plan_rows(header: GgufHeader, made: MemoryPlan, there: Room) -> list[tuple[str, str]]:
    kinds = f"{made.wanted.type_k}, {made.wanted.type_v}"
    if made.wanted.type_k == made.wanted.type_v:
        kinds = made.wanted.type_k
    rows = [("context", f"{made.wanted.n_ctx} of {header.n_ctx_train or '?'} tokens")]
    if there.devices:
        rows.append(("layers on devices", f"{made.n_gpu_layers} of {made.n_layers}"))
    for needs, of in ((made.host, "host"), (made.devices, "devices")):
        if of == "devices" and not made.n_gpu_layers:
            continue
        label = f", {of}" if made.n_gpu_layers else ""
        rows.append((f"weights{label}", in_units(needs.weights)))
        rows.append((f"KV cache, {kinds}{label}", in_units(needs.kv)))
        if any(header.state_values):
            rows.append((f"recurrent states{label}", in_units(needs.state)))
        rows.append((f"compute buffers{label}", in_units(needs.compute)))
    rows += [
        ("engine process", in_units(made.process_bytes)),
        ("needed", in_units(made.total_bytes)),
        ("available", in_units(there.host)),
    ]
    if there.devices:
        rows.append(("needed on devices", in_units(made.devices.total)))
    rows += [
        (f"available on {printable(device.name)}", in_units(device.free_bytes))
        for device in there.devices
    ]
    return rows


def _state(entry: CatalogueEntry, folder: Path) -> str:
    """`pulled`, `not checked` (checked when it is next used), `partly` or `not pulled`."""
    path = model_path(entry.name, folder)
    if is_marked(entry, path):
        return "pulled"
    if path.is_file():
        return "not checked"
    return "partly" if part_path(entry, folder).is_file() else "not pulled"


def _document(folder: Path, found: list[FoundModel]) -> dict[str, object]:
    return {
        "schema": _SCHEMA,
        "models_dir": printable(str(folder)),
        "default": DEFAULT,
        "models": [
            {
                "name": entry.name,
                "title": entry.title,
                "n_bytes": entry.n_bytes,
                "licence": entry.licence,
                "sha256": entry.sha256,
                "state": _state(entry, folder),
                "path": printable(str(model_path(entry.name, folder))),
            }
            for entry in ENTRIES
        ],
        "found": [
            {
                "name": printable(model.name),
                "n_bytes": model.n_bytes,
                "place": model.place,
                "path": printable(str(model.path)),
            }
            for model in found
        ],
    }
