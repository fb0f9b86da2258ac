"""`agspec-tui eval`: a folder of tasks, without a screen."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from agspec_tui.cli.engine_options import candidates_option, engine_options
from agspec_tui.cli.fix import check_writable
from agspec_tui.cli.output import printable, record_option, table, write_json
from agspec_tui.config import Config
from agspec_tui.errors import UsageError
from agspec_tui.session.evaluation import Results, TaskRow, document, results_of, run_task
from agspec_tui.session.loading import plan_load
from agspec_tui.session.tasks import EvalTask, chosen, read_tasks

_INTERRUPTED = 130


@click.command("eval")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--only", default="", metavar="ID,…", help="Run these tasks only.")
@click.option("--restart", is_flag=True, help="Forget what earlier runs have finished.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of config.toml, for this run; may be given again.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the figures to FILE; - is stdout.")
@record_option
@engine_options
@candidates_option
def evaluate(
    config: Config,
    folder: Path,
    only: str,
    restart: bool,
    changes: tuple[str, ...],
    json_file: str | None,
    record: Path | None,
) -> int:
    """Run the team on every task in DIR, and count the issues that are fixed.

    A task is a folder with repo/ (copied for each run, never changed), ISSUE.md, and task.toml with
    id, test and timeout_s, the time limit of one run of the test command. Finished tasks are kept
    for each model and settings, and are not run again.

    Exit code: 0 every task ran, 1 a task is wrong or failed, 2 wrong usage, 130 interrupted.
    """
    config = with_settings(config, changes)
    if json_file is not None:
        check_writable(json_file)
    found, faults = read_tasks(folder)
    for fault in faults:
        _say(f"error: {fault.one_line()}")
    if not found:
        raise UsageError(f"{folder} holds no task that can be run", "see the lines above")
    tasks = chosen(found, only)
    name, results = plan_load(config).name, results_of(folder, config)
    if restart:
        results.clear()
    rows, finished = asyncio.run(_Run(config, results, record).run(tasks))
    if json_file is not None:
        write_json(document(name, config, rows), json_file)
    if json_file != "-":
        _show(rows)
    if not finished:
        _say("interrupted; the same command goes on from here")
        return _INTERRUPTED
    return 1 if faults or any(row.status == "failed" for row in rows) else 0


def with_settings(config: Config, changes: Sequence[str]) -> Config:
    """The settings with `key=value` texts in their place.

    Raises:
        UsageError: a key is unknown or a value is of another type.
    """
    values = msgspec.structs.asdict(config)
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or key.strip() not in values:
            raise UsageError(f"no setting {change!r}", f"keys: {', '.join(values)}")
        values[key.strip()] = value.strip()
    try:
        return msgspec.convert(values, Config, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"--set: {error}", "KEY=VALUE, as in config.toml") from error


class _Run:
    """One pass over the tasks; an interrupt ends it between two of them or inside one."""

    def __init__(self, config: Config, results: Results, record: Path | None) -> None:
        self._config = config
        self._record = record
        self._results = results

    async def run(self, tasks: Sequence[EvalTask]) -> tuple[list[TaskRow], bool]:
        """The rows that are there at the end, and whether they are all of them."""
        rows: list[TaskRow] = []
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, stop.set)
        for place, task in enumerate(tasks, start=1):
            row = self._results.of(task)
            known = row is not None
            if row is None:
                row = await self._until(stop, task)
            if row is None:
                return rows, False
            if not known:
                self._results.add(task, row)
            rows.append(row)
            _say(f"{place}/{len(tasks)}  {_line(row)}{' (finished before)' if known else ''}")
        return rows, True

    async def _until(self, stop: asyncio.Event, task: EvalTask) -> TaskRow | None:
        """Run a task; None if the user stops it."""
        running = asyncio.ensure_future(run_task(task, self._config, self._record))
        waiting = asyncio.ensure_future(stop.wait())
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if running.done():
            return running.result()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        return None


def _line(row: TaskRow) -> str:
    """One finished task in a line."""
    if row.status == "failed":
        return f"{row.id}: failed: {row.summary.splitlines()[-1] if row.summary else 'no reason'}"
    turns = f"{row.turns} turn{'s' * (row.turns != 1)}"
    return (
        f"{row.id}: {row.status.replace('_', ' ')}, {turns}, {row.n_tokens} tokens, "
        f"{row.wall_s:.1f} s"
    )


def _show(rows: Sequence[TaskRow]) -> None:
    """The table, and its totals."""
    cells = [
        (
            row.id,
            row.status.replace("_", " "),
            str(row.turns),
            str(row.n_tokens),
            f"{row.wall_s:.1f}",
            f"{row.accept_length:.2f}",
        )
        for row in rows
    ]
    table(("task", "status", "turns", "tokens", "seconds", "accept length"), cells)
    n_fixed = sum(row.status == "fixed" for row in rows)
    share = f" ({100 * n_fixed / len(rows):.0f} %)" if rows else ""
    n_tokens, wall_s = sum(row.n_tokens for row in rows), sum(row.wall_s for row in rows)
    click.echo(f"fixed {n_fixed} of {len(rows)}{share}, {n_tokens} tokens, {wall_s:.1f} s")


def _say(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)
