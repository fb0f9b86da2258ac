"""From the event stream to the screen: drains the subscription and tells state and view.

One event costs a few attribute writes; drawing happens once a tick, however many events it holds.
"""

import logging
from collections.abc import Awaitable, Iterable
from typing import Literal, Protocol, assert_never

from agspec_tui.errors import AgspecError
from agspec_tui.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CacheRestored,
    CacheSaved,
    Calibrated,
    CandidateTested,
    CommandFinished,
    CommandStarted,
    ContextReported,
    DocumentIndexed,
    EditApplied,
    EditProposed,
    EditRefused,
    EditReverted,
    EngineFailed,
    EngineRestarted,
    Event,
    GenerationFinished,
    Looked,
    ModelLoaded,
    PlanProposed,
    PrefillProgressed,
    RequestRefused,
    SessionFailed,
    SessionStarted,
    StepCommitted,
    TaskFinished,
    TaskSubmitted,
    TokensCounted,
    TurnFinished,
    TurnStarted,
    VerdictReached,
    Warned,
)
from agspec_tui.session.bus import Subscription
from agspec_tui.session.load_notes import load_notes
from agspec_tui.tui import entries
from agspec_tui.tui.lines import Line, Span
from agspec_tui.tui.numbers import seconds
from agspec_tui.tui.provenance import Origin, origin_of
from agspec_tui.tui.state import UiState

Severity = Literal["information", "warning", "error"]
EngineGroup = (
    ModelLoaded | Calibrated | EngineFailed | EngineRestarted | RequestRefused | DocumentIndexed
)
ReplyGroup = PrefillProgressed | StepCommitted | GenerationFinished
TaskGroup = SessionStarted | TaskSubmitted | Warned | SessionFailed | TaskFinished
TurnGroup = TurnStarted | TurnFinished | Looked | PlanProposed
EditGroup = (
    EditProposed | EditRefused | ApprovalRequested | ApprovalAnswered | EditApplied | EditReverted
)
ContextGroup = ContextReported | TokensCounted | CacheSaved | CacheRestored
CommandGroup = CommandStarted | CommandFinished | CandidateTested | VerdictReached

_LOG = logging.getLogger(__name__)


class View(Protocol):
    """What the bridge asks of the screen."""

    def write(self, lines: Iterable[Line]) -> None:
        """Append whole lines to the transcript."""
        ...

    def stream(self, text: str, style: str, gutter: Span, origin: Origin | None = None) -> None:
        """Append streamed text to the transcript."""
        ...

    def ask(self, question: ApprovalRequested) -> None:
        """Put a question before the user."""
        ...

    def settled(self, call_id: int) -> None:
        """The question is answered; take it away if it is still there."""
        ...

    def alert(self, message: str, severity: Severity) -> None:
        """Tell the user wherever they look."""
        ...


