"""What commands print: tables, JSON documents, names from the disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click
import msgspec

from agspec_tui.config import ApprovalMode
from agspec_tui.errors import UsageError

record_option = click.option(
    "--record",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Record what the model reads and writes into a new file in DIR.",
)
"""The option of commands that open a session."""
approve_option = click.option(
    "--approve",
    type=click.Choice(get_args(ApprovalMode)),
    help="What is done unasked; by default what config.toml says, else ask.",
)
"""The option of commands whose session can write edits and run commands."""


def write_json(document: dict[str, object], file: str) -> None:
    """Write a document to a file, or to stdout if it is called `-`.

    Raises:
        UsageError: the file cannot be written.
    """
    text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    if file == "-":
        click.echo(text)
        return
    try:
        Path(file).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}", "--json FILE") from error


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows in columns under a head."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, *rows]:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def printable(text: str) -> str:
    """A name from the disk without what could move the cursor or is no text."""
    return "".join(c if c.isprintable() else "?" for c in text)
