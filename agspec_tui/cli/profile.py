"""`agspec-tui profile`: how far drafts hold in recorded sessions, as counts by role."""

import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import click

from agspec_tui.cli.output import printable, table, write_json
from agspec_tui.cli.over_traces import (
    MovingLine,
    resolve_tokenizer,
    resume_option,
    say_skipped,
)
from agspec_tui.config import profiles_dir, tokens_dir
from agspec_tui.drafting.choose import NAMES, make_drafter
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.errors import UsageError
from agspec_tui.policy.cost import NAMES as COSTS
from agspec_tui.policy.cost import shipped
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.profile_file import file_name, write_profile
from agspec_tui.replay.profiling import Profiled, profile_sessions
from agspec_tui.replay.read import ReadReport, read_sessions
from agspec_tui.replay.token_cache import TokenCache

_SCHEMA = 1


@click.command("profile")
@click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--model", metavar="NAME|PATH", help="The model whose tokenizer is used.")
@click.option(
    "--drafter",
    default="agspec-sam",
    show_default=True,
    type=click.Choice(NAMES),
    help="The drafter that is asked.",
)
@resume_option
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file; by default the one that sessions with this model start from.",
)
@click.option(
    "--any-model",
    is_flag=True,
    help="Count all roles together, for a file that serves every model.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the figures to FILE; - is stdout.")
def profile(
    traces: tuple[Path, ...],
    model: str | None,
    drafter: str,
    resume: str,
    output: Path | None,
    any_model: bool,
    json_file: str | None,
) -> None:
    """Count how far drafts hold in recorded sessions, and write caps and counts for a model.

    TRACES are .jsonl or .jsonl.gz files, or folders of them. The drafter is asked at the steps of
    the recorded outputs; the file holds counts by role, and no text. Sessions with this model start
    from it and add their own counts.
    """
    if any_model and output is None:
        raise UsageError("a profile for every model has no place of its own", "name --output FILE")
    resolved = resolve_tokenizer(model)
    report = ReadReport()
    with closing(Vocabulary(Path(resolved.path))) as vocabulary, MovingLine(sys.stderr) as line:
        tokenizer = vocabulary.fingerprint().hex()
        sessions = read_sessions(traces, vocabulary, TokenCache(tokens_dir()), report=report)
        found = profile_sessions(
            sessions,
            partial(make_drafter, drafter, resume=resume == "on"),
            lambda n_sessions, n_tokens: line.draw(
                f"{n_sessions} sessions, {n_tokens} tokens of output"
            ),
        )
    say_skipped(report.skipped)
    if not found.profile.n_drafts():
        raise UsageError("nothing was drafted in these sessions", "name more traces")
    made = found.profile.together() if any_model else found.profile
    if not any_model:
        made.model, made.tokenizer = resolved.name, tokenizer
    path = output or profiles_dir() / file_name(resolved.name, tokenizer)
    write_profile(path, made)
    rows = [_figures(found.profile, role) for role in (*found.profile.roles(), None)]
    if json_file is not None:
        _write_figures(json_file, path, resolved.name, found, rows)
    if json_file != "-":
        _show(path, found, rows)


def _figures(profile: Profile, role: str | None) -> dict[str, object]:
    caps = {name: profile.cap(role, shipped(name).break_even()) for name in COSTS}
    return {
        "role": role if role is not None else "all",
        "n_steps": round(profile.n_steps(role)),
        "n_drafts": round(profile.n_drafts(role)),
        "mean_reusable": profile.mean_reusable(role),
        "caps": caps,
    }


def _write_figures(
    file: str, path: Path, model: str, found: Profiled, rows: list[dict[str, object]]
) -> None:
    document: dict[str, object] = {
        "schema": _SCHEMA,
        "path": printable(str(path.absolute())),
        "model": model,
        "n_sessions": found.n_sessions,
        "n_tokens": found.n_tokens,
        "break_even": {name: shipped(name).break_even() for name in COSTS},
        "rows": rows,
    }
    write_json(document, file)


def _show(path: Path, found: Profiled, rows: list[dict[str, object]]) -> None:
    click.echo(f"{found.n_sessions} sessions, {found.n_tokens} tokens of output")
    head = ("role", "drafts", "mean R", *(f"cap, {name}" for name in COSTS))
    lines = []
    for row in rows:
        caps = row["caps"]
        assert isinstance(caps, dict)
        figures = (str(row["n_drafts"]), f"{row['mean_reusable']:.1f}")
        lines.append((str(row["role"]), *figures, *(str(caps[name]) for name in COSTS)))
    table(head, lines)
    lambdas = ", ".join(f"{shipped(name).break_even():.2f} ({name})" for name in COSTS)
    click.echo(
        f"R: drafted tokens that hold, cut at 64. cap: last k with Pr(R ≥ k) ≥ λ = {lambdas}"
    )
    click.echo(f"kept in {printable(str(path))}")
