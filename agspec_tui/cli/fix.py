"""`agspec-tui fix`: one issue, without a screen."""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

import click
import msgspec

from agspec_tui.cli.engine_options import candidates_option, engine_options
from agspec_tui.cli.output import approve_option, record_option
from agspec_tui.cli.progress import Progress
from agspec_tui.commands import AnswerApproval, EditPlan, Interrupt, SubmitTask
from agspec_tui.config import ApprovalMode, Config
from agspec_tui.errors import AgspecError, UsageError
from agspec_tui.events import ApprovalRequested, Event, TaskFinished
from agspec_tui.session.editor import edited, editor
from agspec_tui.session.plan_text import HELP, plan_text, read_plan_text
from agspec_tui.session.repo import check_repo, is_secret, list_files
from agspec_tui.session.report import ReportBuilder, encode
from agspec_tui.session.session import Session
from agspec_tui.session.testing import given

_CODES = {"fixed": 0, "edited": 0, "answered": 0, "planned": 0, "not_fixed": 1, "cancelled": 1}
_INTERRUPTED = 130


@click.command("fix")
@click.argument("repo", type=click.Path(path_type=Path))
@click.option("--issue", required=True, metavar="FILE|TEXT", help="The issue, or a file with it.")
@click.option("--test", "test_command", metavar="CMD", help="Test command; by default found.")
@click.option("--yes", is_flag=True, help="Do all without asking: --approve full-auto.")
@approve_option
@click.option("--json", "json_file", metavar="FILE", help="Write a report to FILE; - is stdout.")
@engine_options
@candidates_option
@record_option
def fix(
    config: Config,
    repo: Path,
    issue: str,
    test_command: str | None,
    yes: bool,
    approve: ApprovalMode | None,
    json_file: str | None,
    record: Path | None,
) -> int:
    """Fix an issue in REPO without a screen; progress goes to stderr.

    Without tests an edit is made and stays without a verdict; a question is answered.

    Exit code: 0 fixed, edited, answered or planned, 1 not fixed (the files are as they were),
    2 wrong usage, 3 engine failed, 130 interrupted.
    """
    root = check_repo(repo)
    text = read_issue(issue)
    if test_command:
        given(test_command)
    if not list_files(root):
        raise UsageError(f"no file to work on in {repo}", "is it the right folder?")
    if yes and approve not in (None, "full-auto"):
        raise UsageError(f"--yes and --approve {approve} contradict each other", "give one of them")
    mode = "full-auto" if yes else approve or config.approve
    if mode == "ask" and not sys.stdin.isatty():
        raise UsageError("edits need a yes, and there is no terminal to ask", "add --yes")
    if json_file is not None:
        check_writable(json_file)
    config = msgspec.structs.replace(config, approve=mode)
    # Whoever says --yes may have gone away.
    can_ask = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    session = Session(root, config, test_command=test_command, record=record, can_ask=can_ask)
    return work_headless(session, text, json_file)


def work_headless(session: Session, issue: str, json_file: str | None) -> int:
    """Work on an issue without a screen; returns the exit code.

    Raises:
        AgspecError: the session could not start, or the task could not go on.
    """
    return asyncio.run(_Run(session, json_file).run(issue))


def read_issue(issue: str) -> str:
    """The issue's text: the content of a file of this name, else the argument itself.

    Raises:
        UsageError: it is empty, or the file cannot be read.
    """
    if not issue.strip():
        raise UsageError("the issue is empty", "--issue FILE or --issue 'what is wrong'")
    text = issue
    try:
        path = Path(issue)
        if path.is_dir():
            raise UsageError(f"the issue {issue} is a folder", "--issue FILE or TEXT")
        if path.is_file():
            if is_secret(str(path)) or is_secret(str(path.resolve())):
                raise UsageError(f"the issue {issue} may hold secrets", "--issue FILE or TEXT")
            text = path.read_text(encoding="utf-8-sig")
            issue = f"file {issue}"
    except UnicodeDecodeError as error:
        raise UsageError(f"the issue {issue} is not UTF-8 text", "--issue FILE or TEXT") from error
    except (OSError, ValueError) as error:
        # Text too long or odd for a name of a file is no file, and so the issue itself.
        if isinstance(error, PermissionError):
            raise UsageError(f"the issue {issue} cannot be read", "--issue FILE or TEXT") from error
    if not text.strip():
        raise UsageError(f"the issue is empty ({issue})", "write what is wrong into it")
    return text


def check_writable(json_file: str) -> None:
    """Refuse a report that could not be written, before the work and not after it.

    Args:
        json_file: its path, or `-` for stdout.

    Raises:
        UsageError: it is a folder, or its folder does not exist.
    """
    path = Path(json_file)
    if json_file != "-" and (path.is_dir() or not path.parent.is_dir()):
        raise UsageError(f"{path} cannot be written", "--json FILE, in a folder that exists")


