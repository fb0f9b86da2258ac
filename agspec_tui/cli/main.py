"""The entry point `agspec-tui`: finds the command, and turns every failure into one line."""

import importlib
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType

import click

from agspec_tui import __version__
from agspec_tui.config import logs_dir
from agspec_tui.errors import AgspecError, EngineError

PROGRAM = "agspec-tui"

_COMMANDS: dict[str, tuple[str, str, str]] = {
    "fix": ("agspec_tui.cli.fix", "fix", "Fix an issue without a screen."),
    "eval": ("agspec_tui.cli.eval", "evaluate", "Count the issues fixed in a folder of tasks."),
    "bench": ("agspec_tui.cli.bench", "bench", "Measure tokens/s of drafting methods, live."),
    "replay": ("agspec_tui.cli.replay", "replay", "Replay recorded sessions, without a model."),
    "calibrate": ("agspec_tui.cli.calibrate", "calibrate", "Measure what drafts cost here."),
    "corpus": ("agspec_tui.cli.corpus", "corpus", "Build and check the global corpus."),
    "profile": ("agspec_tui.cli.profile", "profile", "Count how far drafts hold."),
    "sessions": ("agspec_tui.cli.sessions", "sessions", "List, resume and delete sessions."),
    "demo": ("agspec_tui.cli.demo", "demo", "Show a recorded session, without a model."),
    "models": ("agspec_tui.cli.models", "models", "List, pull and check models."),
}
"""Module, attribute and one-line help of each command; a module is imported when it is used."""

_DEFAULT = "open-tui"
_DEFAULT_COMMAND = ("agspec_tui.cli.tui", "open_tui")
_OWN_OPTIONS = ("--help", "-h", "--version")


class _LazyGroup(click.Group):
    """Imports a command when it runs; arguments that name none open the TUI."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == _DEFAULT:
            module, attribute = _DEFAULT_COMMAND
        elif cmd_name in _COMMANDS:
            module, attribute, _ = _COMMANDS[cmd_name]
        else:
            return None
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in _COMMANDS and args[0] not in _OWN_OPTIONS):
            _refuse_misspelt(args)
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(PROGRAM, "[REPO] [--model NAME|PATH] [--issue FILE|TEXT]")
        formatter.write_usage(PROGRAM, "COMMAND [ARGS]…", prefix="       ")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in _COMMANDS.items()])


def _refuse_misspelt(args: Sequence[str]) -> None:
    """A first word that is nearly a command and no folder is a misspelt command."""
    if not args or os.path.lexists(args[0]):
        return
    close = get_close_matches(args[0], _COMMANDS, n=1, cutoff=0.7)
    if close:
        raise click.UsageError(f"no command or folder {args[0]!r}; did you mean {close[0]!r}?")


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["--help", "-h"]})
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """Fix issues in a repository with agents on a local model.

    With a REPO (by default the current folder) or no command, the terminal workspace opens. It
    takes --test, --approve, --record, and the options of `fix` that say what the model runs on.
    """


def main() -> None:
    """Run the command line and leave with its exit code.

    0 done, 1 not fixed or an unexpected failure, 2 wrong usage, 3 engine failed, 130 interrupted.
    """
    sys.excepthook = _report_bug
    sys.exit(run(sys.argv[1:]))


def run(args: Sequence[str]) -> int:
    """Run one command line.

    Args:
        args: the arguments, without the program's name.

    Returns:
        The exit code. A command gives its own by returning it or by `Context.exit`. What is not
        the user's doing is raised; `main` logs it.
    """
    try:
        with cli.make_context(PROGRAM, list(args)) as ctx:
            code = cli.invoke(ctx)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        _complain(error.format_message().rstrip("."), _help_of(error))
        return 2
    except AgspecError as error:
        _complain(error.one_line())
        return 3 if isinstance(error, EngineError) else 2
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted")
        return 130
    except BrokenPipeError:
        _drop_output()
        return 141


def _help_of(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path.replace(f" {_DEFAULT}", "") if context else PROGRAM
    return f"see {path} --help"


def _complain(message: str, hint: str = "") -> None:
    """Print one line on stderr; control characters are shown, not sent to the terminal."""
    line = " ".join((f"{message} ({hint})" if hint else message).split())
    safe = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    try:
        print(f"error: {safe}", file=sys.stderr)
    except BrokenPipeError:
        return


def _drop_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _report_bug(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Log an exception that nothing expected; the interpreter then leaves with exit code 1."""
    _complain(f"unexpected {kind.__name__}", f"details in {_log(error)}")


def _log(error: BaseException) -> Path:
    """Write a traceback to a new log file and return its path."""
    name = f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    text = "".join(traceback.format_exception(error))
    for folder in (logs_dir(), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / name
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError:
            continue
        return path
    print(text, file=sys.stderr)
    return Path(os.devnull)
