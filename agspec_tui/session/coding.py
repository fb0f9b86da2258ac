"""The coder's part of a turn: shows it what it needs, reads its reply, lands the edit in memory."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agspec_tui.errors import EditError, UsageError
from agspec_tui.events import GenerationFinished, Warned
from agspec_tui.forms.base import Form
from agspec_tui.forms.choose import form as form_named
from agspec_tui.forms.cut import refuse_cut
from agspec_tui.forms.types import FileEdit
from agspec_tui.session.cause import cause_of
from agspec_tui.session.context import Fitted, fit
from agspec_tui.session.counting import first_error
from agspec_tui.session.draws import FIRST, Draws
from agspec_tui.session.handover import EditSet, RunResult, Step
from agspec_tui.session.lost_names import refuse_lost
from agspec_tui.session.outline import is_test
from agspec_tui.session.prompts import CoderContext, ShownFile, Tried, change_stub, coder_blocks
from agspec_tui.session.services import Services
from agspec_tui.session.shown_files import relevant_tests, whole_files
from agspec_tui.session.turn import ONLY, Candidate
from agspec_tui.session.workspace import Workspace, fingerprint, keep_allowed

_N_DIFF_REPLY_TOKENS = 1024
_N_SPARE_TOKENS = 256
_N_MIN_REPLY_TOKENS = 128


class UnreadError(EditError):
    """A reply that no form in use can read; another form may be asked for."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt that fits the context."""

    form: Form
    """Edit form it asks for."""
    fitted: Fitted
    """The user message, and what had to be left out of it."""
    max_tokens: int
    """Room for the reply, in tokens."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What an attempt is about, the same for all of its candidates."""

    number: int
    """Attempts before this one."""
    form: str
    """Edit form to ask for."""
    turn: int
    """The turn."""
    steps: Sequence[Step]
    """Steps of the plan."""
    run: RunResult
    """The failing run of the files as they are now."""
    texts: Mapping[str, str]
    """Text of the repository's files by path."""


