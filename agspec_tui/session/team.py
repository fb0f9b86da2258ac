"""One task from issue to outcome: test, plan, then code, write, test and judge, turn by turn."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agspec_tui.errors import EditError, UsageError
from agspec_tui.events import (
    EditApplied,
    EditProposed,
    EditRefused,
    EditReverted,
    Warned,
)
from agspec_tui.session.actions import ActionLoop
from agspec_tui.session.approval import PlanRejected
from agspec_tui.session.candidates import best_of
from agspec_tui.session.checking import brief, improved, judge, run_tests, without_tests
from agspec_tui.session.coding import Coding, UnreadError, asks_for_tests
from agspec_tui.session.handover import EditSet, Plan, RunResult, Step, Verdict
from agspec_tui.session.outline import is_test
from agspec_tui.session.planning import Planning
from agspec_tui.session.questions import NO_RUN, answer, is_question
from agspec_tui.session.review import concern
from agspec_tui.session.services import Services
from agspec_tui.session.workspace import Workspace

_N_FOCUS = 3
"""Most files that attempts take turns with."""
_N_UNREADABLE = 3
"""Replies in a row that no form can read, after which the team stops."""
_N_NAMED = 5
_NOT_RUN = (126, 127)
"""Exit codes of a shell for a program that is not executable, or not there."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended."""

    status: str
    """`fixed`, `not_fixed`, `planned`, `answered`, `edited`, `cancelled` or `failed`."""
    summary: str
    """What was done or tried, in a few lines."""


