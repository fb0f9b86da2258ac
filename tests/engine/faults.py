"""Ways to take an engine process down from outside, and what must hold of its events then."""

import contextlib
import os
import resource
import signal
from collections.abc import Sequence

import psutil

from agspec_tui.engine.watchdog import Limits
from agspec_tui.events import GenerationFinished, StepCommitted

IMPATIENT = Limits(silence_s=3.0, hang_s=5.0, period_s=0.2, window_s=5.0, n_restarts=50)
FAULTS = ("SIGKILL", "SIGSEGV", "SIGSTOP", "memory")


def strike(pid: int, fault: str) -> None:
    """Do something to a process that is there, or was until now."""
    with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
        if fault == "memory":
            used = psutil.Process(pid).memory_info().vms
            resource.prlimit(pid, resource.RLIMIT_AS, (used, used))
        else:
            os.kill(pid, signal.Signals[fault])


def is_gone(pid: int) -> bool:
    """Whether no such process runs any more."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def check_replies(events: Sequence[object]) -> None:
    """Every generation's steps are numbered on and make up its end, whatever happened between."""
    for end in (event for event in events if isinstance(event, GenerationFinished)):
        steps = [e for e in events if isinstance(e, StepCommitted) and e.request == end.request]
        assert [step.step for step in steps] == list(range(1, len(steps) + 1))
        assert tuple(token for step in steps for token in step.ids) == end.ids
        assert end.n_steps == len(steps)
        assert end.n_drafted == sum(step.n_drafted for step in steps)
        assert end.n_accepted == sum(step.n_accepted for step in steps)
        said = "".join(step.text for step in steps)
        assert end.text.startswith(said)
        assert len(end.text) - len(said) <= 1