@dataclass(slots=True)
class Coding:
    """One task's coding: remembers what was tried, so that no attempt repeats another."""

    services: Services
    """What the task works with."""
    workspace: Workspace
    """The task's files; each candidate stages its edits in a fork of it."""
    issue: str
    """The issue."""
    tests_allowed: bool
    """Whether the issue asks for changed tests."""
    action: str = ""
    """Names the last attempt's edit, whether it was refused or not; empty if there was none."""
    tried: list[Tried] = field(default_factory=list)
    """What each earlier attempt did and why it did not do."""
    _seen: dict[str, int] = field(default_factory=dict)
    """Turn of each edit by its fingerprint."""
    _preparing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Lets candidates ask in their order."""
    _warned: set[tuple[int, str]] = field(default_factory=set)
    """What was warned of in a turn: candidates would say the same many times."""
    _note: str = ""
    """What the next prompt says about the last reply."""
    _n_refused: int = 0
    """Attempts whose replies could not be used."""
    _tells_at_once: bool = False
    """Whether it does so even if it shows nothing else of what was tried."""

    @property
    def form(self) -> str:
        """The edit form that is asked for: another one where the last one led to nothing."""
        return self.services.team.coder.settings.forms.at(self._n_refused)

    async def attempt(
        self,
        number: int,
        turn: int,
        steps: Sequence[Step],
        run: RunResult,
        texts: Mapping[str, str],
        n_candidates: int = 1,
    ) -> list[EditSet]:
        """Write every step of the plan, one reply each, and land the replies together.

        A step whose reply cannot be landed is left out with a warning if another one landed.

        Args:
            number: attempts before this one.
            turn: the turn.
            steps: steps of the plan.
            run: the failing run of the files as they are now.
            texts: text of the repository's files by path.
            n_candidates: how many such edits are written at once.

        Returns:
            The edits that differ from each other and from those tried before, at least one; those
            that most candidates came to are first.

        Raises:
            EditError: no step could be landed, nothing changed, or the edit was tried before.
            EngineError: the engine refused or died.
            Interrupted: the user stopped it.
            UsageError: not even the smallest prompt fits the context.
        """
        task = _Task(number, self.form, turn, steps, run, texts)
        candidates = [Candidate(one, n_candidates) for one in range(1, n_candidates + 1)]
        replies = (self._write(task, one) for one in (candidates if n_candidates > 1 else [ONLY]))
        # All are waited for, also if one fails: none is left behind in the engine.
        written = await asyncio.gather(*replies, return_exceptions=True)
        found: dict[str, EditSet] = {}
        refusals: list[EditError] = []
        names: list[str] = []
        for edits in written:
            if isinstance(edits, EditError):
                refusals.append(edits)
                continue
            if isinstance(edits, BaseException):
                raise edits
            names.append(name := fingerprint(edits))
            earlier = self._seen.setdefault(name, turn)
            if earlier != turn:
                hint = "the next prompt shows the files otherwise"
                refusals.append(EditError(f"the same edit as in turn {earlier}", hint))
                continue
            n_alike = found[name].n_alike + 1 if name in found else 1
            found[name] = replace(found.get(name, edits), n_alike=n_alike)
        self.action = " ".join(sorted(names))
        if not found:
            self._n_refused += 1
            raise refusals[0]
        return sorted(found.values(), key=lambda edits: -edits.n_alike)

    async def _write(self, task: _Task, candidate: Candidate) -> EditSet:
        """One edit of all steps; one that was tried before or breaks others is drawn again.

        Raises:
            EditError: no step could be landed, nothing changed, or the edit loses what others use.
        """
        n_redraws = self.services.team.coder.settings.sampling.n_redraws
        draws = Draws(task.number, n_redraws if task.number else 0)
        while True:
            edits = await self._write_steps(task, candidate, draws)
            try:
                await asyncio.to_thread(refuse_lost, edits, task.texts, self.issue)
            except EditError as error:
                if not draws.spend():
                    raise
                self._warn(task.turn, f"a reply is drawn again: {error.message}", error.hint)
                continue
            earlier = self._seen.get(fingerprint(edits), task.turn)
            if earlier == task.turn or not draws.spend():
                return edits
            self._warn(task.turn, f"a reply is drawn again: the same edit as in turn {earlier}")

    async def _write_steps(self, task: _Task, candidate: Candidate, draws: Draws) -> EditSet:
        """One edit of all steps.

        Raises:
            EditError: no step could be landed, or nothing changed.
        """
        files = self.workspace.fork()
        refusals: list[EditError] = []
        for step in task.steps:
            try:
                await self._write_step(task, step, files, candidate, draws)
            except EditError as error:
                refusals.append(error)
        edits = files.edit_set(task.form)
        if not edits.changes:
            raise refusals[0] if refusals else EditError("the reply changes nothing")
        for refusal in refusals:
            self._warn(task.turn, f"one step was left out: {refusal.message}", refusal.hint)
        return edits

    def remember(self, edits: EditSet, outcome: str, output: str = "") -> None:
        """An edit did not do; `output` is that of its tests."""
        self.tried.append(Tried(change_stub(edits.diff), outcome, first_error(output)))
        self._note, self._tells_at_once = "", False

    def forget(self, edits: EditSet) -> None:
        """An edit was not tested: it may come again."""
        self._seen.pop(fingerprint(edits), None)

    def remember_refusal(self, error: EditError, *, at_once: bool = False) -> None:
        """A reply could not be landed: the next prompt that shows what was tried ends with it.

        Args:
            error: why not.
            at_once: the very next prompt does, whatever else it shows.
        """
        self._note = f"Your last answer could not be used:\n{error.report()}\n\n"
        self._tells_at_once = at_once

    async def _write_step(
        self, task: _Task, step: Step, workspace: Workspace, candidate: Candidate, draws: Draws
    ) -> None:
        """The coder's reply to a step, staged; one that cannot be used is drawn again.

        Raises:
            EditError: no reply could be staged; what was wrong with the last one.
        """
        by_cause = "cause" in self.services.team.coder.settings.context.at(task.number)
        async with self._preparing:
            context = await self._prepare(task, step, workspace)
            prompt = await self._fit(context, task)
        while True:
            draw = draws.present
            if by_cause and context.files:
                # Another cause each time; what follows from it is not drawn.
                said = await cause_of(
                    self.services, context, prompt.form, task.turn, candidate, draw
                )
                async with self._preparing:
                    prompt = await self._fit(_by(context, said), task)
                draw = FIRST
            finished = await self.services.speaker.say(
                self.services.team.coder,
                task.turn,
                prompt.fitted,
                form=prompt.form.name,
                max_tokens=prompt.max_tokens,
                candidate=candidate,
                draw=draw,
            )
            try:
                self._stage(task.turn, finished, prompt.form, context, workspace, candidate)
            except EditError as error:
                if not draws.spend():
                    raise
                self._warn(task.turn, f"a reply is drawn again: {error.message}", error.hint)
            else:
                return

    def _stage(
        self,
        turn: int,
        finished: GenerationFinished,
        form: Form,
        context: CoderContext,
        workspace: Workspace,
        candidate: Candidate,
    ) -> None:
        """Stage the edit of one reply.

        Raises:
            EditError: it is cut short, cannot be read or placed, or changes nothing.
        """
        refuse_cut(finished.stop_reason, finished.n_tokens)
        allowed = (*(file.path for file in context.files), *context.new)
        edits = self._parse(finished.text, form, allowed)
        kept, dropped = keep_allowed(
            edits, allowed, str(self.services.repo), tests_allowed=self.tests_allowed
        )
        for line in dropped:
            self._warn(turn, f"an edit was left out: {line}")
        if not kept:
            raise EditError(f"nothing to change is left: {'; '.join(dropped)}")
        # Candidates are tested before anybody could be asked.
        fuzzy = candidate is ONLY and self.services.approvals.can_ask
        if not workspace.stage(kept, fuzzy=fuzzy):
            raise EditError("the reply changes nothing", "change the lines that are wrong")

    async def _prepare(self, task: _Task, step: Step, workspace: Workspace) -> CoderContext:
        """What the coder is shown for a step; its files are then drafted from."""
        named = (*step.files, *step.new)
        step = await asyncio.to_thread(self._as_it_is, step, task.turn, workspace)
        context = self._context(task, step, workspace)
        if not context.files and not context.new:
            raise EditError(f"{', '.join(named)} cannot be read or made", "was it deleted?")
        for file in (*context.files, *context.reading):
            await self.services.index(file.path, file.text)
        return context

    def _as_it_is(self, step: Step, turn: int, workspace: Workspace) -> Step:
        """The step with the files that it made before among those to change.

        A file that is there and not of this task was not shown, and is not made anew.
        """
        mine = tuple(path for path in step.new if workspace.is_mine(path))
        others = [path for path in step.new if path not in mine]
        new = tuple(path for path in others if workspace.may_be_made(path))
        for path in others:
            if path not in new:
                self._warn(turn, f"{path} cannot be made", "it is there already, or ignored")
        return Step((*step.files, *mine), step.change, new)

    def _parse(self, reply: str, form: Form, allowed: tuple[str, ...]) -> Sequence[FileEdit]:
        """Read a reply in the form asked for, or in another form in use if it is only that."""
        try:
            return form.parse(reply, expected=allowed)
        except EditError as refused:
            for name in self.services.team.coder.settings.forms.in_use():
                if name == form.name:
                    continue
                try:
                    return form_named(name).parse(reply, expected=allowed)
                except EditError:
                    continue
            raise UnreadError(refused.message, refused.hint, refused.detail) from refused

    def _context(self, task: _Task, step: Step, workspace: Workspace) -> CoderContext:
        """What this attempt shows of all that is known."""
        show, run = self.services.team.coder.settings.context.at(task.number), task.run
        n_files = self.services.team.coder.settings.limits.n_files
        files = whole_files(workspace, step.files[:n_files])
        changed = [path for path in workspace.staged_paths if path not in step.files]
        reading = whole_files(workspace, changed)
        if "tests" in show:
            reading += relevant_tests(task.texts, run)
        return CoderContext(
            issue=self.issue,
            files=files,
            new=step.new,
            change=step.change if "plan" in show else "",
            reading=reading,
            run=run if "failure" in show and not run.ok else None,
            tried=tuple(self.tried[-3:]) if "tried" in show else (),
            note=self._note if "tried" in show or self._tells_at_once else "",
        )

    async def _fit(self, context: CoderContext, task: _Task) -> _Prompt:
        """The fullest prompt that leaves room for its reply."""
        coder, speaker = self.services.team.coder, self.services.speaker
        limit = min(coder.settings.sampling.max_tokens, self.services.config.max_tokens)
        others = (name for name in coder.settings.forms.in_use() if name != task.form)
        n_files = await speaker.count_text("".join(file.text for file in context.files))
        for name in (task.form, *others):
            form = form_named(name)
            needed = int(n_files * 1.25) + _N_SPARE_TOKENS
            if not form.complete:
                needed = min(needed, _N_DIFF_REPLY_TOKENS)
            if needed > limit:
                continue
            needed = max(needed, _N_MIN_REPLY_TOKENS)
            fitted = await fit(
                coder_blocks(context, form, coder.settings.limits),
                lambda text: speaker.count(coder, text),
                speaker.n_ctx - needed,
                lambda text: speaker.summarise(coder, task.turn, text),
            )
            if fitted is not None:
                return _Prompt(form, fitted, needed)
        largest = max(context.files, key=lambda file: len(file.text), default=ShownFile("", ""))
        raise UsageError(
            f"{largest.path or 'the prompt'} is too large for the context: {n_files} tokens "
            f"of files, {speaker.n_ctx} of context",
            "raise n_ctx in config.toml, or name a smaller file in the issue",
        )

    def _warn(self, turn: int, message: str, hint: str = "") -> None:
        if (turn, message) in self._warned:
            return
        self._warned.add((turn, message))
        self.services.publish(Warned(turn=turn, role="coder", message=message, hint=hint))


def _by(context: CoderContext, cause: str) -> CoderContext:
    """A context whose task is a cause; the tests were in view when it was found."""
    reading = [file for file in context.reading if not is_test(file.path)]
    return replace(context, change=cause or context.change, reading=reading)


def asks_for_tests(issue: str) -> bool:
    """Whether an issue wants tests changed or added; `fix the failing test` does not."""
    wish = r"(?:add|write|create|update|change|extend|adjust|correct|rewrite|edit)"
    return bool(
        re.search(rf"\b{wish}\b(?:\W+\w+){{0,4}}?\W+tests?\b", issue, re.IGNORECASE)
        or re.search(
            r"\btests?\s+(?:is|are)\s+(?:wrong|outdated|incorrect)\b", issue, re.IGNORECASE
        )
    )
