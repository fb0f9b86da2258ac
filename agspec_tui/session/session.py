"""A session: one repository, one model, one team; commands in, events out."""

import asyncio
import contextlib
import secrets
import time
from pathlib import Path

import msgspec

from agspec_tui.commands import (
    AnswerApproval,
    ConfigureDrafting,
    EditPlan,
    Interrupt,
    LoadModel,
    Quit,
    Redo,
    SessionCommand,
    SubmitTask,
    Undo,
)
from agspec_tui.config import Config, logs_dir, recordings_dir
from agspec_tui.engine.client import EngineClient
from agspec_tui.engine.watchdog import Limits
from agspec_tui.errors import AgspecError, DraftError, EngineError
from agspec_tui.events import (
    EngineEvent,
    Event,
    ModelLoaded,
    SessionFailed,
    SessionStarted,
    StepCommitted,
    TaskFinished,
    TaskSubmitted,
    TurnFinished,
    Warned,
)
from agspec_tui.session import calibration
from agspec_tui.session.approval import Approvals
from agspec_tui.session.bus import Bus
from agspec_tui.session.corpus_upkeep import CorpusUpkeep
from agspec_tui.session.crash_log import internal
from agspec_tui.session.draft_counts import DraftCounts, start_or_complain
from agspec_tui.session.egress import EgressMeter
from agspec_tui.session.gate import CommandGate, open_gate
from agspec_tui.session.interrupt import Interrupted, InterruptSwitch
from agspec_tui.session.kept_prefix import KeptPrefix
from agspec_tui.session.loading import plan_drafting, plan_load
from agspec_tui.session.repo import check_repo
from agspec_tui.session.roles import Team, load_team
from agspec_tui.session.sandbox import find_sandbox
from agspec_tui.session.services import Services
from agspec_tui.session.store import Meta
from agspec_tui.session.storing import Earlier, Storing
from agspec_tui.session.team import Outcome, TeamTask
from agspec_tui.session.testing import TestCommand, find_test_command, given
from agspec_tui.session.turn import Speaker

_CLOSE_S = 5.0


