"""`agspec-tui corpus`: build, info."""

import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import click

from agspec_tui.cli.output import printable, table, write_json
from agspec_tui.cli.over_traces import MovingLine, resolve_tokenizer, say_skipped
from agspec_tui.config import corpora_dir
from agspec_tui.drafting.corpus_file import CorpusHeader, open_corpus, write_corpus
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.errors import DraftError, UsageError
from agspec_tui.models.plan import in_units
from agspec_tui.replay.collect import Collected, collect
from agspec_tui.replay.traces import Skipped, read_all

_SCHEMA = 1
_MOST_TOKENS = 2_000_000


@click.group()
def corpus() -> None:
    """Build and check the global corpus.

    A global corpus is a file of text from recorded sessions, from which later sessions can draft.
    It is opt-in: no file is built unless you build it, and none is used unless `global_corpus` in
    config.toml names it.
    """


@corpus.command("build")
@click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--model", metavar="NAME|PATH", help="The model whose tokenizer is used.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file; by default one for each tokenizer in your data folder.",
)
@click.option(
    "--outputs-only/--all",
    default=False,
    help="Take only what models wrote, or the prompts and tool outputs too.  [default: all]",
)
@click.option(
    "--exclude-task",
    "tasks",
    multiple=True,
    metavar="TASK",
    help="Leave out sessions that worked on TASK; can be given several times.",
)
@click.option(
    "--max-tokens",
    default=_MOST_TOKENS,
    show_default=True,
    type=click.IntRange(2, 2**30 - 1),
    help="Most tokens in the file.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the figures to FILE; - is stdout.")
def build_corpus(
    traces: tuple[Path, ...],
    model: str | None,
    output: Path | None,
    outputs_only: bool,
    tasks: tuple[str, ...],
    max_tokens: int,
    json_file: str | None,
) -> None:
    """Build a global corpus from recorded sessions.

    TRACES are .jsonl or .jsonl.gz files, or folders of them. Each text is taken once, the newest
    sessions first until --max-tokens are reached; a session without a date is as old as its file.

    The file holds the text of these sessions. It is readable by you alone, it is never sent
    anywhere, and deleting it is all it takes to be rid of it.
    """
    begun = time.monotonic()
    if output is not None and not output.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {output.absolute().parent}", "make it first")
    resolved = resolve_tokenizer(model)
    skipped: list[Skipped] = []
    with closing(Vocabulary(Path(resolved.path))) as vocabulary, MovingLine(sys.stderr) as line:
        found = collect(
            read_all(traces, skipped),
            lambda text: vocabulary.tokenize(text, special=False),
            max_tokens,
            outputs_only=outputs_only,
            excluded_tasks=frozenset(tasks),
            progress=lambda n_tokens, n_left: line.draw(
                f"{n_tokens} tokens, {n_left} sessions left"
            ),
        )
        fingerprint, n_vocab = vocabulary.fingerprint(), vocabulary.n_vocab
    say_skipped(skipped)
    if not found.documents:
        raise UsageError(
            "no text is left to build a corpus from", "name more traces or fewer tasks"
        )
    path = output if output is not None else _default_path(fingerprint)
    header = write_corpus(path, found.documents, fingerprint, n_vocab)
    figures = {
        **_figures(path, header),
        "model": resolved.name,
        "n_sessions": found.n_sessions,
        "n_repeated": found.n_repeated,
        "n_excluded": found.n_excluded,
        "n_skipped": len(skipped),
        "is_full": found.is_full,
        "build_s": time.monotonic() - begun,
    }
    if json_file is not None:
        write_json({"schema": _SCHEMA, **figures}, json_file)
    if json_file != "-":
        _show_built(path, header, found, time.monotonic() - begun)


@corpus.command("info")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--json", "json_file", metavar="FILE", help="Write JSON to FILE; - is stdout.")
def corpus_info(file: Path | None, json_file: str | None) -> None:
    """Show what is in a global corpus, and check it.

    Without FILE, all in your data folder are shown.
    """
    paths = [file] if file is not None else sorted(corpora_dir().glob("*.corpus"))
    if not paths:
        raise UsageError(f"there is no corpus in {corpora_dir()}", "agspec-tui corpus build TRACES")
    figures, faults = [], []
    for path in paths:
        try:
            figures.append(_figures(path, open_corpus(path).header))
        except DraftError as error:
            faults.append(error)
    if json_file is not None and figures:
        write_json({"schema": _SCHEMA, "corpora": figures}, json_file)
    if json_file != "-":
        for each in figures:
            table(("corpus", str(each.pop("path"))), [(k, str(v)) for k, v in each.items()])
    for fault in faults[:-1]:
        print(f"error: {printable(fault.one_line())}", file=sys.stderr)
    if faults:
        raise faults[-1]


def _default_path(fingerprint: bytes) -> Path:
    """A file in the user's data folder for this tokenizer; the folder is made."""
    folder = corpora_dir()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{folder} cannot be made: {reason}", "choose --output FILE") from error
    return folder / f"{fingerprint.hex()[:16]}.corpus"


def _figures(path: Path, header: CorpusHeader) -> dict[str, object]:
    return {
        "path": printable(str(path.absolute())),
        "version": header.version,
        "tokenizer": header.fingerprint.hex(),
        "n_vocab": header.n_vocab,
        "n_documents": header.n_documents,
        "n_tokens": header.n_tokens,
        "n_bytes": header.n_bytes,
        "created": datetime.fromtimestamp(header.created_s, UTC).isoformat(),
        "checksum": "right",
    }


def _show_built(path: Path, header: CorpusHeader, found: Collected, build_s: float) -> None:
    rows = [
        (
            "sessions",
            f"{found.n_sessions}" + f", {found.n_excluded} excluded" * bool(found.n_excluded),
        ),
        ("documents", f"{header.n_documents}, {found.n_repeated} repeated ones left out"),
        ("tokens", f"{header.n_tokens}" + ", full: older text left out" * found.is_full),
        ("size", in_units(header.n_bytes)),
        ("time", f"{build_s:.1f} s"),
    ]
    table(("corpus", printable(str(path))), rows)
    click.echo(
        f'to draft from it: global_corpus = "{printable(str(path.absolute()))}" in config.toml'
    )
