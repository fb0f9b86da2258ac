"""The report of one task, collected from the event stream alone."""

from typing import Any

import msgspec

from agspec_tui.events import (
    CommandFinished,
    EditProposed,
    EditRefused,
    Event,
    SessionFailed,
    SessionStarted,
    TaskFinished,
    TaskSubmitted,
    TurnFinished,
    VerdictReached,
)


class TestOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of one run of the test command."""

    __test__ = False  # pytest must not collect it

    passed: int
    """Tests that passed; −1 if the output did not say."""
    failed: int
    """Tests that failed or raised; −1 if the output did not say."""
    command: str
    """The test command."""


class TestOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The tests before the first edit, and for the files as they were left."""

    __test__ = False

    before: TestOutcome
    """With the files as they were found."""
    after: TestOutcome
    """With the files as they were left."""


class TurnRow(msgspec.Struct, frozen=True, kw_only=True):
    """One reply of one role."""

    role: str
    """Who spoke."""
    turn: int
    """Turn within the session, from 1."""
    n_tokens: int
    """Tokens generated."""
    n_steps: int
    """Target passes, prefill left out."""
    n_drafted: int
    """ΣD."""
    n_accepted: int
    """ΣA."""
    accept_length: float
    """Mean of A + 1 over steps: tokens per target pass; 1.0 is plain decoding."""
    rejected: int
    """ΣD − ΣA."""
    tok_per_s: float
    """Decoding rate, prefill left out."""
    n_prompt: int
    """Prompt tokens."""
    n_reused: int
    """Of those, taken from the cache."""
    alpha: float
    """α of the role at the end."""
    candidate: int = 0
    """Number of the patch among those that are made at once, from 1; 0 if it is the only one."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One edit that was tried."""

    turn: int
    """Turn within the session."""
    form: str
    """Edit form asked for."""
    files: tuple[str, ...]
    """Files it would change; empty if it could not be landed."""
    result: str
    """`PASS`, or why it did not do."""
    diff: str
    """The edit; empty if it could not be landed."""


class TaskReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `fix --json` writes."""

    schema: int
    """Number of this format; 1."""
    status: str
    """`fixed`, `not_fixed`, `edited`, `answered`, `planned`, `cancelled` or `failed`."""
    model: str
    """The model's name."""
    tests: TestOutcomes
    """The tests before and after."""
    turns: tuple[TurnRow, ...]
    """Every reply, in order."""
    diff: str
    """Unified diff of all that is changed on disk; empty if nothing is."""
    wall_s: float
    """Seconds from the submitted task to its end."""
    egress: int
    """Most internet sockets seen open at the ends of turns, in this process and the engine's."""
    tried: tuple[Attempt, ...]
    """Every edit that was tried, the last one included."""
    summary: str
    """What was done or tried, in a few lines."""


_UNKNOWN = TestOutcome(passed=-1, failed=-1, command="")


class ReportBuilder:
    """Takes events as they come; `document` is the report of the last task so far."""

    def __init__(self) -> None:
        self._model = ""
        self._clear()

    def _clear(self) -> None:
        self._before: TestOutcome | None = None
        self._last = _UNKNOWN
        self._turns: list[TurnRow] = []
        self._tried: list[Attempt] = []
        self._finished: TaskFinished | None = None
        self._failure = ""

    def add(self, event: Event) -> None:
        """Take one event."""
        match event:
            case SessionStarted():
                self._model = event.model
            case TaskSubmitted():
                self._clear()
            case CommandFinished():
                self._last = TestOutcome(
                    passed=event.passed, failed=event.failed, command=event.command
                )
                self._before = self._before or self._last
            case TurnFinished():
                self._turns.append(_row(event))
            case EditProposed() | EditRefused():
                self._tried.append(_attempt(event))
            case VerdictReached() if self._tried:
                self._settle("PASS" if event.passed else f"FAIL: {event.reason}")
            case SessionFailed():
                self._failure = event.message
            case TaskFinished():
                self._finished = event
            case _:
                pass

    def _settle(self, result: str) -> None:
        """Write the result of the last attempt."""
        self._tried[-1] = msgspec.structs.replace(self._tried[-1], result=result)

    @property
    def status(self) -> str:
        """Status of the last task; empty while it runs."""
        return self._finished.status if self._finished else ""

    def document(self, egress: int) -> TaskReport:
        """The report of the last task.

        Args:
            egress: the most internet sockets seen.
        """
        before = self._before or _UNKNOWN
        finished = self._finished
        kept = finished is not None and bool(finished.diff)
        return TaskReport(
            schema=1,
            status=finished.status if finished else "failed",
            model=self._model,
            tests=TestOutcomes(before=before, after=self._last if kept else before),
            turns=tuple(self._turns),
            diff=finished.diff if finished else "",
            wall_s=round(finished.wall_s, 3) if finished else 0.0,
            egress=egress,
            tried=tuple(self._tried),
            summary=finished.summary if finished else self._failure,
        )


def encode(report: TaskReport) -> str:
    """The report as indented JSON, with a newline at its end."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def _row(event: TurnFinished) -> TurnRow:
    values: dict[str, Any] = {name: getattr(event, name) for name in TurnRow.__struct_fields__}
    for name in ("accept_length", "tok_per_s", "alpha"):
        values[name] = round(values[name], 3)
    return TurnRow(**values)


def _attempt(event: EditProposed | EditRefused) -> Attempt:
    if isinstance(event, EditRefused):
        return Attempt(turn=event.turn, form=event.form, files=(), result=event.message, diff="")
    return Attempt(
        turn=event.turn, form=event.form, files=event.files, result="not tested", diff=event.diff
    )
