"""The executor's part of a turn: runs the tests, and says PASS or FAIL with a reason."""

from pathlib import Path

import msgspec

from agspec_tui.errors import EngineError, ToolError
from agspec_tui.events import CommandFinished, CommandStarted, VerdictReached, Warned
from agspec_tui.session.context import Fitted
from agspec_tui.session.handover import RunResult, Verdict
from agspec_tui.session.prompts import executor_message
from agspec_tui.session.runner import CommandResult
from agspec_tui.session.services import Services
from agspec_tui.session.testing import TestCommand, failing_names, parse_counts

_N_REASON_CHARS = 200


async def run_tests(services: Services, turn: int) -> RunResult:
    """Run the test command in the repository.

    Raises:
        ToolError: there is none, or it could not be started.
        Interrupted: the user stopped it.
    """
    display = _test_of(services).display
    publish = services.publish
    publish(CommandStarted(turn=turn, role="executor", command=display))
    done, result = await _run(services, turn)
    publish(
        CommandFinished(
            turn=turn,
            role="executor",
            command=display,
            exit_code=done.exit_code,
            timed_out=done.timed_out,
            output=result.output,
            wall_s=done.wall_s,
            passed=result.passed,
            failed=result.failed,
        )
    )
    return result


async def run_tests_in(services: Services, turn: int, copy: Path) -> tuple[RunResult, float]:
    """Run the test command in a copy of the repository; returns the run, and its seconds.

    Raises:
        ToolError: there is none, or it could not be started.
        Interrupted: the user stopped it.
    """
    done, result = await _run(services, turn, copy)
    return result, done.wall_s


def _test_of(services: Services) -> TestCommand:
    if services.test_command is None:
        raise ToolError("there is no test command", "give one: --test CMD")
    return services.test_command


async def _run(
    services: Services, turn: int, copy: Path | None = None
) -> tuple[CommandResult, RunResult]:
    test = _test_of(services)
    done = await services.interrupts.guard(
        services.gate.run_tests(test, services.config.test_timeout_s, turn=turn, copy=copy)
    )
    # Tracebacks name files by their full path; the shorter one is what roles and plans use.
    output = done.output.replace(f"{services.repo}/", "")
    if copy is not None:
        output = output.replace(f"{copy}/", "")
    passed, failed = parse_counts(test.kind, output, done.exit_code)
    return done, RunResult(
        command=test.display,
        exit_code=done.exit_code,
        timed_out=done.timed_out,
        output=output,
        passed=passed,
        failed=failed,
        failing=tuple(failing_names(test.kind, output)),
    )


async def judge(services: Services, turn: int, result: RunResult) -> Verdict:
    """Let the executor say the verdict; the exit code decides whatever it says.

    Raises:
        Interrupted: the user stopped it.
    """
    said = ""
    executor = services.team.executor
    try:
        prompt = await _prompt(services, result)
        said = (await services.speaker.say(executor, turn, prompt)).text
    except EngineError as error:
        services.publish(
            Warned(turn=turn, role="executor", message=error.message, hint="the exit code decides")
        )
    verdict = read_verdict(said, result)
    if verdict.overruled:
        services.publish(
            Warned(
                turn=turn,
                role="executor",
                message=f"the executor said {said.split(':')[0].strip()[:20]}, "
                f"the exit code is {result.exit_code}",
                hint="the exit code decides",
            )
        )
    services.publish(
        VerdictReached(turn=turn, role="executor", passed=verdict.passed, reason=verdict.reason)
    )
    return verdict


async def _prompt(services: Services, result: RunResult) -> Fitted:
    """The executor's prompt, with fewer lines of output where it would not fit."""
    executor, speaker = services.team.executor, services.speaker
    limits = executor.settings.limits
    room = speaker.room(executor)
    n_lines = limits.n_output_lines
    while True:
        message = executor_message(result, msgspec.structs.replace(limits, n_output_lines=n_lines))
        n_prompt = await speaker.count(executor, message)
        if n_lines == 1 or n_prompt <= room:
            cut = () if n_lines == limits.n_output_lines else ("most of the test output",)
            return Fitted(message, n_prompt, cut)
        n_lines //= 2


def read_verdict(said: str, result: RunResult) -> Verdict:
    """The executor's line against the exit code.

    Args:
        said: its reply; empty if it could not speak.
        result: the run it speaks of.
    """
    line = " ".join(said.split())
    says_pass, says_fail = line.startswith("PASS"), line.startswith("FAIL")
    reason = line.partition(":")[2].strip()[:_N_REASON_CHARS] if says_fail else ""
    if result.ok:
        return Verdict(passed=True, reason="", overruled=says_fail)
    if result.timed_out:
        return Verdict(
            passed=False, reason="the tests ran past their time limit", overruled=says_pass
        )
    return Verdict(passed=False, reason=reason or _own_reason(result), overruled=says_pass)


def _own_reason(result: RunResult) -> str:
    """A reason without the executor: the counts and the first failing test."""
    if result.failed > 0:
        first = f", first {result.failing[0]}" if result.failing else ""
        return f"{result.failed} tests fail{first}"
    return f"exit code {result.exit_code}"


def improved(before: RunResult, after: RunResult) -> bool:
    """Whether fewer tests fail and none was lost; unknown counts are no improvement."""
    known = min(before.failed, after.failed, before.passed, after.passed) >= 0
    return known and 0 < after.failed < before.failed and after.passed >= before.passed


def without_tests(result: RunResult) -> bool:
    """Whether a run says that there are no tests at all."""
    return result.passed == 0 and result.failed == 0 and not result.timed_out


def brief(result: RunResult) -> str:
    """Counts in a few words: `2 of 5 tests fail`."""
    if result.timed_out:
        return "the tests ran past their time limit"
    if min(result.passed, result.failed) < 0:
        return f"exit code {result.exit_code}"
    return f"{result.failed} of {result.passed + result.failed} tests fail"
