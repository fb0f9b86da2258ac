"""One task from issue to outcome: test, plan, then code, write, test and judge, turn by turn."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from agspec_tui.errors import EditError, UsageError
from agspec_tui.events import (
    EditApplied,
    EditProposed,
    EditRefused,
    EditReverted,
    PlanProposed,
    PlanStep,
    Warned,
)
from agspec_tui.session.checking import brief, improved, judge, run_tests, without_tests
from agspec_tui.session.coding import Coding, asks_for_tests
from agspec_tui.session.context import Fitted, fit, joined
from agspec_tui.session.handover import EditSet, Plan, RunResult, Step, Verdict
from agspec_tui.session.outline import Candidate, is_test, rank
from agspec_tui.session.plan import read_plan
from agspec_tui.session.prompts import planner_blocks
from agspec_tui.session.services import Services
from agspec_tui.session.workspace import Workspace, scan

_N_FOCUS = 3
"""Most files that attempts take turns with."""
_NOT_RUN = (126, 127)
"""Exit codes of a shell for a program that is not executable, or not there."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended."""

    status: str
    """`fixed`, `not_fixed`, `planned` or `cancelled`."""
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
        self._texts: dict[str, str] = {}
        self._kept: set[str] = set()
        self._log: list[str] = []

    async def work(self) -> Outcome:
        """Work on the issue until the tests pass or the turns are used up.

        Raises:
            AgspecError: the task cannot go on.
            Interrupted: the user stopped it; `put_back` is for the caller.
        """
        await self._refuse_long_issue()
        base = await self._first_run()
        plan = await self._plan(base)
        if self._services.mode == "plan-only":
            return self._ended("planned", "A plan was made; nothing was changed.")
        n_turns = min(self._services.team.max_turns, self._services.config.max_turns)
        first = self.turn
        since_base = 0
        for number in range(n_turns):
            self.turn = first + number
            await self._services.refresh()
            edits = await self._propose(since_base, plan, base)
            since_base += 1
            if edits is None:
                continue
            if not await self._services.approve(edits, self.turn):
                return self._ended("cancelled", "The edit was rejected; nothing of it was written.")
            if not await self._write(edits):
                continue
            await self._index(edits.files)
            result = await run_tests(self._services, self.turn)
            verdict = await judge(self._services, self.turn, result)
            if verdict.passed:
                return self._ended("fixed", f"The tests pass after {_files(edits.files)} changed.")
            if await self._keep(edits, base, result, verdict):
                base, since_base = result, 1
        return self._ended("not_fixed", f"Not fixed in {n_turns} turns.")

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
        """The tests before anything is changed."""
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
        return base

    async def _plan(self, base: RunResult) -> Plan:
        """Let the planner say which files to change; fall back to the likeliest."""
        services, planner = self._services, self._services.team.planner
        self._texts = await asyncio.to_thread(scan, services.repo)
        candidates = self._rank(base)
        if not candidates:
            raise UsageError(
                "the repository has no source file to change", "is it the right folder?"
            )
        limits = planner.settings.limits
        prompt = await self._planner_prompt(candidates, base)
        reply = await services.speaker.say(planner, self.turn, prompt)
        plan = read_plan(reply.text, candidates, limits, tests_allowed=self._tests_allowed)
        if plan.fallback:
            self._warn(plan.fallback, f"the likeliest files are taken: {', '.join(plan.files)}")
        steps = tuple(PlanStep(files=(*s.files, *s.new), change=s.change) for s in plan.steps)
        services.publish(PlanProposed(turn=self.turn, role="planner", steps=steps))
        return plan

    async def _planner_prompt(self, candidates: Sequence[Candidate], base: RunResult) -> Fitted:
        """The planner's prompt, with fewer of the unlikely files where it would not fit."""
        planner, speaker = self._services.team.planner, self._services.speaker
        limits = planner.settings.limits
        room = speaker.room(planner)
        n_all = min(limits.n_list_lines, len(candidates))
        n_lines = await self._n_listed(candidates[:n_all], limits.n_map_tokens)
        while True:
            limits = msgspec.structs.replace(limits, n_list_lines=n_lines)
            blocks = planner_blocks(self._issue, candidates, base, limits)
            n_prompt = await speaker.count(planner, joined(blocks))
            if n_lines == 1 or n_prompt <= room:
                break
            n_lines //= 2
        fitted = await fit(blocks, lambda text: speaker.count(planner, text), room)
        if fitted is None:
            raise UsageError(
                f"the issue does not fit: {n_prompt} tokens of prompt, {speaker.n_ctx} of context",
                "shorten it, or raise n_ctx in config.toml",
            )
        if n_lines == n_all:
            return fitted
        return replace(fitted, dropped=(f"{n_all - n_lines} unlikely files", *fitted.dropped))

    async def _n_listed(self, candidates: Sequence[Candidate], n_tokens: int) -> int:
        """How many files can be listed in so many tokens, counted exactly; at least one."""
        low, high = 1, len(candidates)
        while low < high:
            middle = (low + high + 1) // 2
            lines = "\n".join(one.line() for one in candidates[:middle])
            if await self._services.speaker.count_text(lines) <= n_tokens:
                low = middle
            else:
                high = middle - 1
        return low

    def _rank(self, run: RunResult) -> list[Candidate]:
        return rank(self._texts, self._issue, run.output, run.failing)

    def _steps(self, number: int, plan: Plan, base: RunResult) -> tuple[tuple[Step, ...], int]:
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
        files = self._focus(plan, base)
        path = files[(number - 1) % len(files)]
        change = next((step.change for step in plan.steps if path in step.files), "")
        made = next((step.new for step in plan.steps if path in step.files), ())
        return (Step((path,), change, made),), 1 + (number - 1) // len(files)

    def _focus(self, plan: Plan, base: RunResult) -> list[str]:
        """Files worth an attempt of their own: the plan's, then others nearly as likely.

        Files of a kept edit come last, since the rest of the bug is likely elsewhere.
        """
        ranked = self._rank(base)
        enough = max(1, max(one.score for one in ranked) // 2)
        likely = [one.path for one in ranked if one.score >= enough]
        order = [one.path for one in ranked if one.path in plan.files]
        order += [path for path in likely if path not in order] or [ranked[0].path] * (not order)
        return sorted(order[:_N_FOCUS], key=lambda path: path in self._kept)

    async def _propose(self, number: int, plan: Plan, base: RunResult) -> EditSet | None:
        """One attempt of the coder; None if its reply could not be landed."""
        steps, n_before = self._steps(number, plan, base)
        tests = {path: text for path, text in self._texts.items() if is_test(path)}
        try:
            edits = await self._coding.attempt(n_before, self.turn, steps, base, tests)
        except EditError as error:
            self._refuse(n_before, error)
            return None
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
            self.workspace.discard()
            self._refuse(0, error, edits.form)
            return False
        self._services.publish(EditApplied(turn=self.turn, role="coder", files=edits.files))
        return True

    async def _keep(
        self, edits: EditSet, base: RunResult, result: RunResult, verdict: Verdict
    ) -> bool:
        """After a FAIL: keep an edit that helped as the new base, else take it back."""
        self._log.append(f"Turn {self.turn}: {_files(edits.files)} changed; {brief(result)}.")
        self._coding.remember(edits, f"{brief(result)}: {verdict.reason}")
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

    def _refuse(self, number: int, error: EditError, form: str = "") -> None:
        asked = form or self._services.team.coder.settings.forms.at(number)
        self._services.publish(
            EditRefused(turn=self.turn, role="coder", form=asked, message=error.one_line())
        )
        self._coding.remember_refusal(error)
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