class TeamTask:
    """One issue in the hands of the team. `turn` counts on from the tasks before it."""

    def __init__(self, services: Services, issue: str, first_turn: int) -> None:
        self.turn = first_turn
        """The present turn."""
        self.workspace = Workspace(services.repo, services.undo)
        """The task's files."""
        self._services = services
        self._issue = issue
        self._tests_allowed = asks_for_tests(issue)
        self._coding = Coding(services, self.workspace, issue, self._tests_allowed)
        self._planning = Planning(services, issue)
        self._base = NO_RUN
        self._since_base = 0
        self._kept: set[str] = set()
        self._actions = ActionLoop()
        self._last_action = ""
        self._n_unreadable = 0
        self._was_sent_back = False
        self._log: list[str] = []

    async def work(self) -> Outcome:
        """Work on the issue until the tests pass or the turns are used up.

        Raises:
            AgspecError: the task cannot go on.
            Interrupted: the user stopped it; `put_back` is for the caller.
        """
        await self._refuse_long_issue()
        if is_question(self._issue):
            return Outcome("answered", await answer(self._services, self._issue, self.turn))
        base = await self._first_run()
        try:
            plan = await self._planning.plan(self.turn, base, tests_allowed=self._tests_allowed)
        except PlanRejected:
            return self._ended("cancelled", "The plan was rejected; nothing was written.")
        self._coding.tests_allowed = self._tests_allowed or any(map(is_test, plan.files))
        if self._services.approvals.mode == "plan-only":
            return self._ended("planned", "A plan was made; nothing was changed.")
        n_turns = min(self._services.team.max_turns, self._services.config.max_turns)
        first = self.turn
        for number in range(n_turns):
            self.turn = first + number
            outcome = await self._turn(plan)
            if outcome is not None:
                return outcome
            n_done = number + 1
            stopped = await self._stopped(n_done, n_turns)
            if stopped:
                return self._ended("not_fixed", await self._report(stopped, plan))
        closing = await self._report(f"Not fixed in {n_turns} turns.", plan)
        return self._ended("not_fixed", closing)

    async def _turn(self, plan: Plan) -> Outcome | None:
        """One turn of the coder, and what comes of it; None if the issue is still open."""
        services = self._services
        await services.refresh()
        edits = await self._propose(self._since_base, plan, self._base)
        self._since_base += 1
        if edits is None or await self._sent_back(edits):
            return None
        try:
            wanted = await services.approvals.ask(edits, self.turn)
        except EditError as error:  # lines that the person wrote: nothing is, and they are told
            self._coding.forget(edits)
            self._refuse(error, edits.form)
            return None
        if wanted is None:
            if edits.refusal is not None:
                self._refuse(edits.refusal, edits.form, at_once=True)
                return None
            return self._ended("cancelled", "The edit was rejected; nothing of it was written.")
        edits = wanted
        if not await self._write(edits):
            return None
        await self._index(edits.files)
        if services.test_command is None:
            changed = (
                f"{_files(edits.files)} changed; there are no tests to tell whether it is right."
            )
            return self._ended("edited", changed)
        result = await run_tests(services, self.turn)
        verdict = await judge(services, self.turn, result)
        if verdict.passed:
            return self._ended("fixed", f"The tests pass after {_files(edits.files)} changed.")
        if await self._keep(edits, self._base, result, verdict):
            self._base, self._since_base = result, 1
        return None

    async def _sent_back(self, edits: EditSet) -> bool:
        """Whether the reviewer sends an edit back to the coder, which it may once a task.

        Later concerns are shown to the person and stop nothing. The coder may insist: nobody has
        tested the edit that was sent back.
        """
        found = await concern(self._services, self._issue, edits, self.turn)
        if not found or self._was_sent_back:
            return False
        self._was_sent_back = True
        self._coding.forget(edits)
        self._coding.remember(edits, f"the reviewer: {found}")
        self._log.append(f"Turn {self.turn}: the reviewer sent the edit back: {found}.")
        return True

    async def _stopped(self, n_done: int, n_turns: int) -> str:
        """Why the team stops before its last turn; empty to go on."""
        if n_done == n_turns:
            return ""
        if self._n_unreadable >= _N_UNREADABLE:
            return f"Stopped: {_N_UNREADABLE} replies in a row could not be read as edits."
        what = self._actions.take(self._last_action)
        if what == "stop":
            return "Stopped: the coder does the same over and over."
        if what == "warn":
            self._warn(
                "the coder does the same again and again", "a word more in the issue may help"
            )
        if n_done != self._services.team.hand_over_after:
            return ""
        question = f"go on for {n_turns - n_done} more turns"
        if await self._services.approvals.confirm(question, "\n".join(self._log), self.turn):
            return ""
        return f"Handed over after {n_done} turns."

    async def _report(self, closing: str, plan: Plan) -> str:
        """What helps the person who takes over."""
        lines = [closing]
        if self._base.failing:
            names = self._base.failing
            more = f" and {len(names) - _N_NAMED} more" if len(names) > _N_NAMED else ""
            lines.append(f"Still failing: {', '.join(names[:_N_NAMED])}{more}.")
        likely = await self._focus(plan, self._base)
        lines.append(f"Likely files: {', '.join(likely)}.")
        if self._coding.tried:
            last = self._coding.tried[-1]
            lines += ["Last tried:", *(f"  {line}" for line in last.stub.split("\n"))]
        return "\n".join(lines)

    async def put_back(self, reason: str) -> None:
        """Take every edit of this task back, and say so."""
        files, conflict = await asyncio.to_thread(self.workspace.restore)
        self._say_reverted(files, conflict, reason)

    # ── turns ────────────────────────────────────────────────────────────────────────────────────

    async def _refuse_long_issue(self) -> None:
        speaker = self._services.speaker
        n_tokens = await speaker.count_text(self._issue)
        if n_tokens > speaker.n_ctx // 3:
            raise UsageError(
                f"the issue is too long: {n_tokens} tokens, {speaker.n_ctx} of context",
                "shorten it, or raise n_ctx in config.toml",
            )

    async def _first_run(self) -> RunResult:
        """The tests before anything is changed; `NO_RUN` if there are none."""
        if self._services.test_command is None:
            self._warn("no tests found", "the edit is made without a verdict; or --test CMD")
            return NO_RUN
        base = await run_tests(self._services, self.turn)
        if base.exit_code in _NOT_RUN:
            last = base.output.strip().split("\n")[-1]
            raise UsageError(f"the test command cannot be run: {last}", "--test CMD")
        if without_tests(base):
            raise UsageError(f"no tests found: `{base.command}` ran none", "--test CMD")
        if base.ok:
            self._warn(
                "the tests pass already", "fixed then means: an edit was made and they still pass"
            )
        self._log.append(f"Before: {brief(base)}.")
        self._base = base
        return base

    async def _steps(
        self, number: int, plan: Plan, base: RunResult
    ) -> tuple[tuple[Step, ...], int]:
        """What an attempt works on: first the whole plan, then the likely files in turns.

        Each reply is about one file: a small model changes it more often, and better, than when
        it has to write two.

        Args:
            number: attempts since the beginning; counted from 1 again once an edit was kept.
            plan: the planner's plan.
            base: the failing run of the files as they are now.

        Returns:
            The steps, and how often these files have been worked on before.
        """
        if number == 0:
            return _one_by_one(plan.steps), 0
        files = await self._focus(plan, base)
        path = files[(number - 1) % len(files)]
        change = next((step.change for step in plan.steps if path in step.files), "")
        made = next((step.new for step in plan.steps if path in step.files), ())
        return (Step((path,), change, made),), 1 + (number - 1) // len(files)

    async def _focus(self, plan: Plan, base: RunResult) -> list[str]:
        """Files worth an attempt of their own: the plan's, then others nearly as likely.

        Files of a kept edit come last, since the rest of the bug is likely elsewhere.
        """
        ranked = await self._planning.ranked(base)
        enough = max(1, max(one.score for one in ranked) // 2)
        likely = [one.path for one in ranked if one.score >= enough]
        order = [one.path for one in ranked if one.path in plan.files]
        order += [path for path in likely if path not in order] or [ranked[0].path] * (not order)
        return sorted(order[:_N_FOCUS], key=lambda path: path in self._kept)

    async def _propose(self, number: int, plan: Plan, base: RunResult) -> EditSet | None:
        """One attempt of the coder; None if its reply could not be landed."""
        steps, n_before = await self._steps(number, plan, base)
        form = self._coding.form
        try:
            found = await self._coding.attempt(
                n_before,
                self.turn,
                steps,
                base,
                self._planning.texts,
                self._services.config.candidates,
            )
        except EditError as error:
            self._n_unreadable = self._n_unreadable + 1 if isinstance(error, UnreadError) else 0
            self._last_action = self._coding.action or error.message
            self._refuse(error, form)
            return None
        edits, n_tested = await best_of(self._services, found, self.turn)
        for other in found[n_tested:]:
            if other is not edits:
                self._coding.forget(other)
        self._n_unreadable, self._last_action = 0, self._coding.action
        self._services.publish(
            EditProposed(
                turn=self.turn, role="coder", form=edits.form, files=edits.files, diff=edits.diff
            )
        )
        return edits

    async def _write(self, edits: EditSet) -> bool:
        """Write an approved edit; False if a file changed meanwhile."""
        try:
            await asyncio.to_thread(self.workspace.write, edits, self.turn)
        except EditError as error:
            self._coding.forget(edits)
            self._refuse(error, edits.form)
            return False
        self._services.publish(EditApplied(turn=self.turn, role="coder", files=edits.files))
        return True

    async def _keep(
        self, edits: EditSet, base: RunResult, result: RunResult, verdict: Verdict
    ) -> bool:
        """After a FAIL: keep an edit that helped as the new base, else take it back."""
        self._log.append(f"Turn {self.turn}: {_files(edits.files)} changed; {brief(result)}.")
        self._coding.remember(edits, f"{brief(result)}: {verdict.reason}", result.output)
        if improved(base, result):
            self._warn(f"fewer tests fail than before: {brief(result)}", "the edit is kept")
            self._kept.update(edits.files)
            self._coding.tried.clear()
            return True
        files, conflict = await asyncio.to_thread(self.workspace.take_back)
        self._say_reverted(files, conflict, f"the tests still fail: {verdict.reason}")
        await self._index(files)
        return False

    # ── words ────────────────────────────────────────────────────────────────────────────────────

    def _refuse(self, error: EditError, form: str, *, at_once: bool = False) -> None:
        self._services.publish(
            EditRefused(turn=self.turn, role="coder", form=form, message=error.one_line())
        )
        at_once = at_once or bool(error.detail) or isinstance(error, UnreadError)
        self._coding.remember_refusal(error, at_once=at_once)
        self._log.append(f"Turn {self.turn}: no edit; {error.message}.")

    def _warn(self, message: str, hint: str = "") -> None:
        self._services.publish(Warned(turn=self.turn, message=message, hint=hint))

    def _say_reverted(self, files: tuple[str, ...], conflict: str, reason: str) -> None:
        if files:
            self._services.publish(
                EditReverted(turn=self.turn, role="coder", files=files, reason=reason)
            )
        if conflict:
            self._warn(conflict, "compare these files yourself")

    def _ended(self, status: str, closing: str) -> Outcome:
        return Outcome(status, "\n".join([*self._log, closing]))

    async def _index(self, paths: Sequence[str]) -> None:
        """Bring the workspace corpus up to the files as they now are."""
        for path in paths:
            text = self.workspace.text(path)
            if text is not None:
                await self._services.index(path, text)


def _one_by_one(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with one file each; new files go with the first, or alone."""
    apart: list[Step] = []
    for step in steps:
        files = step.files or ("",)
        for index, path in enumerate(files):
            apart.append(Step((path,) if path else (), step.change, step.new if not index else ()))
    return tuple(apart)


def _files(paths: Sequence[str]) -> str:
    return ", ".join(paths)
