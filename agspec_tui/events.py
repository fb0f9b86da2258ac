"""What happened: the closed union of events, the only thing that screens, logs and reports read.

Events are frozen, JSON-total structs, without futures, widgets or arrays. The engine process emits
`EngineEvent`s over the socket pair; the session adds its own, stamps each with `seq` and `t_s`.
"""

from typing import Literal

import msgspec

from agspec_tui.engine_events import (
    CacheRestored,
    CacheSaved,
    Calibrated,
    DocumentIndexed,
    EngineEvent,
    EngineFailed,
    EngineRestarted,
    EventRoot,
    GenerationFinished,
    ModelLoaded,
    PrefillProgressed,
    RequestRefused,
    StepCommitted,
    TokensCounted,
)

__all__ = [
    "ApprovalAnswered",
    "ApprovalRequested",
    "Asks",
    "CacheRestored",
    "CacheSaved",
    "Calibrated",
    "CandidateTested",
    "CommandFinished",
    "CommandStarted",
    "ContextReported",
    "DocumentIndexed",
    "EditApplied",
    "EditProposed",
    "EditRefused",
    "EditReverted",
    "EngineEvent",
    "EngineFailed",
    "EngineRestarted",
    "Event",
    "GenerationFinished",
    "Looked",
    "ModelLoaded",
    "PlanProposed",
    "PlanStep",
    "PrefillProgressed",
    "RequestRefused",
    "SessionEvent",
    "SessionFailed",
    "SessionStarted",
    "StepCommitted",
    "TaskFinished",
    "TaskSubmitted",
    "TestCount",
    "TokensCounted",
    "TurnFinished",
    "TurnStarted",
    "VerdictReached",
    "Warned",
]


class PlanStep(msgspec.Struct, frozen=True):
    """One step of a plan: a typed hand-over from planner to coder."""

    files: tuple[str, ...]
    """Paths to change, relative to the repository."""
    change: str
    """What to change, in a sentence or two."""


class TestCount(msgspec.Struct, frozen=True):
    """Outcome of a test command."""

    __test__ = False  # pytest must not collect it

    passed: int
    """Tests that passed."""
    failed: int
    """Tests that failed or raised."""
    command: str
    """The command as it ran."""


class SessionStarted(EventRoot, frozen=True, kw_only=True):
    """A session is open."""

    session_id: str
    """Random name of the session."""
    repo: str
    """The repository's folder."""
    model: str
    """The model's name."""
    roles: tuple[str, ...]
    """Roles in the order they speak."""
    drafter: str
    """The drafter's name."""
    policy: str
    """The draft-length policy."""
    sandbox: str = ""
    """What confines commands: `bubblewrap`, `namespaces` or `none`."""
    approve: str = ""
    """What is done unasked: `plan-only`, `ask`, `auto-edit` or `full-auto`."""
    test_command: str
    """The test command, found or given; empty if there is none."""


class TaskSubmitted(EventRoot, frozen=True, kw_only=True):
    """Work on an issue begins."""

    text: str
    """The issue."""


class TurnStarted(EventRoot, frozen=True, kw_only=True):
    """A role begins a reply."""

    form: str
    """Edit form asked for; empty where none applies."""
    request: int = 0
    """The generation."""
    candidate: int = 0
    """Number of the patch among those that are made at once, from 1; 0 if it is the only one."""


class TurnFinished(EventRoot, frozen=True, kw_only=True):
    """A role's reply is complete; the numbers of one row of the report."""

    stop_reason: str
    """As in `GenerationFinished`."""
    n_tokens: int
    """Tokens generated."""
    n_steps: int
    """Target passes."""
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
    broken_by: str
    """The message that broke the prefix; empty if none did."""
    alpha: float
    """α of the role at the end."""
    candidate: int = 0
    """As in `TurnStarted`."""


class ContextReported(EventRoot, frozen=True, kw_only=True):
    """What a role is asked with, counted exactly before it is decoded."""

    n_prompt: int
    """Prompt tokens, those of the chat template included."""
    n_reply: int
    """Room that is kept for the reply, in tokens."""
    n_ctx: int
    """Context size in tokens, as the engine has it."""
    dropped: tuple[str, ...] = ()
    """What was left out or cut so that it fits, a few words each; the prompt says so too."""
    summarised: tuple[str, ...] = ()
    """What stands there as a summary that the model made."""


class PlanProposed(EventRoot, frozen=True, kw_only=True):
    """The planner's plan."""

    steps: tuple[PlanStep, ...]
    """Its steps."""


class Looked(EventRoot, frozen=True, kw_only=True):
    """A role has looked at code before its reply."""

    what: str
    """`READ path:10-40` or `GREP text`."""
    n_lines: int
    """Lines that it was shown."""


class EditProposed(EventRoot, frozen=True, kw_only=True):
    """The coder's edit, landed in memory; nothing is written yet."""

    form: str
    """The edit form it came in."""
    files: tuple[str, ...]
    """Paths it changes, creates or deletes."""
    diff: str
    """Unified diff of the bytes on disk against the bytes to be written."""


class EditRefused(EventRoot, frozen=True, kw_only=True):
    """The coder's reply could not be landed exactly; nothing was written."""

    form: str
    """The edit form asked for."""
    message: str
    """Why: file, place and the nearest real lines."""


