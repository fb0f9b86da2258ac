"""What the transcript says about each event: one small function a kind, lines in and no widgets."""

import re
from collections.abc import Iterable, Iterator

from agspec_tui.events import (
    ApprovalAnswered,
    Calibrated,
    CandidateTested,
    CommandFinished,
    ContextReported,
    EditProposed,
    EngineFailed,
    PlanProposed,
    PlanStep,
    SessionStarted,
    TaskFinished,
    TaskSubmitted,
    TurnFinished,
    TurnStarted,
    VerdictReached,
)
from agspec_tui.tui.diff import DiffLine, FileChange, parse
from agspec_tui.tui.lines import Line, Span, line
from agspec_tui.tui.numbers import count, counted, seconds
from agspec_tui.tui.text import one_line

MAX_DIFF_LINES = 400
"""Lines of a diff shown in the transcript; the approval shows all of it."""
MAX_OUTPUT_LINES = 60
"""Lines of a command's output shown in the transcript: its end, where runners put the result."""

_QUIET = Span("  ", "")
_RULER = re.compile(r"([=_-])\1{3,}.*\1{4}$")  # a rule over the width of some other terminal
_PROGRESS = re.compile(r" {3,}(\[ *\d+%\])$")  # right-aligned on that other terminal
DIFF_STYLES = {
    "file": "file",
    "meta": "muted",
    "hunk": "hunk",
    "added": "added",
    "removed": "removed",
    "context": "",
}
"""Style of a line of a diff by its kind."""


def role_style(role: str) -> str:
    """Style of a role's marks; roles without one of their own share `role-other`."""
    return f"role-{role}" if role in ("planner", "coder", "executor") else "role-other"


def role_mark(role: str) -> str:
    """The role's initial: what names it where colour cannot."""
    return one_line(role)[:1].upper() or "?"


def welcome(event: SessionStarted) -> list[Line]:
    """The session is open: where, with whom, and how it tests."""
    tests = event.test_command or "no test command found"
    return [
        line(("repository  ", "muted"), event.repo),
        line(("tests       ", "muted"), tests),
        line(("roles       ", "muted"), " → ".join(event.roles)),
        *_limits(event),
        line(),
    ]


def _limits(event: SessionStarted) -> list[Line]:
    """What confines commands, and what is done unasked; nothing if the event does not say."""
    if not event.sandbox:
        return []
    return [
        line(("sandbox     ", "muted"), event.sandbox),
        line(("unasked     ", "muted"), event.approve),
    ]


def task(event: TaskSubmitted) -> list[Line]:
    """The issue in the user's words."""
    gutter = Span("› ", "task")
    return [line((text, "task"), gutter=gutter) for text in event.text.split("\n")]


def heading(event: TurnStarted) -> list[Line]:
    """Who speaks, in which turn, in which form."""
    style = role_style(event.role)
    form = f" · {event.form}" if event.form else ""
    return [
        line(),
        line(
            (f" {role_mark(event.role)} ", f"badge-{style}"),
            (f" {event.role}", style),
            (f"  turn {event.turn}{form}", "muted"),
        ),
    ]


def context(event: ContextReported) -> list[Line]:
    """How full the context is, and what had to be left out of it."""
    used = f"context {count(event.n_prompt)} + {count(event.n_reply)} of {count(event.n_ctx)}"
    made = [line((used, "muted"), gutter=_QUIET)]
    if event.dropped:
        left_out = f"! left out, to fit: {', '.join(event.dropped)}"
        made.append(line((left_out, "warning"), gutter=_QUIET))
    if event.summarised:
        summarised = f"! summarised, to fit: {', '.join(event.summarised)}"
        made.append(line((summarised, "warning"), gutter=_QUIET))
    return made


def turn_summary(event: TurnFinished) -> list[Line]:
    """The numbers of one turn, in one line."""
    parts = [
        f"{count(event.n_tokens)} tokens",
        f"{event.tok_per_s:.1f} tok/s",
        f"accept length {event.accept_length:.2f}",
        f"rejected {count(event.rejected)}/{count(event.n_drafted)}",
        f"reused {count(event.n_reused)}/{count(event.n_prompt)}",
    ]
    if not event.n_steps:
        parts = ["nothing was generated"]
    gutter = Span(f"  {event.candidate}. ", "muted") if event.candidate else _QUIET
    made = [line((" · ".join(parts), "muted"), gutter=gutter)]
    if event.broken_by:
        made.append(line((f"prefix broken by {event.broken_by}", "muted"), gutter=_QUIET))
    if event.stop_reason not in ("eog", "stop", ""):
        made.append(line((f"! stopped: {event.stop_reason}", "warning"), gutter=_QUIET))
    return made


def plan(event: PlanProposed) -> list[Line]:
    """The plan as a list."""
    return [line(("plan", "strong"), gutter=_QUIET), *steps(event.steps)]


def steps(plan: Iterable[PlanStep]) -> list[Line]:
    """The steps of a plan, numbered."""
    made: list[Line] = []
    for number, step in enumerate(plan, 1):
        made.append(line((f"{number}. ", "strong"), (", ".join(step.files), "file"), gutter=_QUIET))
        made.append(line(one_line(step.change), gutter=Span("     ", "")))
    return made


def edit(event: EditProposed) -> list[Line]:
    """The edit as a diff."""
    lines, files = parse(event.diff)
    made = [line(), *file_list(files)]
    made.extend(diff_line(item) for item in lines[:MAX_DIFF_LINES])
    if len(lines) > MAX_DIFF_LINES:
        left = count(len(lines) - MAX_DIFF_LINES)
        made.append(line((f"… {left} more lines of the diff are not shown here", "muted")))
    return made


