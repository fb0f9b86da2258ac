"""`agspec-tui [REPO]`: the terminal workspace."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from agspec_tui.cli.engine_options import candidates_option, engine_options
from agspec_tui.cli.fix import read_issue
from agspec_tui.cli.output import approve_option, record_option
from agspec_tui.config import ApprovalMode, Config
from agspec_tui.errors import UsageError
from agspec_tui.session.repo import check_repo
from agspec_tui.session.session import Session
from agspec_tui.session.testing import given

if TYPE_CHECKING:
    from agspec_tui.tui.app import Outcome


@click.command("open-tui", hidden=True)
@click.argument("repo", type=click.Path(path_type=Path), default=Path())
@engine_options
@candidates_option
@click.option("--issue", metavar="FILE|TEXT", help="Start with this issue, or a file with it.")
@click.option("--test", "test_command", metavar="CMD", help="Test command; by default found.")
@approve_option
@record_option
def open_tui(
    config: Config,
    repo: Path,
    issue: str | None,
    test_command: str | None,
    approve: ApprovalMode | None,
    record: Path | None,
) -> int:
    """Open the terminal workspace on REPO, by default the current folder."""
    root = check_repo(repo)
    text = "" if issue is None else read_issue(issue)
    if test_command:
        given(test_command)
    if approve is not None:
        config = msgspec.structs.replace(config, approve=approve)
    session = Session(root, config, test_command=test_command, record=record, can_ask=True)
    return open_screen(session, config, root, text, test_command)


def open_screen(
    session: Session,
    config: Config,
    root: Path,
    issue: str,
    test_command: str | None = None,
) -> int:
    """Open the workspace on a session; returns the exit code.

    Args:
        session: not started.
        config: its settings.
        root: its repository.
        issue: the first task; empty for none.
        test_command: that of the session, where it was given.

    Raises:
        UsageError: there is no terminal.
        ModelError: there is no such model.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "the screen needs a terminal", "without one: agspec-tui fix REPO --issue FILE|TEXT"
        )
    # Imported here: nothing above needs the screen, and refusing is then quick.
    from agspec_tui.models.resolve import resolve
    from agspec_tui.tui.app import AgspecApp

    name = resolve(config.model).name
    app = AgspecApp(session, repo=root, model=name, theme=config.theme, issue=issue, config=config)
    outcome = app.run()
    if outcome is not None and outcome.then is not None and outcome.then.kind == "model":
        config = msgspec.structs.replace(config, model=outcome.then.name)
        again = Session(root, config, test_command=test_command, can_ask=True)
        return open_screen(again, config, root, "", test_command)
    return end_of(outcome, app.return_code)


def end_of(outcome: "Outcome | None", return_code: int | None) -> int:
    """Say what a screen left behind, and open what the person chose there; the exit code.

    Args:
        outcome: what it left; None if it broke off, which it has said.
        return_code: of the screen that broke off.
    """
    if outcome is None:
        return return_code or 1
    if outcome.then is None:
        click.echo(outcome.summary)
        return outcome.exit_code
    from agspec_tui.cli import sessions  # which opens screens itself

    if outcome.then.kind == "replay":
        return sessions.replay_stored(outcome.then.name)
    return sessions.go_on_with(outcome.then.name)
