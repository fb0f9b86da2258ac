"""The main screen: lays out the widgets, shows what the bridge tells, and sends commands."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Footer, Static

from agspec_tui.commands import (
    AnswerApproval,
    EditPlan,
    Interrupt,
    Redo,
    SessionCommand,
    SubmitTask,
    Undo,
)
from agspec_tui.config import Config
from agspec_tui.errors import AgspecError, EngineError
from agspec_tui.events import ApprovalRequested
from agspec_tui.session.repo import list_files
from agspec_tui.tui import entries
from agspec_tui.tui.bridge import Bridge
from agspec_tui.tui.complete import COMMANDS, wanted
from agspec_tui.tui.lines import Line, Span
from agspec_tui.tui.measures import DEFINITION, MEASURES
from agspec_tui.tui.pace import Pace
from agspec_tui.tui.provenance import Origin
from agspec_tui.tui.screens.approval import Answer, ApprovalScreen
from agspec_tui.tui.screens.diff_review import DiffScreen
from agspec_tui.tui.screens.openers import Openers
from agspec_tui.tui.screens.plan import PlanScreen
from agspec_tui.tui.screens.speculation import turn_details
from agspec_tui.tui.source import Source
from agspec_tui.tui.state import UiState
from agspec_tui.tui.text import one_line
from agspec_tui.tui.widgets.completion import Completion
from agspec_tui.tui.widgets.header import HeaderStrip
from agspec_tui.tui.widgets.panels import Meters, Panel
from agspec_tui.tui.widgets.prompt import Prompt
from agspec_tui.tui.widgets.status import StatusLine
from agspec_tui.tui.widgets.transcript import Transcript

TICK_S = 0.1
"""How often it is looked whether a frame is due, in seconds."""
PANEL_S = 1.0
"""Least time from one drawing of the charts to the next: a core spent on drawing is a core the
model lacks."""


class MainScreen(Openers):
    """Header, transcript, panels, prompt."""

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - its type is Textual's
        (0, "-narrow"),
        (100, "-normal"),
        (160, "-roomy"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "interrupt", "Stop", key_display="Esc"),
        Binding("f2", "marks", "Marks", key_display="F2"),
        Binding("f3", "definition", "Meaning", key_display="F3"),
        Binding("f5", "details", "Details", key_display="F5"),
        Binding("f9", "speculation", "Speculation", key_display="F9"),
        # Before the prompt, which would select all of its text.
        Binding("f7", "undo", "Undo", key_display="F7", show=False, priority=True),
        Binding("f8", "redo", "Redo", key_display="F8", show=False),
        Binding("m", "marks", show=False),
        Binding("u", "undo", show=False),
        Binding("d", "definition", show=False),
        Binding("i", "details", show=False),
        Binding("p", "provenance", show=False),
        Binding("ctrl+o", "provenance", show=False, priority=True),
        Binding("ctrl+g", "editor", show=False, priority=True),
        Binding("l", "log", show=False),
        Binding("s", "speculation", show=False),
        Binding("pageup", "pages(-1)", show=False),
        Binding("pagedown", "pages(1)", show=False),
        Binding("end", "follow", show=False),
    ]

    def __init__(
        self,
        source: Source,
        state: UiState,
        *,
        repo: Path,
        issue: str,
        clock: Callable[[], float],
        config: Config | None = None,
    ) -> None:
        super().__init__(state, repo, config)
        self._source = source
        self._clock = clock
        if issue:
            state.waiting.append(issue)
        self._started_up = False
        self._question: ApprovalRequested | None = None
        self._pace = Pace()
        self._charts_due_s = 0.0
        self._stale = True
        self.bridge = Bridge(source.bus.subscribe(), state, self)
        self.exit_code = 0

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield HeaderStrip(self._state)
        yield Meters(self._state)
        with Horizontal(id="body"):
            yield Transcript(id="transcript")
            with Vertical(id="panels"):
                for measure in MEASURES:
                    yield Panel(self._state, measure)
        yield Static(id="banner", markup=False)
        yield Static(DEFINITION, id="definition", markup=False)
        yield Static(id="details", markup=False)
        yield StatusLine(self._state)
        completion = Completion()
        yield completion
        yield Prompt(completion, id="prompt")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin to listen, then make the source ready while the screen is up."""
        self.focus_first()
        self._files_wanted()
        self.set_interval(TICK_S, self.tick)
        self.run_worker(self._start(), group="start", exit_on_error=False)

    def focus_first(self) -> None:
        """Focus what is used first."""
        self.query_one(Prompt).focus()

    @on(Prompt.FilesWanted)
    def _files_wanted(self) -> None:
        self._list_files()

    @work(group="files", exclusive=True, exit_on_error=False)
    async def _list_files(self) -> None:
        """Names for `@file`; a folder that is none of git's or ours has none."""
        with contextlib.suppress(AgspecError, OSError):
            self.query_one(Prompt).renew(await asyncio.to_thread(list_files, self._repo))

    def opening_note(self) -> str:
        """What is being done while the source is made ready."""
        model = one_line(self._state.model)
        return f"loading {model}…" if model else "loading the model…"

    async def _start(self) -> None:
        self.write(entries.note(self.opening_note()))
        error = await self.bridge.attempt(self._source.start())
        if error is not None:
            self.exit_code = 3 if isinstance(error, EngineError) else 2
            self._state.activity = "the session could not start; q quits"
            self._draw_numbers()
            return
        self._started_up = True
        self._send_waiting()

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def tick(self) -> None:
        """Where a frame is due, take in events and draw what changed, the charts less often."""
        now = time.monotonic()
        if now >= self._pace.due_s:
            cpu_s = time.process_time()
            if self._take_in():
                self._pace.begins(now, cpu_s)
                self._stale = True
                self.query_one(Transcript).settle()
                self._draw_numbers()
                self.call_after_refresh(self._frame_ends)
            if self._stale and now >= self._charts_due_s:
                self._draw_charts()
                self._stale, self._charts_due_s = False, now + PANEL_S
        self._send_waiting()

    def _take_in(self) -> int:
        """Take in events and open what is asked; returns how many they were.

        Once the work is done the next issue can be typed: in the transcript its letters would be
        commands. Who reads further up is left there.
        """
        worked = self._state.working
        n_events = self.bridge.pump()
        self._open_question()
        transcript = self.query_one(Transcript)
        ended = worked and not self._state.working
        if ended and self.focused is transcript and transcript.following:
            self.focus_first()
        return n_events

    def _frame_ends(self) -> None:
        self._pace.ends(time.monotonic(), time.process_time())

    def draw(self) -> None:
        """Take in events and draw everything now."""
        self._take_in()
        self._draw_numbers()
        self._draw_charts()

    def _draw_numbers(self) -> None:
        self.query_one(HeaderStrip).refresh()
        self._draw_status()
        banner = self.query_one("#banner", Static)
        error = self._state.engine_error
        banner.set_class(bool(error), "-shown")
        if error:
            banner.update(Content(f"✗ {error}"))

    def _draw_status(self) -> None:
        following = self.query_one(Transcript).following
        self.query_one(StatusLine).show(following=following)

    def _draw_charts(self) -> None:
        self.query_one(Meters).show()
        for panel in self.query(Panel):
            panel.show()
        details = self.query_one("#details", Static)
        if details.has_class("-shown"):
            details.update(turn_details(self._state, self.size.width))

    # ── what the bridge asks ─────────────────────────────────────────────────────────────────────

    def write(self, lines: Iterable[Line]) -> None:
        """Append whole lines to the transcript."""
        self.query_one(Transcript).extend(lines)

    def stream(self, text: str, style: str, gutter: Span, origin: Origin | None = None) -> None:
        """Append streamed text to the transcript."""
        self.query_one(Transcript).stream(text, style, gutter, origin)

    def ask(self, question: ApprovalRequested) -> None:
        """Keep the question; it is opened once all waiting events have been taken in."""
        self._question = question

    def _open_question(self) -> None:
        if self._question is None:
            return
        question, self._question = self._question, None

        def answered(answer: Answer) -> None:
            if isinstance(answer, tuple):
                self._send(EditPlan(call_id=question.call_id, steps=answer))
            elif isinstance(answer, AnswerApproval):
                self._send(answer)
            elif answer is not None:
                self._send(AnswerApproval(call_id=question.call_id, approved=answer))

        screen: type[ApprovalScreen] = PlanScreen if question.steps else ApprovalScreen
        if question.asks == "edit":
            screen = DiffScreen
        self.app.push_screen(screen(question, clock=self._clock), answered)

    def settled(self, call_id: int) -> None:
        """Close the approval if the question was answered elsewhere."""
        if self._question is not None and self._question.call_id == call_id:
            self._question = None
        for screen in self.app.screen_stack:
            if isinstance(screen, ApprovalScreen) and screen.call_id == call_id:
                screen.withdraw()

    # ── commands ─────────────────────────────────────────────────────────────────────────────────

    def _send(self, command: SessionCommand) -> None:
        self.run_worker(self._sending(command), group="send", exit_on_error=False)

    async def _sending(self, command: SessionCommand) -> None:
        error = await self.bridge.attempt(self._source.send(command))
        if error is not None and isinstance(command, Interrupt):
            self._state.stopping = False
        if error is not None and isinstance(command, SubmitTask):
            self._state.task_ended(None)

    @on(Prompt.Submitted)
    def _submit(self, message: Prompt.Submitted) -> None:
        if message.text in ("q", "quit", "exit"):
            self.run_worker(self.app.action_quit())
            return
        command = wanted(message.text)
        if command is not None and command.kind == "command":
            self._run_command(command.typed)
            return
        self._state.waiting.append(message.text)
        if self._state.working:
            self.alert(
                "it waits for the present task; Esc stops that and gives it back", "information"
            )
            self._draw_status()
        elif not self._started_up:
            self.write(entries.note("the task starts as soon as the model is loaded"))
        else:
            self._send_waiting()

    def _run_command(self, name: str) -> None:
        """Do what `/name` stands for; its beginning is enough if nothing else begins so."""
        found = [one for one in COMMANDS if one.startswith(name)]
        if name in COMMANDS or len(found) == 1:
            action, _ = COMMANDS[name if name in COMMANDS else found[0]]
            self.run_worker(self.run_action(action), group="command", exit_on_error=False)
        else:
            self.alert(f"/{name} is no command; there are /{', /'.join(COMMANDS)}", "warning")

    def _send_waiting(self) -> None:
        """Send the oldest task that waits, if the session is free for it."""
        if self._started_up and self._state.waiting and not self._state.working:
            self._state.task_started()  # until its first event says so
            self._send(SubmitTask(text=self._state.waiting.popleft()))
            self.query_one(Transcript).action_follow()
            self.query_one(Transcript).focus()

    def _give_back_waiting(self) -> None:
        """Put tasks that wait back into the prompt: whoever stops one wants none of the next."""
        if self._state.waiting and self._started_up:
            prompt = self.query_one(Prompt)
            texts = [*self._state.waiting, prompt.text]
            prompt.text = "\n\n".join(text for text in texts if text)
            self._state.waiting.clear()

    def action_interrupt(self) -> None:
        """Stop what is being done; the screen says so at once."""
        if self._state.working and not self._state.stopping:
            self._state.stopping = True
            self._give_back_waiting()
            self._draw_status()
            self._send(Interrupt())
        elif not self._started_up:  # the model may be being measured
            self._send(Interrupt())

    def action_undo(self) -> None:
        """Take the last turn that wrote something back."""
        self._send_started(Undo())

    def action_redo(self) -> None:
        """Bring back what the last undo took."""
        self._send_started(Redo())

    def _send_started(self, command: SessionCommand) -> None:
        """Send what an earlier session may be needed for, which is read while the model loads."""
        if self._started_up:
            self._send(command)
        else:
            self.alert("wait until the model is loaded", "warning")

    def action_marks(self) -> None:
        """Show or hide which text was drafted and accepted."""
        transcript = self.query_one(Transcript)
        transcript.marks = not transcript.marks
        word = "marked" if transcript.marks else "not marked"
        self.notify(f"drafted and accepted text is {word}", timeout=2, markup=False)

    def action_definition(self) -> None:
        """Show or hide what the numbers mean."""
        self.query_one("#definition").toggle_class("-shown")

    def action_details(self) -> None:
        """Show or hide what speculation did for this turn."""
        self.query_one("#details").toggle_class("-shown")
        self._draw_charts()

    @on(Prompt.Scrolled)
    def _scrolled(self, message: Prompt.Scrolled) -> None:
        self.action_pages(message.pages)
        self.query_one(Transcript).scroll_relative(y=message.lines, animate=False)

    def action_pages(self, pages: int) -> None:
        """Move the transcript by whole pages; up is negative."""
        transcript = self.query_one(Transcript)
        transcript.scroll_relative(y=pages * max(1, transcript.size.height - 1), animate=False)

    @on(Prompt.Follow)
    def action_follow(self) -> None:
        """Go to the end of the transcript and stay there."""
        self.query_one(Transcript).action_follow()

    @on(Transcript.FollowingChanged)
    def _following_changed(self) -> None:
        self._draw_status()

    @on(Prompt.QuitTyped)
    async def _quit_typed(self) -> None:
        await self.app.action_quit()
