"""The numbers on the screen, kept apart from widgets: events go in, plain values come out."""

from collections import deque
from dataclasses import dataclass, field

from agspec_tui.events import (
    Calibrated,
    GenerationFinished,
    ModelLoaded,
    PrefillProgressed,
    SessionStarted,
    StepCommitted,
    TaskFinished,
    TurnFinished,
    TurnStarted,
)
from agspec_tui.tui.tally import Speculation

HISTORY = 120
"""Points each series keeps."""
DEFAULT_ROLES = ("planner", "coder", "executor")
"""Roles named before a session has said which it has."""


@dataclass(slots=True)
class TurnRejections:
    """Drafted and rejected tokens of one turn of a role."""

    turn: int
    """Number of the turn."""
    n_drafted: int = 0
    """ΣD so far."""
    n_rejected: int = 0
    """ΣD − ΣA so far."""


@dataclass(slots=True)
class RoleSeries:
    """What the panels show of one role."""

    role: str
    """Name of the role."""
    accept: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    """A + 1 of the newest steps."""
    alpha: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    """α after the newest steps."""
    drafted: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    """D of the newest steps."""
    cap: int = 0
    """K_max at the newest step."""
    sum_drafted: int = 0
    """ΣD of the session."""
    rejections: deque[TurnRejections] = field(default_factory=lambda: deque(maxlen=HISTORY))
    """One entry a turn, the newest last."""
    n_steps: int = 0
    """Steps of the session."""
    sum_accept: int = 0
    """Σ(A + 1) of the session."""
    sum_alpha: float = 0.0
    """Σα of the session."""
    n_context: int = 0
    """Tokens of this role's sequence in the cache."""

    @property
    def accept_mean(self) -> float:
        """Accept length of the session: mean of A + 1 over its steps; 0 without steps."""
        return self.sum_accept / self.n_steps if self.n_steps else 0.0

    @property
    def alpha_mean(self) -> float:
        """Mean of α over the steps; 0 without steps."""
        return self.sum_alpha / self.n_steps if self.n_steps else 0.0

    @property
    def drafted_mean(self) -> float:
        """Mean of D over the steps; 0 without steps."""
        return self.sum_drafted / self.n_steps if self.n_steps else 0.0

    @property
    def rejected_mean(self) -> float:
        """Mean of rejected tokens over turns; 0 without turns."""
        if not self.rejections:
            return 0.0
        return sum(turn.n_rejected for turn in self.rejections) / len(self.rejections)

    def add_step(self, event: StepCommitted) -> None:
        """Take in one step."""
        self.n_steps += 1
        self.sum_accept += event.n_accepted + 1
        self.sum_alpha += event.alpha
        self.accept.append(event.n_accepted + 1)
        self.alpha.append(event.alpha)
        self.drafted.append(event.n_drafted)
        self.sum_drafted += event.n_drafted
        self.cap = event.cap
        self.n_context = event.n_context
        if not self.rejections or self.rejections[-1].turn != event.turn:
            self.rejections.append(TurnRejections(event.turn))
        turn = self.rejections[-1]
        turn.n_drafted += event.n_drafted
        turn.n_rejected += event.n_drafted - event.n_accepted


@dataclass(slots=True)
class Prefill:
    """A prompt that is being read."""

    role: str
    """Role whose prompt it is."""
    n_done: int
    """Prompt tokens in the cache."""
    n_total: int
    """Prompt tokens in all."""
    n_reused: int
    """Of those in the cache, tokens that were there before."""
    tok_per_s: float
    """Rate of reading."""

    @property
    def left_s(self) -> float | None:
        """Seconds left at this rate; None while the rate is unknown."""
        if self.tok_per_s <= 0:
            return None
        return (self.n_total - self.n_done) / self.tok_per_s