Asks = Literal["edit", "command", "plan", "go_on"]
"""What a question is about."""


class HunkPlaced(msgspec.Struct, frozen=True):
    """Where one hunk of an edit goes, and how its place was found."""

    path: str
    """Path relative to the repository."""
    hunk: int
    """Number of the hunk within its file, from 1."""
    line: int
    """First line it changes of the file on disk, from 1."""
    rule: str
    """Rule of the matching ladder: `exact`, `indentation`, `fuzzy`, …; or `whole`, `create`, …"""
    likeness: float = 1.0
    """How alike the place is to what the reply gave, 0 to 1; below 1 only for `fuzzy`."""


class ApprovalRequested(EventRoot, frozen=True, kw_only=True):
    """The session waits for the user's yes or no."""

    call_id: int
    """Number of the question; `AnswerApproval` names it."""
    asks: Asks = "edit"
    """What it is about: writing an edit, running a command, working by a plan, or going on."""
    summary: str
    """What would be done, in one line."""
    diff: str
    """The change in full, the plan as lines, or what was tried; empty if it is about a command."""
    command: str = ""
    """The command line that would run; empty if it is about a change."""
    steps: tuple[PlanStep, ...] = ()
    """The plan, if it is about one; `EditPlan` answers with another."""
    problem: str = ""
    """Why the plan that `EditPlan` gave cannot be worked by; empty at the first asking."""
    placed: tuple[HunkPlaced, ...] = ()
    """Place of every hunk of an edit, in the order they were landed."""
    doubtful: tuple[str, ...] = ()
    """One line about each place found by likeness only: a no lets the coder try again."""


class ApprovalAnswered(EventRoot, frozen=True, kw_only=True):
    """The question is settled."""

    call_id: int
    """Number of the question."""
    approved: bool
    """The answer."""
    left_out: tuple[int, ...] = ()
    """Hunks of the edit that are not written, by their number in its diff, from 0."""
    written: tuple[int, ...] = ()
    """Those whose new lines the person wrote."""


class EditApplied(EventRoot, frozen=True, kw_only=True):
    """Files were written."""

    files: tuple[str, ...]
    """Their paths."""


class EditReverted(EventRoot, frozen=True, kw_only=True):
    """Files were put back as they were before the agent's edits."""

    files: tuple[str, ...]
    """Their paths."""
    reason: str
    """Why."""


class CommandStarted(EventRoot, frozen=True, kw_only=True):
    """A command runs."""

    command: str
    """The command line."""


class CommandFinished(EventRoot, frozen=True, kw_only=True):
    """A command has ended."""

    command: str
    """The command line."""
    exit_code: int
    """Its exit code; negative for a signal."""
    timed_out: bool
    """True if the time limit ended it."""
    output: str
    """Cleaned output, head and tail."""
    wall_s: float
    """Seconds it ran."""
    passed: int
    """Tests that passed; −1 if the output did not say."""
    failed: int
    """Tests that failed; −1 if the output did not say."""


class CandidateTested(EventRoot, frozen=True, kw_only=True):
    """One of several patches was tested in a copy of the repository."""

    number: int
    """Its number among the patches that differ, from 1."""
    n_candidates: int
    """How many of them there are."""
    n_alike: int
    """Replies that came to this patch."""
    files: tuple[str, ...]
    """Files it changes."""
    exit_code: int
    """Exit code of the test command; negative for a signal."""
    timed_out: bool
    """True if the time limit ended it."""
    wall_s: float
    """Seconds it ran."""
    passed: int
    """Tests that passed; −1 if the output did not say."""
    failed: int
    """Tests that failed; −1 if the output did not say."""


class VerdictReached(EventRoot, frozen=True, kw_only=True):
    """The executor's word on a test run; the exit code decides, not the model."""

    passed: bool
    """PASS or FAIL."""
    reason: str
    """One line."""


class Warned(EventRoot, frozen=True, kw_only=True):
    """Something the user should know; work goes on."""

    message: str
    """One line."""
    hint: str
    """What to do about it."""
    lasting: str = ""
    """A few words for the status line, for what holds for the rest of the session; else empty."""


class SessionFailed(EventRoot, frozen=True, kw_only=True):
    """The task cannot go on."""

    message: str
    """One line."""
    hint: str
    """What to do about it."""


class TaskFinished(EventRoot, frozen=True, kw_only=True):
    """Work on the issue has ended."""

    status: str
    """`fixed`, `not_fixed`, `planned`, `answered`, `edited` (untested), `cancelled`, `failed`."""
    summary: str
    """What was done or tried, in a few lines."""
    diff: str
    """Unified diff of all that is changed on disk; empty if nothing is."""
    wall_s: float
    """Seconds from `TaskSubmitted`."""


SessionEvent = (
    SessionStarted
    | TaskSubmitted
    | TurnStarted
    | TurnFinished
    | ContextReported
    | Looked
    | PlanProposed
    | EditProposed
    | EditRefused
    | ApprovalRequested
    | ApprovalAnswered
    | EditApplied
    | EditReverted
    | CommandStarted
    | CommandFinished
    | CandidateTested
    | VerdictReached
    | Warned
    | SessionFailed
    | TaskFinished
)

Event = EngineEvent | SessionEvent
