"""The planner's part of a task: ranks files, lets the planner look and plan, asks the person."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from agspec_tui.errors import UsageError
from agspec_tui.events import Looked, PlanProposed, PlanStep, Warned
from agspec_tui.session.actions import ActionLoop
from agspec_tui.session.context import Fitted, fit, joined
from agspec_tui.session.handover import Plan, RunResult
from agspec_tui.session.looking import Look, read_look, show
from agspec_tui.session.outline import RankedFile, n_listed, rank
from agspec_tui.session.plan import edited_plan, read_plan
from agspec_tui.session.prompts import planner_blocks
from agspec_tui.session.repo import may_be_made, why_not_made, why_unread
from agspec_tui.session.services import Services
from agspec_tui.session.workspace import scan

_N_SAME_LOOKS = 2
"""Times the same look, or round of looks, comes in a row before the planner has to plan."""


@dataclass(slots=True)
class Planning:
    """One task's planning; keeps the texts that later turns rank again."""

    services: Services
    """What the task works with."""
    issue: str
    """The issue."""
    texts: dict[str, str] = field(default_factory=dict)
    """Text of every file an agent may see, by path, as of the plan."""
    n_unread: int = 0
    """Files an agent may see whose text is not there, because there are too many."""
    _ranked: tuple[RunResult, list[RankedFile]] | None = None
    """The last ranking, and the run it was made by."""

    async def plan(self, turn: int, base: RunResult, *, tests_allowed: bool) -> Plan:
        """Let the planner say which files to change; fall back to the likeliest.

        Raises:
            EngineError: the engine refused or died.
            Interrupted: the user stopped it.
            PlanRejected: the person does not want to work by the plan.
            UsageError: there is no source file, or the issue does not fit the context.
        """
        candidates = await self.candidates(base)
        if not candidates:
            raise UsageError(
                "the repository has no source file to change", "is it the right folder?"
            )
        limits = self.services.team.planner.settings.limits
        reply = await self._reply(turn, candidates, base)
        plan = await asyncio.to_thread(
            read_plan,
            reply,
            candidates,
            limits,
            seen=self.texts,
            may_be_made=self._may_be_made,
            tests_allowed=tests_allowed,
        )
        if plan.fallback:
            self._warn(
                turn, plan.fallback, f"the likeliest files are taken: {', '.join(plan.files)}"
            )
        if plan.dropped:
            self._warn(
                turn,
                f"the plan is larger than it may be; left out: {', '.join(plan.dropped)}",
                f"n_steps = {limits.n_steps}, n_files = {limits.n_files} of the planner's limits",
            )
        steps = shown_steps(plan)
        self.services.publish(PlanProposed(turn=turn, role="planner", steps=steps))
        return await self._reviewed(turn, plan, steps)

    async def candidates(self, base: RunResult) -> list[RankedFile]:
        """Read the repository, and rank its source files."""
        self.texts, self.n_unread = await asyncio.to_thread(scan, self.services.repo)
        if self.n_unread:
            self._warn(
                0,
                f"{self.n_unread} files of the repository were not read: it is too large",
                "open a part of it, or let .gitignore leave files out",
            )
        self._ranked = None
        return await self.ranked(base)

    async def ranked(self, run: RunResult) -> list[RankedFile]:
        """The source files, the likeliest by the issue and a run first."""
        if self._ranked is None or self._ranked[0] is not run:
            found = await asyncio.to_thread(rank, self.texts, self.issue, run.output, run.failing)
            self._ranked = run, found
        return self._ranked[1]

    async def _reviewed(self, turn: int, plan: Plan, steps: tuple[PlanStep, ...]) -> Plan:
        """The plan as the person wants it; as it is where nobody is asked."""
        asked, problem = steps, ""
        while True:
            asked = await self.services.approvals.ask_plan(asked, turn, problem)
            if asked == steps:
                return plan
            # Also a plain yes to steps that were refused before: they are what is on the screen.
            try:
                plan = await asyncio.to_thread(edited_plan, asked, self.texts, self._why_not_made)
            except UsageError as error:
                self._warn(turn, error.message, error.hint)
                problem = error.one_line()
                continue
            self.services.publish(PlanProposed(turn=turn, role="user", steps=shown_steps(plan)))
            return plan

    def _may_be_made(self, path: str) -> bool:
        return may_be_made(self.services.repo, path)

    def _why_not_made(self, path: str) -> str:
        return why_not_made(self.services.repo, path)

    async def _reply(self, turn: int, candidates: Sequence[RankedFile], base: RunResult) -> str:
        """The planner's plan as generated, after what it wanted to look at."""
        planner, speaker = self.services.team.planner, self.services.speaker
        limits = planner.settings.limits
        is_offered = bool(planner.look_grammar) and len(candidates) > limits.n_plain_files
        loop, looks = ActionLoop(_N_SAME_LOOKS, _N_SAME_LOOKS), list[tuple[str, str]]()
        n_left = limits.n_looks
        listed = candidates[: limits.n_list_lines]
        n_lines = await n_listed(speaker.count_text, listed, limits.n_map_tokens)
        while True:
            n_offered = n_left if is_offered else 0
            grammar = planner.look_grammar if n_offered else planner.grammar
            prompt = await self._prompt(candidates, n_lines, base, looks, n_offered)
            asked = replace(planner, grammar=grammar)
            said = (await speaker.say(asked, turn, prompt)).text
            look = read_look(said)
            if look is None or n_left == 0:
                return said
            n_left -= 1
            if loop.take(look.line()) == "stop":
                self._warn(
                    turn, f"the planner looks at the same again: {look.line()}", "it plans now"
                )
                n_left = 0
                continue
            looks.append((look.line(), await self._show(turn, look)))

    async def _show(self, turn: int, look: Look) -> str:
        def why(path: str) -> str:
            return why_unread(self.services.repo, path)

        shown = await asyncio.to_thread(show, look, self.texts, self.n_unread, why)
        self.services.publish(
            Looked(turn=turn, role="planner", what=look.line(), n_lines=shown.n_lines)
        )
        return shown.text

    async def _prompt(
        self,
        candidates: Sequence[RankedFile],
        n_lines: int,
        base: RunResult,
        looks: Sequence[tuple[str, str]],
        n_looks_left: int,
    ) -> Fitted:
        """The planner's prompt, with fewer of the unlikely files where it would not fit."""
        planner, speaker = self.services.team.planner, self.services.speaker
        limits = planner.settings.limits
        room = speaker.room(planner)
        n_all = min(limits.n_list_lines, len(candidates))
        while True:
            limits = msgspec.structs.replace(limits, n_list_lines=n_lines)
            blocks = planner_blocks(self.issue, candidates, base, limits, looks, n_looks_left)
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

    def _warn(self, turn: int, message: str, hint: str = "") -> None:
        self.services.publish(Warned(turn=turn, message=message, hint=hint))


def shown_steps(plan: Plan) -> tuple[PlanStep, ...]:
    """A plan as events have it."""
    return tuple(
        PlanStep(files=(*step.files, *step.new), change=step.change) for step in plan.steps
    )
