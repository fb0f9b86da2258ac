"""`agspec-tui replay --as-recorded`: whether recordings of our own sessions decode as they did."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from agspec_tui.cli.output import printable
from agspec_tui.config import load
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.engine.scripted import ScriptedTokenizer
from agspec_tui.engine.types import Tokenizer
from agspec_tui.models.resolve import resolve
from agspec_tui.replay.live import first_difference, read_recording, replay
from agspec_tui.replay.traces import trace_files


def check_recordings(paths: Sequence[Path], model: str | None) -> int:
    """Decode each recording again with its own settings, and compare step by step.

    Returns:
        The exit code: 0 if every step is the same, else 1.

    Raises:
        UsageError: a file is no recording, or was made with another tokenizer.
    """
    resolved = resolve(model if model is not None else load().model)
    if resolved.header is None:
        return _check(trace_files(paths), ScriptedTokenizer())
    with closing(Vocabulary(Path(resolved.path))) as vocabulary:
        return _check(trace_files(paths), vocabulary)


def _check(files: Sequence[Path], tokenizer: Tokenizer) -> int:
    code = 0
    for file in files:
        n_generations = n_steps = 0
        found = None
        for replayed in replay(read_recording(file), tokenizer):
            n_generations += 1
            n_steps += len(replayed.recorded.steps)
            found = found or first_difference(replayed)
        name = printable(file.name)
        if found is None:
            click.echo(f"{name}: {n_steps} steps of {n_generations} replies are as recorded")
            continue
        code = 1
        click.echo(
            f"{name}: reply {found.request}, step {found.step}: {found.field} is"
            f" {found.replayed}, recorded was {found.recorded}"
        )
    return code