@dataclass(slots=True)
class UiState:
    """Everything the header, the status line and the panels show."""

    repo: str = ""
    """Name of the repository's folder."""
    model: str = ""
    """Name of the model."""
    device: str = ""
    """What it runs on; empty until it is loaded."""
    n_ctx: int = 0
    """Context size in tokens; 0 until the model is loaded."""
    drafter: str = ""
    """Name of the drafter."""
    policy: str = ""
    """Name of the draft-length policy."""
    rollback: bool = True
    """False if rejected tokens cannot be trimmed, which turns drafting off."""
    no_rollback: str = ""
    """Why they cannot, in words."""
    roles: dict[str, RoleSeries] = field(
        default_factory=lambda: {role: RoleSeries(role) for role in DEFAULT_ROLES}
    )
    """Series of each role, in the order they speak."""
    speculation: Speculation = field(default_factory=Speculation)
    """Counts of all drafts."""
    tok_per_s: float = 0.0
    """Decoding rate of the present or last turn; 0 before the first."""
    n_prompt: int = 0
    """Prompt tokens of the present or last turn."""
    n_reused: int = 0
    """Of those, taken from the cache."""
    prefill: Prefill | None = None
    """The prompt being read, if one is."""
    role: str = ""
    """Role that works now; empty if none does."""
    turn: int = 0
    """Turn that role is in."""
    activity: str = "loading the model"
    """What is being done now, in a word or two."""
    working: bool = False
    """True from the submission of a task to its end."""
    waiting: deque[str] = field(default_factory=deque)
    """Tasks that wait for the present one to end, the oldest first."""
    stopping: bool = False
    """True from the user's interrupt to the end of the task."""
    engine_error: str = ""
    """Why the engine is gone; empty while it runs."""
    lasting: str = ""
    """A warning that holds for the rest of the session, in a few words; empty without one."""
    finished: TaskFinished | None = None
    """How the last task ended."""
    turn_tokens: int = 0
    """Tokens generated in this turn."""
    turn_steps: int = 0
    """Steps of this turn."""
    turn_accept: int = 0
    """Σ(A + 1) of those steps."""
    turn_us: float = 0.0
    """Time of those steps, in microseconds."""

    @property
    def n_context(self) -> int:
        """Tokens in the cache, all roles together: they share one context."""
        return sum(series.n_context for series in self.roles.values())

    @property
    def drafting(self) -> str:
        """`on (drafter · policy)`, or `off` with the reason."""
        if not self.drafter:
            return ""
        if not self.rollback:
            return f"off ({self.no_rollback or 'this memory cannot be wound back'})"
        if self.drafter == "none" or self.policy == "off":
            return "off"
        return f"on ({self.drafter} · {self.policy})"

    def series(self, role: str) -> RoleSeries:
        """The series of a role; a role seen for the first time gets one."""
        return self.roles.setdefault(role, RoleSeries(role))

    def session_started(self, event: SessionStarted) -> None:
        """Take over the session's names."""
        self.model, self.drafter, self.policy = event.model, event.drafter, event.policy
        self.roles = {role: self.series(role) for role in event.roles} or self.roles

    def model_loaded(self, event: ModelLoaded) -> None:
        """The engine is ready."""
        self.model, self.device, self.n_ctx = event.model, event.device, event.n_ctx
        self.rollback, self.no_rollback = event.rollback, event.no_rollback
        self.engine_error = ""
        if not self.working:
            self.activity = "idle"

    def calibrated(self, event: Calibrated) -> None:
        """The cost of target passes is known."""
        self.speculation.plain.calibrated(event)

    def engine_failed(self, sentence: str) -> None:
        """The engine is gone, and with it the cache."""
        self.engine_error = sentence
        self.prefill = None
        for series in self.roles.values():
            series.n_context = 0

    def task_started(self) -> None:
        """A task begins."""
        self.working, self.stopping, self.finished = True, False, None
        self.activity = "starting"

    def task_ended(self, event: TaskFinished | None) -> None:
        """A task has ended, or cannot go on."""
        self.working = self.stopping = False
        self.activity, self.role, self.turn, self.prefill = "idle", "", 0, None
        if event is not None:
            self.finished = event

    def turn_started(self, event: TurnStarted) -> None:
        """A role begins a reply."""
        self.role, self.turn = event.role, event.turn
        self.activity = _ACTIVITIES.get(event.role, "working")
        self.turn_tokens = self.turn_steps = self.turn_accept = 0
        self.turn_us = 0.0

    def prefilled(self, event: PrefillProgressed) -> None:
        """Part of the prompt has been read; the line goes when all of it is."""
        self.n_prompt, self.n_reused = event.n_total, event.n_reused
        whole = event.n_done >= event.n_total
        self.prefill = (
            None
            if whole
            else Prefill(event.role, event.n_done, event.n_total, event.n_reused, event.tok_per_s)
        )
        self.series(event.role).n_context = event.n_done

    def step(self, event: StepCommitted) -> None:
        """Take in one step."""
        self.prefill = None
        self.series(event.role).add_step(event)
        self.speculation.step(event)
        self.turn_tokens += len(event.ids)
        self.turn_steps += 1
        self.turn_accept += event.n_accepted + 1
        # A pass that several replies share is counted once.
        self.turn_us += event.decode_us / (1 + event.n_beside) + event.draft_us
        if self.turn_us > 0:
            self.tok_per_s = self.turn_tokens / self.turn_us * 1e6

    def generated(self, event: GenerationFinished) -> None:
        """A reply is complete."""
        self.prefill = None
        self.n_prompt, self.n_reused = event.n_prompt, event.n_reused
        if event.decode_s > 0:
            self.tok_per_s = event.n_tokens / event.decode_s

    def turn_finished(self, event: TurnFinished) -> None:
        """The turn's numbers as the report has them."""
        self.tok_per_s = event.tok_per_s
        self.n_prompt, self.n_reused = event.n_prompt, event.n_reused


_ACTIVITIES = {
    "planner": "planning",
    "coder": "coding",
    "executor": "judging the test run",
    "reviewer": "reviewing",
}
