"""What one role hands to the next: small typed records, never shared chat."""

from dataclasses import dataclass

from agspec_tui.errors import EditError
from agspec_tui.events import HunkPlaced
from agspec_tui.forms.types import FileChange


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan: files that change together, and how."""

    files: tuple[str, ...]
    """Existing paths to change, relative to the repository."""
    change: str
    """What to change, in a sentence or two; empty if the plan was made without the planner."""
    new: tuple[str, ...] = ()
    """Paths to be made."""


@dataclass(frozen=True, slots=True)
class Plan:
    """From planner to coder."""

    steps: tuple[Step, ...]
    """At least one step."""
    fallback: str = ""
    """Why the plan does not come from the planner; empty if it does."""
    dropped: tuple[str, ...] = ()
    """Paths that the planner named beyond the bounds of a plan."""

    @property
    def files(self) -> tuple[str, ...]:
        """Every path of the plan once, in order."""
        return tuple(
            dict.fromkeys(path for step in self.steps for path in (*step.files, *step.new))
        )


@dataclass(frozen=True, slots=True)
class EditSet:
    """From coder to the approval: an attempt's edits, landed in memory."""

    form: str
    """Edit form they came in."""
    changes: tuple[FileChange, ...]
    """Bytes on disk before and after, one change a file."""
    diff: str
    """Unified diff of them."""
    n_alike: int = 1
    """Replies that came to it."""
    placed: tuple[HunkPlaced, ...] = ()
    """Place of every hunk, by the lines of the files on disk."""
    doubtful: tuple[str, ...] = ()
    """One line about each place found by likeness only: it is not written unasked."""
    refusal: EditError | None = None
    """What the coder is told if the person says no to such places; None if there are none."""

    @property
    def files(self) -> tuple[str, ...]:
        """Paths that change."""
        return tuple(change.path for change in self.changes)


@dataclass(frozen=True, slots=True)
class RunResult:
    """From the test run to the executor, and back to the coder."""

    command: str
    """The test command."""
    exit_code: int
    """Its exit code; negative for a signal."""
    timed_out: bool
    """True if the time limit ended it."""
    output: str
    """Cleaned output, head and tail."""
    passed: int
    """Tests that passed; −1 if the output did not say."""
    failed: int
    """Tests that failed or raised; −1 if the output did not say."""
    failing: tuple[str, ...]
    """Names of failing tests, as far as the output names them."""

    @property
    def ok(self) -> bool:
        """True if the tests pass: the exit code decides."""
        return self.exit_code == 0 and not self.timed_out


@dataclass(frozen=True, slots=True)
class Verdict:
    """From executor to coder."""

    passed: bool
    """PASS or FAIL, by the exit code."""
    reason: str
    """One line: what failed, in the executor's words; empty for a pass."""
    overruled: bool = False
    """True if the executor said the opposite of the exit code."""
