"""`agspec-tui replay`: recorded sessions again, with every drafter and policy, and no model."""

import os
import sys
from contextlib import closing
from pathlib import Path

import click
import msgspec

from agspec_tui.cli.output import printable, write_json
from agspec_tui.cli.over_traces import MovingLine, resolve_tokenizer, resume_option
from agspec_tui.cli.replay_recordings import check_recordings
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.errors import UsageError
from agspec_tui.policy.profile_file import read_profile
from agspec_tui.replay.chart import as_svg
from agspec_tui.replay.plan import (
    DRAFTERS,
    POLICIES,
    ReplayPlan,
    parse_by,
    parse_corpora,
    parse_drafters,
    parse_policies,
    parse_share,
)
from agspec_tui.replay.report import Report
from agspec_tui.replay.run import POLICY_NAMES, Stage, parse_costs, replay_traces
from agspec_tui.replay.tables import as_markdown, as_text

_N_SKIPS_SHOWN = 8
_BAR = 30


@click.command("replay")
@click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--model", metavar="NAME|PATH", help="The model whose tokenizer is used.")
@click.option(
    "--drafters",
    metavar="A,B,…",
    help="Drafters to compare.  [default: all that need no model]",
)
@click.option(
    "--policies",
    default=",".join(POLICIES),
    show_default=True,
    metavar="A,B,…",
    help="Policies of the agspec drafters; the others have a rule of their own.",
)
@click.option(
    "--cost",
    "--costs",
    "costs",
    default="cpu,gpu,metal",
    show_default=True,
    metavar="A,B,…",
    help="What target passes cost: a shipped shape, or a file that `calibrate` wrote.",
)
@click.option(
    "--by",
    default="source",
    show_default=True,
    metavar="A,B,…",
    help="What is kept apart: role, turn, source.",
)
@click.option(
    "--batch",
    default="1",
    show_default=True,
    type=click.Choice(["1", "16"]),
    help="Sequences that share a target pass.",
)
@click.option(
    "--corpora",
    default="session,workspace,global",
    show_default=True,
    metavar="A,B,…",
    help="What agspec drafts from: session or per-call, workspace, global; or none. The global"
    " corpus of a session is made from the other half of the tasks.",
)
@click.option(
    "--views",
    default="on",
    show_default=True,
    type=click.Choice(["on", "off"]),
    help="Index files in the forms that edits have too, or as they stand only.",
)
@resume_option
@click.option(
    "--split-by",
    default="task",
    show_default=True,
    type=click.Choice(["task", "none"]),
    help="Profiles come from the other half of the tasks, or the shipped one decides.",
)
@click.option(
    "--profile",
    "profile_file",
    type=click.Path(path_type=Path),
    help="Let policies start from a file of `profile` instead.",
)
@click.option(
    "--sessions",
    default="100%",
    show_default=True,
    metavar="N|SHARE",
    help="Sessions of each source, for a quick run.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    help="Processes.  [default: as many as there are cores]",
)
@click.option(
    "--as-recorded",
    is_flag=True,
    help="Decode files made by --record again, each with its own settings, and compare every step.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the report to FILE; - is stdout.")
@click.option("--markdown", metavar="FILE", help="Write the tables to FILE; - is stdout.")
@click.option("--svg", metavar="FILE", help="Write a chart of the speed-ups to FILE.")
def replay(
    traces: tuple[Path, ...],
    model: str | None,
    drafters: str | None,
    policies: str,
    costs: str,
    by: str,
    batch: str,
    corpora: str,
    views: str,
    resume: str,
    split_by: str,
    profile_file: Path | None,
    sessions: str,
    workers: int | None,
    as_recorded: bool,
    json_file: str | None,
    markdown: str | None,
    svg: str | None,
) -> int:
    """Replay recorded sessions with each drafter and policy, and model the speed-up.

    TRACES are .jsonl or .jsonl.gz files, or folders of them. The corpora see what had been said by
    then, each step asks the real drafter and the real policy, and the recorded output plays the
    target. Only the tokenizer of the model is loaded.
    """
    if as_recorded:
        return check_recordings(traces, model)
    session, workspace, global_corpus = parse_corpora(corpora)
    plan = ReplayPlan(
        drafters=parse_drafters(drafters) if drafters is not None else DRAFTERS,
        policies=parse_policies(policies, POLICY_NAMES),
        views=views == "on",
        resume=resume == "on",
        batch=int(batch),
        by=parse_by(by),
        split=split_by == "task" and profile_file is None,
        session=session,
        workspace=workspace,
        global_corpus=global_corpus,
    )
    priced = parse_costs(costs, plan.batch)
    profile = read_profile(profile_file) if profile_file is not None else None
    _require_folders(json_file, markdown, svg)
    resolved = resolve_tokenizer(model)
    with MovingLine(sys.stderr) as line, closing(Vocabulary(Path(resolved.path))) as vocabulary:
        report = replay_traces(
            traces,
            resolved.name,
            vocabulary,
            plan,
            priced,
            share=parse_share(sessions),
            profile=profile,
            n_processes=workers if workers is not None else _cores(),
            progress=lambda stage, done, n_left: line.draw(_bar(stage, done, n_left)),
        )
    _write(report, json_file, markdown, svg)
    _complain(report)
    return 0


def _write(report: Report, json_file: str | None, markdown: str | None, svg: str | None) -> None:
    """Write what was asked for; the tables go to stdout unless something else does."""
    if json_file is not None:
        write_json(msgspec.to_builtins(report), json_file)
    if markdown is not None:
        _write_text(as_markdown(report), markdown, "--markdown FILE")
    if svg is not None:
        _write_text(as_svg(report), svg, "--svg FILE")
    if "-" not in (json_file, markdown, svg):
        click.echo(printable_lines(as_text(report)))


def printable_lines(text: str) -> str:
    """Lines without what could move the cursor: names of sources come from the disk."""
    return "\n".join(printable(line) for line in text.splitlines())


def _write_text(text: str, file: str, hint: str) -> None:
    if file == "-":
        click.echo(text, nl=False)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}", hint) from error


def _require_folders(*files: str | None) -> None:
    """A report that cannot be written in the end had better not be begun."""
    for file in files:
        if file is not None and file != "-" and not Path(file).absolute().parent.is_dir():
            raise UsageError(f"there is no folder {Path(file).absolute().parent}", "make it first")


def _complain(report: Report) -> None:
    """Say what was left out: the first few in full, the rest as a number."""
    for skip in report.skips[:_N_SKIPS_SHOWN]:
        times = f" ({skip.n} times)" if skip.n > 1 else ""
        print(printable(f"skipped {skip.what}: {skip.reason}{times}"), file=sys.stderr)
    rest = sum(skip.n for skip in report.skips[_N_SKIPS_SHOWN:])
    if rest:
        print(f"skipped {rest} more; --json lists them", file=sys.stderr)


def _cores() -> int:
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    return max(1, len(allowed) if allowed is not None else os.cpu_count() or 1)


def _bar(stage: Stage, done: float, n_left: int) -> str:
    """How much of a stage is done, as a share, and the sessions that are left."""
    full = int(done * _BAR)
    return f"{stage} {'█' * full}{'·' * (_BAR - full)} {done:4.0%}, {n_left} sessions left"