def diff_line(item: DiffLine) -> Line:
    """One line of a diff; the sign stays, so that colour is not the only signal."""
    return line((item.text, DIFF_STYLES[item.kind]), gutter=_QUIET)


def answered(event: ApprovalAnswered) -> list[Line]:
    """A question is settled."""
    if not event.approved:
        return note("rejected")
    text = "approved"
    if event.left_out:
        text += f", {counted(len(event.left_out), 'hunk')} left out"
    if event.written:
        text += f", {counted(len(event.written), 'hunk')} written by you"
    return note(text)


def file_list(files: list[FileChange]) -> list[Line]:
    """Each file with what it gains and loses."""
    return [
        line(
            (file.path, "file"),
            (f"  +{file.n_added}", "success"),
            (f" -{file.n_removed}", "error"),
            (f"  {file.note}" if file.note else "", "muted"),
            gutter=Span("± ", "strong"),
        )
        for file in files
    ]


def command_started(command: str) -> list[Line]:
    """A command runs."""
    return [line(), line((one_line(command), "strong"), gutter=Span("$ ", "command"))]


def command_finished(event: CommandFinished) -> list[Line]:
    """The end of its output, and how it ended."""
    made = list(_output(event.output))
    if event.timed_out:
        ending, style = f"✗ time limit reached after {seconds(event.wall_s)}", "error"
    elif event.exit_code < 0:
        ending, style = f"✗ ended by signal {-event.exit_code}", "error"
    else:
        mark, style = ("✓", "success") if event.exit_code == 0 else ("✗", "error")
        ending = f"{mark} exit code {event.exit_code} in {seconds(event.wall_s)}"
    tests = f" · {event.passed} passed, {event.failed} failed" if event.passed >= 0 else ""
    made.append(line((ending + tests, style), gutter=_QUIET))
    return made


def _output(output: str) -> Iterator[Line]:
    gutter = Span("  ┆ ", "muted")  # before every row, so that output stays apart
    lines = output.rstrip("\n").split("\n") if output.strip() else []
    skipped = len(lines) - MAX_OUTPUT_LINES
    if skipped > 0:
        yield line((f"… {count(skipped)} lines before these", "muted"), gutter=gutter)
        lines = lines[-MAX_OUTPUT_LINES:]
    for raw in lines:
        text = _PROGRESS.sub(r"  \1", raw)
        made = line((text, "output"), gutter=gutter, wrap=_RULER.match(text) is None)
        made.repeat = True
        yield made


def candidate(event: CandidateTested) -> list[Line]:
    """How one of several patches did, in one line."""
    passed = event.exit_code == 0 and not event.timed_out
    mark, style = ("✓", "success") if passed else ("✗", "error")
    how = "time limit reached" if event.timed_out else f"exit code {event.exit_code}"
    if event.passed >= 0:
        how = f"{event.passed} passed, {event.failed} failed"
    alike = f" · {event.n_alike} replies" if event.n_alike > 1 else ""
    return [
        line(
            (f"{mark} ", style),
            f"patch {event.number} of {event.n_candidates}",
            (f"  {how} in {seconds(event.wall_s)}{alike}", "muted"),
            gutter=_QUIET,
        )
    ]


def verdict(event: VerdictReached) -> list[Line]:
    """PASS or FAIL with the reason."""
    word, style = ("✓ PASS", "success") if event.passed else ("✗ FAIL", "error")
    return [line((word, f"{style}-strong"), ("  " + one_line(event.reason), ""), gutter=_QUIET)]


def finished(event: TaskFinished) -> list[Line]:
    """How the task ended."""
    word, style = {
        "fixed": ("✓ fixed", "success"),
        "edited": ("✓ edited, without a verdict", "success"),
        "answered": ("✓ answered", "success"),
        "not_fixed": ("✗ not fixed", "error"),
        "planned": ("✓ planned", "success"),
        "cancelled": ("■ cancelled", "warning"),
    }.get(event.status, (f"✗ {event.status}", "error"))
    made = [line(), line((word, f"{style}-strong"), (f"  in {seconds(event.wall_s)}", "muted"))]
    made.extend(line(text, gutter=_QUIET) for text in event.summary.strip().split("\n"))
    return [*made, line()]


def failure(message: str, hint: str) -> list[Line]:
    """Something went wrong: what, and what to do."""
    return _noted("✗ ", "error", message, hint)


def warning(message: str, hint: str) -> list[Line]:
    """Something to know; work goes on."""
    return _noted("! ", "warning", message, hint)


def note(message: str) -> list[Line]:
    """A quiet remark."""
    return [line((one_line(message), "muted"), gutter=_QUIET)]


def calibrated(event: Calibrated) -> list[Line]:
    """What drafts cost here, as the engine has measured it."""
    return note(
        f"measured in {seconds(event.wall_s)}: λ = {event.break_even:.2f}, the share of drafted"
        " tokens that must be accepted for drafts to pay"
    )


def engine_ended(event: EngineFailed) -> str:
    """The sentence about a dead engine, the same in the transcript and in the notification."""
    message = one_line(event.message)
    if not message.startswith(("the engine process", "engine process")):
        message = f"engine process ended: {message}"
    return f"{message}; it is started again and goes on from there" if event.restarting else message


def _noted(sign: str, style: str, message: str, hint: str) -> list[Line]:
    made = [line((one_line(message), style), gutter=Span(sign, f"{style}-strong"))]
    if hint:
        made.append(line((one_line(hint), "muted"), gutter=_QUIET))
    return made
