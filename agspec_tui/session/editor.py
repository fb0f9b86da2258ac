"""Lets the person edit text in their own editor."""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path

from agspec_tui.errors import UsageError


def editor() -> str:
    """The command line of the person's editor: `$VISUAL`, else `$EDITOR`; empty if not set."""
    return os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()


async def edited(
    text: str, notes: tuple[str, ...], is_over: Callable[[], bool], name: str = "plan.txt"
) -> str:
    """The text as the person leaves it in their editor.

    Args:
        text: what is edited.
        notes: lines that stand above it behind `# `, and are not part of it.
        is_over: whether to close the editor, asked again and again.
        name: what the editor shows as the file's name.

    Raises:
        UsageError: the editor could not be run or failed, or left no text behind.
    """
    command = editor()
    head = "".join(f"# {note}\n" for note in notes) + "\n"
    with tempfile.TemporaryDirectory(prefix="agspec-") as folder:
        path = Path(folder) / name
        path.write_text(head + text, encoding="utf-8")
        try:
            words = shlex.split(command)
            process = await asyncio.create_subprocess_exec(*words, str(path))
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(
                f"the editor {command} cannot be run: {_reason(error)}", "set VISUAL or EDITOR"
            ) from error
        code = await _ended(process, is_over)
        if code:
            raise UsageError(f"the editor {command} failed: exit code {code}", "nothing is changed")
        try:
            left = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"the editor {command} left no text: {_reason(error)}", "nothing is changed"
            ) from error
    lines = left.split("\n")
    while lines and lines[0].startswith("# "):
        del lines[0]
    return "\n".join(lines).strip("\n") + "\n"


async def _ended(process: asyncio.subprocess.Process, is_over: Callable[[], bool]) -> int:
    """The exit code of the editor, which is ended with what it was opened for."""
    waiting = asyncio.ensure_future(process.wait())
    while not waiting.done():
        await asyncio.wait({waiting}, timeout=0.1)
        if is_over() and not waiting.done():
            process.terminate()
            await waiting
    return waiting.result()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
