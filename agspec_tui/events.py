"""What happened: the closed union of events, the only thing that screens, logs and reports read.

Events are frozen, JSON-total structs: text, numbers, booleans, tuples and other such structs. The
engine process emits `EngineEvent`s over the socket pair; the session adds its own, stamps every
event with `seq` and `t_s`, and publishes the whole stream. No futures, widgets or arrays inside.
"""

import msgspec


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """Common root. The wire names an event by its class name in `kind`."""

    seq: int = 0
    """Gap-free number within a session; 0 until the session stamps it."""
    t_s: float = 0.0
    """Seconds since the session started; 0 until the session stamps it."""
    turn: int = 0
    """Turn it belongs to, from 1; 0 where none applies."""
    role: str = ""
    """Role it belongs to; empty where none applies."""


# ── engine ───────────────────────────────────────────────────────────────────────────────────────


class ModelLoaded(_Event, frozen=True, kw_only=True):
    """The model is in memory and the context is made."""

    model: str
    """Name of the model."""
    device: str
    """What it runs on, e.g. `CPU, 2 threads`."""
    n_ctx: int
    """Context size in tokens."""
    n_vocab: int
    """Vocabulary size."""
    n_threads: int
    """Threads used for decoding."""
    load_s: float
    """Seconds it took."""
    n_exact: int
    """Most tokens in one decode that give bit for bit the logits of one-by-one decoding; 0 if
    none do, and a drafted reply may then differ from a plain one at a near tie."""
    rollback: bool
    """True if rejected tokens can be trimmed from the cache; if not, drafting is off."""


class PrefillProgressed(_Event, frozen=True, kw_only=True):
    """Part of the prompt has been read."""

    request: int
    """The generation."""
    n_done: int
    """Prompt tokens now in the cache, reused ones included."""
    n_total: int
    """Prompt tokens in all."""
    n_reused: int
    """Of those, tokens that were in the cache already."""
    tok_per_s: float
    """Rate of the tokens read so far, reused ones left out."""


class StepCommitted(_Event, frozen=True, kw_only=True):
    """One step: a draft was verified, and accepted tokens plus the bonus token were committed."""

    request: int
    """The generation."""
    step: int
    """Number of the step within the generation, from 1."""
    ids: tuple[int, ...]
    """Committed token ids: the accepted ones, then the bonus token (none if the reply ended)."""
    text: str
    """Their text, as far as it is whole UTF-8."""
    n_accepted_chars: int = -1
    """Leading characters of `text` that came from accepted draft tokens; −1 if not counted."""
    n_drafted: int
    """D: tokens drafted."""
    n_accepted: int
    """A: of those, accepted. Accept length of this step is A + 1."""
    match_len: int
    """m: length of the match that was drafted from; 0 without one."""
    source: str
    """Corpus of the draft: `session`, `workspace`, `global`; empty without a draft."""
    document: str
    """Document the draft was copied from: a path and view, or a message label."""
    offset: int
    """Token offset of the copy within that document."""
    budget: int
    """K: length the policy asked for."""
    cap: int
    """K_max at this step."""
    alpha: float
    """α of the role after this step."""
    decode_us: float
    """Time of the target pass, in microseconds."""
    draft_us: float
    """Time of match and draft, in microseconds."""
    n_context: int
    """Tokens of this sequence in the cache after this step."""


class GenerationFinished(_Event, frozen=True, kw_only=True):
    """A reply is complete, or was stopped."""

    request: int
    """The generation."""
    stop_reason: str
    """`eog`, `stop`, `length`, `context`, `cancelled`."""
    text: str
    """The whole reply, without the end-of-generation token."""
    ids: tuple[int, ...]
    """Its token ids as sampled."""
    n_prompt: int
    """Prompt tokens."""
    n_reused: int
    """Of those, tokens taken from the cache."""
    broken_by: str
    """The message at which the prompt left the cached transcript; empty if it only grew."""
    n_tokens: int
    """Tokens generated, the end-of-generation token included."""
    n_steps: int
    """Target passes of the decoding, prefill left out."""
    n_drafted: int
    """ΣD."""
    n_accepted: int
    """ΣA."""
    prefill_s: float
    """Seconds of reading the prompt."""
    decode_s: float
    """Seconds of decoding."""
    alpha: float
    """α of the role at the end."""


class DocumentIndexed(_Event, frozen=True, kw_only=True):
    """The workspace corpus holds a file, in the forms in use."""

    path: str
    """Path relative to the repository."""
    n_tokens: int
    """Tokens of all its views."""
    n_corpus_tokens: int
    """Tokens in the workspace corpus now."""
    skipped: str
    """Why it was not indexed; empty if it was."""