class Bridge:
    """One consumer of a session's events."""

    def __init__(self, subscription: Subscription, state: UiState, view: View) -> None:
        self._subscription = subscription
        self._state = state
        self._view = view
        self._test_command = ""
        self._asks = ""
        self._beside: set[int] = set()  # generations whose text is not shown: one is enough

    def pump(self) -> int:
        """Take in all waiting events; returns how many. An event never ends the app."""
        events = self._subscription.drain()
        for event in events:
            try:
                self._dispatch(event)
            except Exception as error:  # the UI bridge: an event that cannot be shown is a line
                self.report(error)
        return len(events)

    async def attempt(self, work: Awaitable[None], *, quiet: bool = False) -> Exception | None:
        """Await something of the session; a failure is shown, or only logged, and returned."""
        try:
            await work
        except Exception as error:  # the UI bridge: a failing session never ends the app
            if quiet:
                _LOG.error("failed while closing", exc_info=error)
            else:
                self.report(error)
            return error
        return None

    def report(self, error: Exception) -> None:
        """Show a failure as one line and a notification; what is not an `AgspecError` is logged."""
        if isinstance(error, AgspecError):
            message, hint = error.message, error.hint
        else:
            _LOG.error("unexpected failure", exc_info=error)
            message, hint = f"{type(error).__name__}: {error}", "this is a bug; the log has more"
        self._view.write(entries.failure(message, hint))
        self._view.alert(message, "error")

    def _dispatch(self, event: Event) -> None:
        match event:
            case PrefillProgressed() | StepCommitted() | GenerationFinished():
                self._reply(event)
            case TurnStarted() | TurnFinished() | Looked() | PlanProposed():
                self._turn(event)
            case (
                EditProposed()
                | EditRefused()
                | ApprovalRequested()
                | ApprovalAnswered()
                | EditApplied()
                | EditReverted()
            ):
                self._edit(event)
            case CommandStarted() | CommandFinished() | CandidateTested() | VerdictReached():
                self._command(event)
            case SessionStarted() | TaskSubmitted() | Warned() | SessionFailed() | TaskFinished():
                self._task(event)
            case (
                ModelLoaded()
                | Calibrated()
                | EngineFailed()
                | EngineRestarted()
                | RequestRefused()
                | DocumentIndexed()
            ):
                self._engine(event)
            case ContextReported() | TokensCounted() | CacheSaved() | CacheRestored():
                self._context(event)
            case _:
                assert_never(event)

    def _reply(self, event: ReplyGroup) -> None:
        match event:
            case StepCommitted():
                self._state.step(event)
                self._stream(event)
            case PrefillProgressed():
                self._state.prefilled(event)
            case GenerationFinished():
                self._state.generated(event)
            case _:
                assert_never(event)

    def _stream(self, event: StepCommitted) -> None:
        if event.request in self._beside:
            return
        gutter = Span("▎ ", entries.role_style(event.role))
        n_marked = event.n_accepted_chars
        if n_marked < 0:  # not counted: the step is marked whole, its bonus token included
            n_marked = len(event.text) if event.n_accepted else 0
        if event.text[:n_marked]:
            text = event.text[:n_marked]
            self._view.stream(text, "accepted", gutter, origin_of(event, text))
        if event.text[n_marked:]:
            self._view.stream(event.text[n_marked:], "", gutter)

    def _turn(self, event: TurnGroup) -> None:
        match event:
            case TurnStarted() if event.candidate > 1:
                self._beside.add(event.request)
            case TurnStarted():
                self._beside.clear()
                self._state.turn_started(event)
                self._view.write(entries.heading(event))
            case TurnFinished():
                self._state.turn_finished(event)
                self._view.write(entries.turn_summary(event))
            case Looked():
                self._view.write(entries.note(f"{event.what}: {event.n_lines} lines"))
            case PlanProposed():
                self._view.write(entries.plan(event))
            case _:
                assert_never(event)

    def _edit(self, event: EditGroup) -> None:
        view, state = self._view, self._state
        match event:
            case EditProposed():
                view.write(entries.edit(event))
            case EditRefused():
                view.write(entries.warning(f"edit refused: {event.message}", "nothing was written"))
            case ApprovalRequested():
                state.activity = "waiting for approval"
                self._asks = event.asks
                view.ask(event)
            case ApprovalAnswered():
                state.activity = "working"
                if event.approved and self._asks == "edit":
                    state.activity = "writing"
                view.settled(event.call_id)
                view.write(entries.answered(event))
            case EditApplied():
                view.write(entries.note(f"wrote {', '.join(event.files)}"))
            case EditReverted():
                view.write(entries.note(f"put back {', '.join(event.files)}: {event.reason}"))
            case _:
                assert_never(event)

    def _command(self, event: CommandGroup) -> None:
        match event:
            case CommandStarted():
                testing = event.command == self._test_command
                self._state.activity = "running tests" if testing else "running a command"
                self._view.write(entries.command_started(event.command))
            case CommandFinished():
                self._state.activity = "working"
                self._view.write(entries.command_finished(event))
            case CandidateTested():
                self._state.activity = "testing patches"
                self._view.write(entries.candidate(event))
            case VerdictReached():
                self._view.write(entries.verdict(event))
            case _:
                assert_never(event)

    def _task(self, event: TaskGroup) -> None:
        match event:
            case SessionStarted():
                self._state.session_started(event)
                self._test_command = event.test_command
                self._view.write(entries.welcome(event))
            case TaskSubmitted():
                self._state.task_started()
                self._view.write(entries.task(event))
            case Warned():
                self._state.lasting = event.lasting or self._state.lasting
                self._view.write(entries.warning(event.message, event.hint))
            case SessionFailed():
                self._state.task_ended(None)
                self._view.write(entries.failure(event.message, event.hint))
                self._view.alert(event.message, "error")
            case TaskFinished():
                self._state.task_ended(event)
                self._view.write(entries.finished(event))
            case _:
                assert_never(event)

    def _engine(self, event: EngineGroup) -> None:
        view = self._view
        match event:
            case ModelLoaded():
                self._state.model_loaded(event)
                view.write(entries.note(f"loaded in {seconds(event.load_s)}: {event.device}"))
                for message, hint in load_notes(event):
                    view.write(entries.warning(message, hint))
            case Calibrated():
                self._state.calibrated(event)
                view.write(entries.calibrated(event))
            case EngineFailed():
                sentence = entries.engine_ended(event)
                self._state.engine_failed(sentence)
                hint = f"{event.hint}; log: {event.log_path}" if event.log_path else event.hint
                view.write(entries.failure(sentence, hint))
                view.alert(sentence, "error")
            case EngineRestarted():
                self._state.engine_error = ""
                view.write(entries.note("the engine runs again; it reads the prompt and goes on"))
                view.alert("the engine runs again", "information")
            case RequestRefused():
                view.write(entries.warning(event.message, event.hint))
            case DocumentIndexed():
                if event.skipped:
                    view.write(entries.note(f"{event.path} not indexed: {event.skipped}"))
            case _:
                assert_never(event)

    def _context(self, event: ContextGroup) -> None:
        view = self._view
        match event:
            case ContextReported():
                view.write(entries.context(event))
            case CacheSaved():
                view.write(entries.note(f"saved what was read: {event.n_tokens} tokens"))
            case CacheRestored():
                view.write(entries.note(f"took up {event.n_tokens} tokens that were read before"))
                for line in event.notes:
                    view.write(entries.note(f"not taken up: {line}"))
            case TokensCounted():
                """For whoever asked."""
            case _:
                assert_never(event)
