"""Progress of a task, line by line, for a terminal or a log."""

import time
from collections.abc import Callable
from typing import TextIO

from agspec_tui.events import (
    Calibrated,
    CandidateTested,
    CommandFinished,
    CommandStarted,
    ContextReported,
    EditApplied,
    EditProposed,
    EditRefused,
    EditReverted,
    EngineFailed,
    EngineRestarted,
    Event,
    Looked,
    ModelLoaded,
    PlanProposed,
    PrefillProgressed,
    SessionFailed,
    SessionStarted,
    StepCommitted,
    TaskFinished,
    TurnFinished,
    TurnStarted,
    VerdictReached,
    Warned,
)
from agspec_tui.session.load_notes import load_notes

_EVERY_S = 5.0
"""Seconds between two lines about the same reply."""
_N_FAILED_LINES = 12


class Progress:
    """Prints what matters of the event stream; long replies at most every few seconds."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Print to `out`; `clock` gives seconds."""
        self._out = out
        self._clock = clock
        self._last_s = 0.0
        self._n_tokens = 0
        self._decode_us = 0.0
        self._n_steps = 0

    def say(self, line: str) -> None:
        """Print one line, without what could move the cursor."""
        safe = "".join(char if char.isprintable() else " " for char in line.expandtabs(4))
        print(safe, file=self._out, flush=True)

    def ask(self, question: str) -> None:
        """Print a question and stay on its line."""
        print(question, end="", file=self._out, flush=True)

    def show(self, event: Event) -> None:
        """Print an event, if it is worth a line."""
        match event:
            case PrefillProgressed() | StepCommitted() | TurnStarted() | TurnFinished():
                self._show_reply(event)
            case PlanProposed() | EditProposed() | EditApplied() | EditRefused() | EditReverted():
                self._show_edit(event)
            case CommandStarted() | CommandFinished() | CandidateTested() | VerdictReached():
                self._show_test(event)
            case _:
                self._show_session(event)

    def _show_session(self, event: Event) -> None:
        match event:
            case SessionStarted():
                self.say(f"model    {event.model}, drafter {event.drafter}, policy {event.policy}")
                self.say(f"tests    {event.test_command or 'none found'}")
                self.say(f"sandbox  {event.sandbox}, approve {event.approve}")
            case ModelLoaded():
                self.say(f"loaded   {event.device}, context {event.n_ctx}, {event.load_s:.1f} s")
                for message, hint in load_notes(event):
                    self.say(f"warning  {message} ({hint})")
            case Calibrated():
                self.say(f"measured λ = {event.break_even:.2f} in {event.wall_s:.1f} s")
            case EngineFailed() | SessionFailed() | Warned():
                hint = f" ({event.hint})" if event.hint else ""
                name = "warning" if isinstance(event, Warned) else "failed"
                self.say(f"{name:8} {event.message}{hint}")
            case ContextReported() if event.dropped or event.summarised:
                cut = [*event.dropped, *(f"{name} (summarised)" for name in event.summarised)]
                self.say(f"context  left out, to fit: {', '.join(cut)}")
            case Looked():
                self.say(f"looked   {event.what}: {event.n_lines} lines")
            case EngineRestarted():
                self.say("engine   started again")
            case TaskFinished():
                self.say(f"{event.status.replace('_', ' ')} after {event.wall_s:.1f} s")
                for line in event.summary.split("\n"):
                    self.say(f"         {line}")
            case _:
                pass

    def _show_reply(
        self, event: PrefillProgressed | StepCommitted | TurnStarted | TurnFinished
    ) -> None:
        match event:
            case TurnStarted() if event.candidate <= 1:
                self._last_s = self._clock()
                self._n_tokens = self._n_steps = 0
                self._decode_us = 0.0
                self.say(
                    f"turn {event.turn}   {event.role}" + (f", {event.form}" * bool(event.form))
                )
            case PrefillProgressed() if self._is_due():
                share = 100 * event.n_done // max(1, event.n_total)
                self.say(
                    f"         reading {share} % of {event.n_total} tokens, "
                    f"{event.n_reused} reused, {event.tok_per_s:.0f} tokens/s"
                )
            case StepCommitted():
                self._n_tokens += len(event.ids)
                self._n_steps += 1
                # A pass that several replies share is counted once.
                self._decode_us += event.decode_us / (1 + event.n_beside) + event.draft_us
                if self._is_due():
                    rate = self._n_tokens / max(self._decode_us, 1.0) * 1e6
                    self.say(f"         {self._n_tokens} tokens, {rate:.1f} tokens/s")
            case TurnFinished():
                self.say(
                    f"         {event.n_tokens} tokens, {event.tok_per_s:.1f} tokens/s, "
                    f"accept length {event.accept_length:.2f}, rejected {event.rejected}, "
                    f"prompt {event.n_prompt}, {event.n_reused} reused"
                )
            case _:
                pass

    def _show_edit(
        self, event: PlanProposed | EditProposed | EditApplied | EditRefused | EditReverted
    ) -> None:
        match event:
            case PlanProposed():
                for step in event.steps:
                    self.say(f"plan     {', '.join(step.files)}: {step.change}")
            case EditProposed():
                for line in event.diff.rstrip("\n").split("\n"):
                    self.say(f"  {line}")
            case EditApplied():
                self.say(f"written  {', '.join(event.files)}")
            case EditRefused():
                self.say(f"refused  {event.message}")
            case EditReverted():
                self.say(f"restored {', '.join(event.files)}: {event.reason}")

    def _show_test(
        self, event: CommandStarted | CommandFinished | CandidateTested | VerdictReached
    ) -> None:
        match event:
            case CommandStarted():
                self.say(f"run      {event.command}")
            case CommandFinished():
                self.say(f"         {_ended(event)}")
                if event.exit_code:
                    for line in event.output.strip().split("\n")[-_N_FAILED_LINES:]:
                        self.say(f"  | {line}")
            case CandidateTested():
                alike = f", {event.n_alike} replies" if event.n_alike > 1 else ""
                place = f"patch    {event.number} of {event.n_candidates}"
                self.say(f"{place}: {_ended(event)}{alike}")
            case VerdictReached():
                self.say("PASS" if event.passed else f"FAIL     {event.reason}")

    def _is_due(self) -> bool:
        """Whether the last line about this reply is long enough ago."""
        now = self._clock()
        if now - self._last_s < _EVERY_S:
            return False
        self._last_s = now
        return True


def _ended(event: CommandFinished | CandidateTested) -> str:
    """How a run of the tests ended."""
    counts = f"{event.passed} passed, {event.failed} failed"
    if min(event.passed, event.failed) < 0:
        counts = f"exit code {event.exit_code}"
    late = ", past its time limit" if event.timed_out else ""
    return f"{counts} in {event.wall_s:.1f} s{late}"
