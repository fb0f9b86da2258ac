"""What the commands over recorded sessions share: their model, their progress, their complaints."""

import os
import sys
import time
from collections.abc import Sequence
from typing import Self, TextIO

import click

from agspec_tui.cli.output import printable
from agspec_tui.config import Config, load
from agspec_tui.errors import ModelError
from agspec_tui.models.resolve import ResolvedModel, resolve
from agspec_tui.replay.traces import Skipped

_REDRAW_S = 0.1
_N_SKIPPED_SHOWN = 5

resume_option = click.option(
    "--resume",
    default="on" if Config().resume else "off",
    show_default=True,
    type=click.Choice(["on", "off"]),
    help="Let agspec go on with a copy just behind where an edit interrupted it.",
)
"""The option of commands that ask AgSpec's drafters."""


def resolve_tokenizer(model: str | None) -> ResolvedModel:
    """The named model, or the configured one, whose file must hold a tokenizer.

    Raises:
        ModelError: it is unknown, missing or damaged, or a script.
    """
    resolved = resolve(model if model is not None else load().model)
    if resolved.header is None:
        raise ModelError(f"{resolved.name} is a script, it has no tokenizer", "name a model")
    return resolved


def say_skipped(skipped: Sequence[Skipped]) -> None:
    """Say what could not be read: the first few in full, the rest as a number."""
    for each in skipped[:_N_SKIPPED_SHOWN]:
        place = f"{each.file}, line {each.line}" if each.line else each.file
        print(f"skipped {printable(f'{place}: {each.reason}')}", file=sys.stderr)
    if len(skipped) > _N_SKIPPED_SHOWN:
        print(f"skipped {len(skipped) - _N_SKIPPED_SHOWN} more", file=sys.stderr)


class MovingLine:
    """One line that is written over again on a terminal; nothing elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        """Write to a stream; a context manager that takes the line away in the end."""
        self._stream = stream
        self._is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn_s = 0.0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """Take the line away, if it was written."""
        if self._drawn_s:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def draw(self, text: str) -> None:
        """Write the line, some ten times a second at most."""
        now = time.monotonic()
        if self._is_terminal and now - self._drawn_s > _REDRAW_S:
            self._drawn_s = now
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()
