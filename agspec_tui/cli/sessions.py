"""`agspec-tui sessions`: list, show, resume, replay, export, undo, redo, delete."""

import asyncio
import base64
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from agspec_tui.cli.demo import headless_option, play, speed_option, step_option
from agspec_tui.cli.fix import check_writable, read_issue, work_headless
from agspec_tui.cli.output import printable, table, write_json
from agspec_tui.cli.progress import Progress
from agspec_tui.cli.tui import open_screen
from agspec_tui.config import Config, load, sessions_dir
from agspec_tui.errors import ConfigError, UsageError
from agspec_tui.events import TaskSubmitted
from agspec_tui.models.plan import in_units
from agspec_tui.session.repo import check_repo
from agspec_tui.session.session import Session
from agspec_tui.session.stored import (
    Content,
    StoredEdit,
    Summary,
    delete_session,
    find_session,
    list_sessions,
    read_session,
    status_of,
)
from agspec_tui.session.storing import Earlier, read_earlier, undo_stored

_SCHEMA = 1
_ID = click.argument("name", metavar="ID")


@click.group()
def sessions() -> None:
    """List, resume and delete stored sessions.

    A session is stored from its first task on, in a file of its own in your data folder that you
    alone can read: issues, replies, plans, command output, settings, and every edit with the file
    before and after. Nothing of it is sent anywhere. `keep_sessions = false` in config.toml stores
    none. ID is the name of a session, or its beginning.
    """


@sessions.command("list")
@click.option("--json", "json_file", metavar="FILE", help="Write JSON to FILE; - is stdout.")
def list_stored(json_file: str | None) -> None:
    """List stored sessions, the newest first."""
    found = list_sessions(sessions_dir())
    if json_file is not None:
        rows = [_row(one) for one in found]
        write_json({"schema": _SCHEMA, "folder": str(sessions_dir()), "sessions": rows}, json_file)
        return
    good = [one for one in found if not one.fault]
    if good:
        head = ("id", "last used", "status", "tasks", "size", "repository", "first task")
        table(head, [_cells(one) for one in good])
    elif not found:
        click.echo("no stored sessions")
    for one in found:
        if one.fault:
            click.echo(f"not usable: {printable(one.fault)}", err=True)


@sessions.command("show")
@_ID
def show(name: str) -> None:
    """Print a session: what was asked, planned, changed and run."""
    path = find_session(sessions_dir(), name)
    content = read_session(path)
    progress = Progress(sys.stdout)
    if content.meta is not None:
        progress.say(f"session  {content.meta.session_id}, {_when(content.meta.started_s)}")
        progress.say(f"folder   {content.meta.repo}")
    for event in content.events:
        if isinstance(event, TaskSubmitted):
            for line in event.text.strip().split("\n"):
                progress.say(f"issue    {line}")
        progress.show(event)
    for edit in content.edits:
        turn = f" turn {edit.turn}" if edit.turn else ""
        progress.say(f"{edit.kind:8} {edit.path}:{turn} {_size(edit.before)} → {_size(edit.after)}")
    _say_notes(path, content)


@sessions.command("export")
@_ID
@click.option(
    "--json", "json_file", metavar="FILE", default="-", help="The file; by default stdout."
)
def export(name: str, json_file: str) -> None:
    """Write a session as one JSON document, as far as it can be read."""
    path = find_session(sessions_dir(), name)
    content = read_session(path)
    meta = content.meta
    write_json(
        {
            "schema": _SCHEMA,
            "id": path.stem,
            "repo": meta.repo if meta else "",
            "model": meta.model if meta else "",
            "test_command": meta.test_command if meta else "",
            "started_s": meta.started_s if meta else 0.0,
            "settings": msgspec.json.decode(meta.settings) if meta else {},
            "status": status_of(content.events),
            "notes": content.notes,
            "events": [msgspec.to_builtins(event) for event in content.events],
            "edits": [_edit(edit) for edit in content.edits],
        },
        json_file,
    )
    _say_notes(path, content)


@sessions.command("resume")
@_ID
@click.option("--issue", metavar="FILE|TEXT", help="Go on with this issue, or a file with it.")
@click.option("--yes", is_flag=True, help="Without the screen, all unasked, as `fix --yes`.")
@click.option("--json", "json_file", metavar="FILE", help="Write a report to FILE; - is stdout.")
@click.option("--model", metavar="NAME|PATH", help="Another model than the session had.")
def resume(
    name: str, issue: str | None, yes: bool, json_file: str | None, model: str | None
) -> int:
    """Open the repository of a session again and go on where it was.

    The earlier transcript is shown, and its edits can be undone. A write that was cut off is ended
    first. With --yes, --issue is worked on without the screen, as by `fix`.
    """
    text = "" if issue is None else read_issue(issue)
    if json_file is not None and not yes:
        raise UsageError("a report is written of work without the screen", "add --yes")
    if yes and not text:
        raise UsageError("there is no issue to go on with", "add --issue FILE|TEXT")
    if json_file is not None:
        check_writable(json_file)
    earlier = read_earlier(find_session(sessions_dir(), name))
    if not yes:
        return _open_again(earlier, model, text)
    session, _, _ = _reopened(earlier, model, yes=True)
    return work_headless(session, text, json_file)