class RequestRefused(_Event, frozen=True, kw_only=True):
    """A command could not be carried out; the engine goes on."""

    request: int
    """The generation, or 0."""
    message: str
    """One line that says why."""
    hint: str
    """What to do about it."""


class EngineFailed(_Event, frozen=True, kw_only=True):
    """The engine process is gone, or could not load the model."""

    message: str
    """One line that says what happened."""
    hint: str
    """What to do about it."""
    log_path: str
    """File with the child's stderr."""
    restarting: bool
    """True if a new engine is being started and the next turn will work."""


class EngineRestarted(_Event, frozen=True, kw_only=True):
    """A new engine process runs; sequences are read again from their transcripts."""

    n_restarts: int
    """How often that has happened in this session."""


EngineEvent = (
    ModelLoaded
    | PrefillProgressed
    | StepCommitted
    | GenerationFinished
    | DocumentIndexed
    | RequestRefused
    | EngineFailed
    | EngineRestarted
)


# ── session ──────────────────────────────────────────────────────────────────────────────────────


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


class SessionStarted(_Event, frozen=True, kw_only=True):
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
    test_command: str
    """The test command, found or given; empty if there is none."""


class TaskSubmitted(_Event, frozen=True, kw_only=True):
    """Work on an issue begins."""

    text: str
    """The issue."""


class TurnStarted(_Event, frozen=True, kw_only=True):
    """A role begins a reply."""

    form: str
    """Edit form asked for; empty where none applies."""


class TurnFinished(_Event, frozen=True, kw_only=True):
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


class PlanProposed(_Event, frozen=True, kw_only=True):
    """The planner's plan."""

    steps: tuple[PlanStep, ...]
    """Its steps."""


class EditProposed(_Event, frozen=True, kw_only=True):
    """The coder's edit, landed in memory; nothing is written yet."""

    form: str
    """The edit form it came in."""
    files: tuple[str, ...]
    """Paths it changes, creates or deletes."""
    diff: str
    """Unified diff of the bytes on disk against the bytes to be written."""


class EditRefused(_Event, frozen=True, kw_only=True):
    """The coder's reply could not be landed exactly; nothing was written."""

    form: str
    """The edit form asked for."""
    message: str
    """Why: file, place and the nearest real lines."""


class ApprovalRequested(_Event, frozen=True, kw_only=True):
    """The session waits for the user's yes or no."""

    call_id: int
    """Number of the question; `AnswerApproval` names it."""
    summary: str
    """What would be done, in one line."""
    diff: str
    """The change in full."""


class ApprovalAnswered(_Event, frozen=True, kw_only=True):
    """The question is settled."""

    call_id: int
    """Number of the question."""
    approved: bool
    """The answer."""


class EditApplied(_Event, frozen=True, kw_only=True):
    """Files were written."""

    files: tuple[str, ...]
    """Their paths."""


class EditReverted(_Event, frozen=True, kw_only=True):
    """Files were put back as they were before the agent's edits."""

    files: tuple[str, ...]
    """Their paths."""
    reason: str
    """Why."""


class CommandStarted(_Event, frozen=True, kw_only=True):
    """A command runs."""

    command: str
    """The command line."""


class CommandFinished(_Event, frozen=True, kw_only=True):
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


class VerdictReached(_Event, frozen=True, kw_only=True):
    """The executor's word on a test run; the exit code decides, not the model."""

    passed: bool
    """PASS or FAIL."""
    reason: str
    """One line."""


class Warned(_Event, frozen=True, kw_only=True):
    """Something the user should know; work goes on."""

    message: str
    """One line."""
    hint: str
    """What to do about it."""


class SessionFailed(_Event, frozen=True, kw_only=True):
    """The task cannot go on."""

    message: str
    """One line."""
    hint: str
    """What to do about it."""


class TaskFinished(_Event, frozen=True, kw_only=True):
    """Work on the issue has ended."""

    status: str
    """`fixed`, `not_fixed`, `cancelled` or `failed`."""
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
    | PlanProposed
    | EditProposed
    | EditRefused
    | ApprovalRequested
    | ApprovalAnswered
    | EditApplied
    | EditReverted
    | CommandStarted
    | CommandFinished
    | VerdictReached
    | Warned
    | SessionFailed
    | TaskFinished
)

Event = EngineEvent | SessionEvent