class _Run:
    """One task in one session, its events printed as lines."""

    def __init__(self, session: Session, json_file: str | None) -> None:
        self._session = session
        self._json_file = json_file
        self._events = session.bus.subscribe()
        self._report = ReportBuilder()
        self._progress = Progress(sys.stderr)
        self._n_signals = 0

    async def run(self, text: str) -> int:
        """Load, work, report; returns the exit code.

        Raises:
            AgspecError: the session could not start, or the task could not go on.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, self._interrupt)
        starting = asyncio.ensure_future(self._session.start())
        try:
            finished = await self._until_finished(starting, text)
        finally:
            starting.cancel()
            with contextlib.suppress(asyncio.CancelledError, AgspecError):
                await starting
            await self._session.close()
        self._drain()
        if finished is None:
            return _INTERRUPTED
        self._write_report()
        if self._session.failure is not None:
            raise self._session.failure
        return _INTERRUPTED if self._n_signals else _CODES.get(finished.status, 1)

    async def _until_finished(
        self, starting: asyncio.Future[None], text: str
    ) -> TaskFinished | None:
        """Handle events until the task ends; None if a signal came before it began."""
        while not starting.done():
            self._drain()
            await asyncio.wait({starting}, timeout=0.2)
            if self._n_signals:
                return None
        await starting
        await self._session.send(SubmitTask(text=text))
        while True:
            await self._events.wait()
            for event in self._drain():
                if isinstance(event, ApprovalRequested):
                    await self._ask(event)
                elif isinstance(event, TaskFinished):
                    return event

    def _drain(self) -> list[Event]:
        events = self._events.drain()
        for event in events:
            self._report.add(event)
            self._progress.show(event)
        return events

    def _interrupt(self) -> None:
        self._n_signals += 1
        self._progress.say("interrupted; putting the files back")
        task = asyncio.ensure_future(self._session.send(Interrupt()))
        task.add_done_callback(lambda done: done.exception())

    async def _ask(self, event: ApprovalRequested) -> None:
        """Ask on the terminal; anything but yes means no, and so does no terminal.

        A plan can be edited too, and is asked about again if it cannot be read.
        """
        if not sys.stdin.isatty():
            self._progress.say(f"no terminal to ask: {event.summary}? no")
            await self._session.send(AnswerApproval(call_id=event.call_id, approved=False))
            return
        for doubt in event.doubtful:
            self._progress.say(f"doubtful {doubt}")
        text = unchanged = plan_text(event.steps)
        may_edit = bool(event.steps and editor())
        while True:
            self._progress.ask(f"{event.summary}? [{'y/e/N' if may_edit else 'y/N'}] ")
            said = await self._line()
            if self._n_signals:
                return
            if not (may_edit and said in ("e", "edit")):
                break
            try:
                text = await self._edited(text)
                if text == unchanged:
                    self._progress.say("the plan is unchanged")
                    continue
                steps = read_plan_text(text)
            except UsageError as error:
                self._progress.say(f"warning  {error.one_line()}")
                continue
            if not self._n_signals:
                await self._session.send(EditPlan(call_id=event.call_id, steps=steps))
            return
        approved = said in ("y", "yes")
        await self._session.send(AnswerApproval(call_id=event.call_id, approved=approved))

    async def _edited(self, text: str) -> str:
        """The text as the person leaves it in their editor, where Ctrl+C is the editor's."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(signal.SIGINT, lambda: None)
        try:
            return await edited(text, HELP, lambda: bool(self._n_signals))
        finally:
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(signal.SIGINT, self._interrupt)

    async def _line(self) -> str:
        """What is typed, in small letters; empty if a signal or the end of the input comes."""
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()

        def read() -> None:
            loop.remove_reader(sys.stdin.fileno())
            if not line.done():
                line.set_result(sys.stdin.readline())

        # Read by the loop and not by a thread, which could not be stopped by an interrupt.
        loop.add_reader(sys.stdin.fileno(), read)
        try:
            while not line.done() and not self._n_signals:
                await asyncio.wait({line}, timeout=0.1)
        finally:
            loop.remove_reader(sys.stdin.fileno())
        return line.result().strip().lower() if line.done() else ""

    def _write_report(self) -> None:
        if self._json_file is None:
            return
        text = encode(self._report.document(self._session.egress.n_max))
        if self._json_file == "-":
            click.echo(text, nl=False)
            return
        try:
            Path(self._json_file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{self._json_file} cannot be written: {error.strerror}", "--json FILE"
            ) from error