class Session:
    """Runs tasks one at a time. Use it from one event loop; everything it does is on `bus`."""

    def __init__(
        self,
        repo: Path,
        config: Config,
        *,
        test_command: str | None = None,
        auto_approve: bool = False,
        can_ask: bool = False,
        record: Path | None = None,
        earlier: Earlier | None = None,
    ) -> None:
        """Nothing is read or started until `start`.

        Args:
            repo: the repository's folder.
            config: the settings.
            test_command: the test command; None to find one.
            auto_approve: do unasked all that the repository's own settings let it do unasked.
            can_ask: somebody is there to answer questions.
            record: folder for a recording of what the engine reads and writes; None for what the
                settings say.
            earlier: a stored session to go on with; None for a new one.
        """
        self.bus = Bus()
        """The event stream."""
        self.failure: AgspecError | None = None
        """What ended the last task; None unless it failed."""
        self.egress = EgressMeter()
        """Internet sockets seen at the ends of turns."""
        self._repo = repo
        self._config = config
        self._test_text = test_command
        self._record = record or (recordings_dir() if config.record else None)
        self._interrupts = InterruptSwitch()
        self._approvals = Approvals(
            self._publish,
            self._interrupts,
            mode="full-auto" if auto_approve else config.approve,
            review_plan=config.review_plan,
            can_ask=can_ask,
        )
        self._gate: CommandGate | None = None
        self._client = EngineClient(self._on_engine_event, logs_dir(), Limits(hang_s=config.hang_s))
        self._team: Team | None = None
        self._speaker: Speaker | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._counts: DraftCounts | None = None
        self._corpus: CorpusUpkeep | None = None
        self._prefix: KeptPrefix | None = None
        self._session_id = earlier.meta.session_id if earlier else secrets.token_hex(4)
        self._storing = Storing(self.bus, repo, wanted=config.keep_sessions, earlier=earlier)

    # ── life ─────────────────────────────────────────────────────────────────────────────────────

    async def start(self) -> None:
        """Check everything that can be wrong, then load the model.

        Raises:
            AgspecError: the repository, a role, the model or the configuration is wrong, or the
                engine could not load the model.
        """
        self._repo = check_repo(self._repo)
        team = load_team()
        load, drafting = plan_load(self._config), plan_drafting(self._config)
        test = self._find_tests()
        await asyncio.to_thread(find_sandbox)
        gate = self._gate = open_gate(self._repo, self._config, self._approvals, self._publish)
        if self._record is not None:
            name = f"{time.strftime('%Y%m%d-%H%M%S')}-{self._session_id}.jsonl"
            load = msgspec.structs.replace(load, record=str(self._record.absolute() / name))
        await self._storing.start(self._meta(load.name))
        self.bus.publish(
            SessionStarted(
                session_id=self._session_id,
                repo=str(self._repo),
                model=load.name,
                roles=tuple(role.name for role in team.roles),
                drafter=drafting.drafter,
                policy=drafting.policy,
                sandbox=gate.sandbox.kind,
                approve=self._approvals.mode,
                test_command=test.display if test else "",
            )
        )
        self._corpus = CorpusUpkeep(
            self._client,
            self._publish,
            self._interrupts,
            repo=self._repo,
            config=self._config,
            team=team,
        )
        loaded = await self._client.start(load, drafting)
        if drafting.drafter != "none" and loaded.n_exact == 0:
            self._publish(
                Warned(
                    message="several tokens are decoded inexactly: drafting may change near ties",
                    hint="as set by exact = false"
                    if not load.exact
                    else "the set-up's own build of llama.cpp is exact on the CPU",
                )
            )
        await self._prepare_lengths(load, loaded, drafting)
        self._prefix = KeptPrefix(
            self._client, self._publish, config=self._config, load=load, repo=self._repo
        )
        await self._prefix.take_up()
        self._team = team
        self._speaker = Speaker(self._client, self._publish, self._interrupts, loaded.n_ctx)

    def _meta(self, model: str) -> Meta:
        return Meta(
            session_id=self._session_id,
            repo=str(self._repo),
            model=model,
            test_command=self._test_text or "",
            settings=msgspec.json.encode(self._config).decode(),
            started_s=time.time(),
        )

    async def _prepare_lengths(
        self, load: LoadModel, loaded: ModelLoaded, drafting: ConfigureDrafting
    ) -> None:
        """Let drafts be decided by what they cost here and by how far they held until now."""
        is_model = calibration.is_measurable(load)
        counts = DraftCounts(loaded, self._config, is_model=is_model)
        profile, error = start_or_complain(counts, is_named=bool(self._config.profile))
        if error is not None:
            self._complain(error)
        self._counts = counts
        found = await self._measured(load, loaded)
        drafting = calibration.with_cost(drafting, found, self._config, loaded.device)
        await self._client.configure(msgspec.structs.replace(drafting, profile=profile))

    async def _measured(
        self, load: LoadModel, loaded: ModelLoaded
    ) -> calibration.Calibration | None:
        """What drafts cost here; without that, the defaults stand."""
        measuring = calibration.measured_once(
            self._client, load, loaded, self._config, self._complain, self._config.candidates
        )
        try:
            return await self._interrupts.guard(measuring)
        except Interrupted:
            self._publish(Warned(message="measuring was stopped", hint="the next start does it"))
            return None

    def _complain(self, error: AgspecError) -> None:
        self._publish(Warned(message=error.message, hint=error.hint))

    async def send(self, command: SessionCommand) -> None:
        """Take one command; returns at once, what it leads to is on the bus."""
        match command:
            case SubmitTask():
                self._submit(command.text)
            case Undo():
                self._take_back(again=False)
            case Redo():
                self._take_back(again=True)
            case AnswerApproval():
                self._approvals.take(command)
            case EditPlan():
                self._approvals.take_plan(command)
            case Interrupt():
                self._interrupts.press()
            case Quit():
                self._begin_close()

    async def close(self) -> None:
        """Stop the running task, put its files back, and end the engine. Safe to call twice."""
        await self._begin_close()

    def _begin_close(self) -> asyncio.Task[None]:
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        return self._closing

    async def _close(self) -> None:
        self._interrupts.press()
        if self._task is not None and not self._task.done():
            _, late = await asyncio.wait({self._task}, timeout=_CLOSE_S)
            for task in late:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        try:
            if self._corpus is not None:
                await self._corpus.stop()
            if self._prefix is not None:
                await self._prefix.keep()
        finally:
            await self._client.close()
            self._keep_counts()
            await self._storing.close()

    def _keep_counts(self) -> None:
        """Leave to the next session what this one's drafts have shown."""
        if self._counts is None:
            return
        try:
            self._counts.keep()
        except DraftError as error:
            self._complain(error)

    # ── tasks ────────────────────────────────────────────────────────────────────────────────────

    def _submit(self, text: str) -> None:
        if not self._is_free():
            return
        if not text.strip():
            self._publish(Warned(message="the issue is empty", hint="say what is wrong"))
        else:
            self._interrupts.clear()
            self._task = asyncio.get_running_loop().create_task(self._run_task(text))

    def _take_back(self, *, again: bool) -> None:
        if self._is_free():
            work = self._taken_back(again=again)
            self._task = asyncio.get_running_loop().create_task(work)

    async def _taken_back(self, *, again: bool) -> None:
        try:
            await self._storing.take_back(again=again)
        except Exception as error:
            self._complain(internal(error))

    def _is_free(self) -> bool:
        """Whether work can begin; says so if other work is under way."""
        if self._closing is not None:
            return False
        if self._task is not None and not self._task.done():
            self._publish(Warned(message="a task is running", hint="stop it first"))
            return False
        return True

    async def _run_task(self, text: str) -> None:
        """One task from `TaskSubmitted` to `TaskFinished`, whatever happens between."""
        started = time.monotonic()
        self.failure = None
        self._publish(TaskSubmitted(text=text))
        task: TeamTask | None = None
        try:
            task = TeamTask(self._ready(), text, self._storing.next_turn)
            outcome = await task.work()
        except Interrupted:
            outcome = Outcome("cancelled", "Stopped by the user.")
        except AgspecError as error:
            outcome = self._failed(error)
        except asyncio.CancelledError:
            outcome = Outcome("cancelled", "The session was closed.")
        except Exception as error:
            # The turn boundary: a bug ends the task, never the session.
            outcome = self._failed(internal(error))
        diff = await self._settle(task, outcome)
        self._publish(
            TaskFinished(
                status=outcome.status,
                summary=outcome.summary,
                diff=diff,
                wall_s=time.monotonic() - started,
            )
        )

    async def _settle(self, task: TeamTask | None, outcome: Outcome) -> str:
        """Keep a fix, put anything else back; returns the diff of what is changed on disk."""
        if task is None:
            return ""
        self._storing.next_turn = task.turn + 1
        try:
            if outcome.status not in ("fixed", "edited", "answered"):
                await task.put_back(_WHY[outcome.status])
            return await asyncio.to_thread(task.workspace.diff)
        except AgspecError as error:
            failed: AgspecError = error
        except Exception as error:
            failed = internal(error)
        reason = f"files could not be put back or compared: {failed.message}"
        self._publish(Warned(message=reason, hint=failed.hint))
        return ""

    def _ready(self) -> Services:
        """What a task needs.

        Raises:
            EngineError: no model is loaded.
        """
        if not (self._speaker and self._team and self._gate and self._corpus):
            raise EngineError("no model is loaded", "wait until it is")
        return Services(
            repo=self._repo,
            config=self._config,
            team=self._team,
            speaker=self._speaker,
            interrupts=self._interrupts,
            test_command=self._find_tests(),
            publish=self._publish,
            index=self._corpus.index,
            refresh=self._corpus.refresh,
            undo=self._storing.undo,
            approvals=self._approvals,
            gate=self._gate,
        )

    def _find_tests(self) -> TestCommand | None:
        return given(self._test_text) if self._test_text else find_test_command(self._repo)

    def _failed(self, error: AgspecError) -> Outcome:
        self.failure = error
        self._publish(SessionFailed(message=error.message, hint=error.hint))
        return Outcome("failed", error.one_line())

    # ── services ─────────────────────────────────────────────────────────────────────────────────

    def _publish(self, event: Event) -> None:
        self.bus.publish(event)
        if isinstance(event, TurnFinished):
            self.egress.sample(self._client.pid)

    def _on_engine_event(self, event: EngineEvent) -> None:
        if isinstance(event, StepCommitted) and self._counts is not None:
            self._counts.take(event)
        self.bus.publish(event)


_WHY = {
    "planned": "only a plan was made",
    "not_fixed": "the issue was not fixed",
    "cancelled": "the task was stopped",
    "failed": "the task could not go on",
}