@sessions.command("replay")
@_ID
@speed_option(1.0)
@step_option
@headless_option
def replay(name: str, speed: float, step: bool, headless: bool) -> int:
    """Show a stored session again as it happened, without a model; nothing is changed."""
    return replay_stored(name, speed=speed, step=step, headless=headless)


def go_on_with(name: str) -> int:
    """Open a stored session as `sessions resume` does; returns the exit code."""
    return _open_again(read_earlier(find_session(sessions_dir(), name)), None, "")


def replay_stored(
    name: str, *, speed: float = 1.0, step: bool = False, headless: bool = False
) -> int:
    """Show a stored session as `sessions replay` does; returns the exit code."""
    path = find_session(sessions_dir(), name)
    content = read_session(path)
    if not content.events:
        raise UsageError(f"session {path.stem} holds no events", "agspec-tui sessions show ID")
    _say_notes(path, content)
    repo = Path(content.meta.repo) if content.meta else Path()
    return play(content.events, repo, speed=speed, step=step, headless=headless)


@sessions.command("undo")
@_ID
def undo(name: str) -> None:
    """Take the last turn of a session back; files that you changed since are left alone."""
    _take_back(name, again=False)


@sessions.command("redo")
@_ID
def redo(name: str) -> None:
    """Bring back what the last undo of a session took."""
    _take_back(name, again=True)


@sessions.command("delete")
@click.argument("names", metavar="ID…", nargs=-1, required=True)
def delete(names: Sequence[str]) -> None:
    """Remove sessions for good; the files of their repositories stay as they are."""
    for path in [find_session(sessions_dir(), name) for name in names]:
        delete_session(path)
        click.echo(f"removed {path.stem}")


def _open_again(earlier: Earlier, model: str | None, issue: str) -> int:
    session, config, root = _reopened(earlier, model, yes=False)
    return open_screen(session, config, root, issue, earlier.meta.test_command or None)


def _reopened(earlier: Earlier, model: str | None, *, yes: bool) -> tuple[Session, Config, Path]:
    """A stored session, its settings and its repository, to be gone on with."""
    root = check_repo(Path(earlier.meta.repo))
    config = _settings(earlier, model, yes=yes)
    session = Session(
        root,
        config,
        test_command=earlier.meta.test_command or None,
        earlier=earlier,
        can_ask=not yes,
    )
    return session, config, root


def _take_back(name: str, *, again: bool) -> None:
    path = find_session(sessions_dir(), name)
    progress = Progress(sys.stdout)
    for event in asyncio.run(undo_stored(path, again=again)):
        progress.show(event)


def _settings(earlier: Earlier, model: str | None, *, yes: bool) -> Config:
    """The settings of an earlier session; a key that is gone since makes today's be taken.

    What is done unasked is never taken from it, nor what is asked about: it is decided anew for
    each run.
    """
    mine = load()
    try:
        config = msgspec.json.decode(earlier.meta.settings, type=Config)
    except msgspec.DecodeError:
        config = mine
        click.echo("its settings are of another version; yours are taken", err=True)
    if not config.model and not model:
        raise ConfigError("the session names no model", "--model NAME|PATH")
    return msgspec.structs.replace(
        config,
        model=model or config.model,
        approve="full-auto" if yes else mine.approve,
        commands=mine.commands,
        review_plan=mine.review_plan,
    )


def _row(one: Summary) -> dict[str, object]:
    meta = one.meta
    return {
        "id": one.session_id,
        "status": one.status,
        "repo": meta.repo if meta else "",
        "model": meta.model if meta else "",
        "title": one.title,
        "n_tasks": one.n_tasks,
        "n_bytes": one.n_bytes,
        "started_s": meta.started_s if meta else 0.0,
        "changed_s": one.changed_s,
        "fault": one.fault,
    }


def _cells(one: Summary) -> tuple[str, ...]:
    title = one.title if len(one.title) <= 48 else f"{one.title[:47]}…"
    return (
        one.session_id,
        _when(one.changed_s),
        one.status.replace("_", " "),
        str(one.n_tasks),
        in_units(one.n_bytes),
        printable(one.meta.repo if one.meta else ""),
        printable(title),
    )


def _edit(edit: StoredEdit) -> dict[str, object]:
    return {
        "kind": edit.kind,
        "turn": edit.turn,
        "path": edit.path,
        "before": _content(edit.before),
        "after": _content(edit.after),
    }


def _content(content: bytes | None) -> dict[str, str] | None:
    """A file as JSON can hold it: its text, or its bytes in base64; None if there is none."""
    if content is None:
        return None
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _size(content: bytes | None) -> str:
    return "no file" if content is None else f"{len(content)} bytes"


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _say_notes(path: Path, content: Content) -> None:
    for note in content.notes:
        click.echo(f"{path.name}: {printable(note)}", err=True)
