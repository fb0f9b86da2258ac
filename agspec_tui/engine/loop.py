"""The decode loop: draft, verify, roll back, commit, learn; for all generations that are under way.

    newest token x₀, not yet in the cache; match m in the corpora; K by the policy
    decode  [x₀ x₁ … x_D]   one target pass, D + 1 logit rows, for each sequence
    verify   ✓  ✓  …  ✗     A accepted, then the target's own choice: the bonus token
    trim the cache to x₀ … x_A; commit x₁ … x_A and the bonus, which is the next x₀

Between steps the cache holds exactly the committed tokens but the newest one, or, as long as a
prompt is being read, a beginning of them.
"""

import time
from collections.abc import Callable

from agspec_tui.commands import Generate
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Drafter, Piece
from agspec_tui.engine.cache import KvCache
from agspec_tui.engine.evidence import evidence_of
from agspec_tui.engine.forced_chooser import forced_or
from agspec_tui.engine.generation import Generation, Proposal
from agspec_tui.engine.lanes import Lanes
from agspec_tui.engine.loop_guard import guard_of
from agspec_tui.engine.passes import Pass, Turns, before_eog, parts_of, room_of
from agspec_tui.engine.prompt import PromptBuilder
from agspec_tui.engine.reply import Reply
from agspec_tui.engine.source_lines import SourceLines
from agspec_tui.engine.step_event import PassTimes, Step, step_event
from agspec_tui.engine.types import Backend, Cancelled, Chooser, Logits, NoWatch, Part, Watch
from agspec_tui.errors import AgspecError, EngineError
from agspec_tui.events import EngineEvent
from agspec_tui.policy.sharing import share
from agspec_tui.policy.types import Ask, Outcome, Policy

_N_NEXT = 1
"""Cells that a step needs without a draft: for the bonus token, which the next step decodes. That
of the newest token is kept free."""


class Decoder:
    """Generates replies with one backend; owns the sequences in its cache."""

    def __init__(
        self,
        backend: Backend,
        drafter: Drafter,
        policy: Policy,
        emit: Callable[[EngineEvent], None],
        n_slots: int = 4,
        watch: Watch | None = None,
        before_pass: Callable[[], None] = lambda: None,
    ) -> None:
        """Decode with a backend.

        Args:
            backend: the target.
            drafter: what proposes.
            policy: how much is proposed.
            emit: takes the events; never blocks.
            n_slots: sequences that the cache may hold.
            watch: what follows the loop from within; None for nothing.
            before_pass: called when the loop is about to wait for the target.
        """
        self.policy = policy
        self.lines = SourceLines(backend.detokenize, backend.n_vocab)
        self.active: list[Generation] = []
        """Generations under way, whoever had a turn longest ago first."""
        self._backend = backend
        self._emit = emit
        self._watch = watch or NoWatch()
        self._before_pass = before_pass
        self._prompts = PromptBuilder(backend)
        self._lanes = Lanes(drafter)
        self._cache = KvCache(backend, n_slots)
        self._turns = Turns(backend, self._reads_now)
        self._pass_ended_s = 0.0
        self._n_aborted = 0
        self._prepared: tuple[Generate, list[Piece], list[int], Chooser, Reply] | None = None

    @property
    def drafter(self) -> Drafter:
        """The drafter of a generation that is alone; its files are those of all others, too."""
        return self._lanes.first

    @drafter.setter
    def drafter(self, drafter: Drafter) -> None:
        """Another drafter from now on. Nothing is under way."""
        self._lanes.replace(drafter)

    @property
    def cache(self) -> KvCache:
        """The sequences and what they hold."""
        return self._cache

    @property
    def prompts(self) -> PromptBuilder:
        """What makes prompts of transcripts."""
        return self._prompts

    @property
    def rollback(self) -> bool:
        """Whether rejected tokens can be trimmed from the cache; if not, nothing is drafted."""
        return self._cache.rollback

    def reset(self, *, keep_cache: bool = False) -> None:
        """Drop the corpora, every α and, unless told otherwise, every cached sequence."""
        if not keep_cache:
            self.drop_cache()
        self._lanes.reset()
        self.policy.reset()
        self.lines.clear()

    def drop_cache(self) -> None:
        """Drop every cached sequence; the prompts are read again."""
        self._cache.clear()

    def pieces(self, command: Generate) -> list[Piece]:
        """The prompt of a generation as token ids, a piece a message."""
        return self._prompts.pieces(command.sequence, command.messages, command.said)

    # ── generations ──────────────────────────────────────────────────────────────────────────────

    def generate(
        self,
        command: Generate,
        cancelled: Callable[[], bool],
        pieces: list[Piece] | None = None,
    ) -> None:
        """Run one generation to its end; emits its events, the last one `GenerationFinished`.

        Args:
            command: what to generate.
            cancelled: whether to stop.
            pieces: the prompt, where it is known already.

        Raises:
            EngineError: the prompt does not fit, the grammar is wrong, or the target failed.
        """
        generation = self.begin(command, pieces)
        if generation is None:
            raise EngineError("other replies leave no room", "wait until one has ended")
        while not generation.is_over:
            self.step(lambda request: cancelled())
        if generation.failure is not None:
            raise generation.failure

    def begin(self, command: Generate, pieces: list[Piece] | None = None) -> Generation | None:
        """Let a generation take part in the passes that follow.

        Returns:
            None if there is no sequence or no room for it as long as others are under way.

        Raises:
            EngineError: the prompt does not fit, or the grammar is wrong.
        """
        prepared, self._prepared = self._prepared, None
        if prepared is None or prepared[0] is not command:  # else it has waited for room
            pieces = self.pieces(command) if pieces is None else pieces
            ids = [token for piece in pieces for token in piece.ids]
            prepared = command, pieces, ids, self._chooser(command, ids), self._reply(command, ids)
        _, pieces, ids, chooser, reply = prepared
        placed = self._cache.place(command.sequence, command.request, ids, len(command.said))
        if placed is None:
            self._prepared = prepared
            return None
        lane, drafter = self._lanes.take()
        generation = Generation(command, pieces, ids, placed, reply, chooser, drafter, lane)
        self.active.append(generation)
        self._emit(generation.progress())
        return generation

    def _chooser(self, command: Generate, prompt: list[int]) -> Chooser:
        """What chooses the reply, brought to where the reply goes on."""
        target = self._backend.chooser(command.sampling, command.grammar, prompt)
        chooser = forced_or(command, target)
        chooser.resume(command.said)
        return chooser

    def _reply(self, command: Generate, prompt: list[int]) -> Reply:
        guard = guard_of(command, prompt)
        reply = Reply(self._backend, command.n_most, command.stop, guard=guard)
        reply.resume(command.said)
        return reply

    def step(self, cancelled: Callable[[int], bool]) -> list[Generation]:
        """Run the target once for whoever is under way; the ones that are over then.

        Args:
            cancelled: whether a request is to be stopped.
        """
        # First this, then a look at who is cancelled: a cancel in between aborts the next pass.
        self._backend.abort(on=False)
        for one in self.active:
            if cancelled(one.request):
                one.aborted |= one.n_unread > 0
                one.reply.end("cancelled")
        over = self._end_all()  # nobody waits any longer for a prefix that they were reading
        live = self._live()
        if live:
            self._run(self._with_room(live), cancelled)
        return over + self._end_all()

    def fail(self, error: AgspecError) -> list[Generation]:
        """End everything that is under way, since something went wrong; what was ended."""
        over = list(self.active)
        for one in over:
            one.failure = error
            self._end(one)
        return over

    def _end_all(self) -> list[Generation]:
        """Take leave of those that are over."""
        over = [one for one in self.active if one.is_over]
        for one in over:
            self._end(one)
        return over

    def _end(self, one: Generation) -> None:
        self.active.remove(one)
        self._lanes.give_back(one.lane)
        self._cache.release(one.sequence)
        if one.failure is None:
            self._watch.ended(len(one.sequence.tokens), aborted=one.aborted)
            self._emit(one.finished(self.policy.alpha(one.command.role)))

    # ── passes ───────────────────────────────────────────────────────────────────────────────────

    def _live(self) -> list[Generation]:
        """Who is under way and has cells; who was put off comes back, the oldest first."""
        for one in sorted(self.active, key=lambda one: one.request):
            if one.is_put_off and not self._cache.resume(one.sequence, one.transcript):
                break
        return [one for one in self.active if not one.is_put_off]

    def _with_room(self, live: list[Generation]) -> Pass:
        """Who takes part in the next pass; the youngest gives way where there is no room."""
        while True:
            present = self._turns.next_pass(live)
            if self._cache.make_room(_N_NEXT * len(present.saying)) or len(live) == 1:
                return present
            # It is read again once there is room: nothing of it is lost but time.
            youngest = max(live, key=lambda one: one.request)
            live.remove(youngest)
            self._cache.put_off(youngest.sequence)

    def _run(self, present: Pass, cancelled: Callable[[int], bool]) -> None:
        """One pass; whatever happens, the cache holds committed tokens and nothing else then."""
        for _ in present.reading:
            self._watch.reading(rollback=self.rollback)
        if present.saying:
            self._watch.stepping()
        started = time.perf_counter()
        try:
            self._propose(present)
            proposed = time.perf_counter()
            parts = parts_of(present, self._backend)
            self._before_pass()
            verified = self._verify(present, parts, self._backend.decode(parts))
        except Cancelled:
            self._undo(present)
            self._stop(present, cancelled)
            return
        except AgspecError as error:
            self._undo(present)
            for one in present.all:
                one.failure = error
            return
        decoded, n_saying = time.perf_counter(), len(present.saying)
        self._n_aborted = 0
        times = PassTimes(started, proposed, decoded, self._pass_ended_s, n_saying)
        self._pass_ended_s = times.decoded
        for one, (n_accepted, bonus) in verified:
            self._take(one, n_accepted, bonus, times)
        for one, part in zip(present.reading, parts[n_saying:], strict=False):
            self._read(one, part)
        for one in present.all:  # whoever had a turn goes to the end
            self.active.remove(one)
            self.active.append(one)

    def _stop(self, present: Pass, cancelled: Callable[[int], bool]) -> None:
        """A pass was aborted: whoever is cancelled ends.

        An abort may have been meant for a reply that has ended meanwhile; then the pass is tried
        again. A target that aborts of itself, as a recorded one, aborts that one, too.
        """
        stopped = [one for one in self.active if cancelled(one.request)]
        self._n_aborted = 0 if stopped else self._n_aborted + 1
        for one in stopped or (present.all if self._n_aborted > 1 else ()):
            one.aborted = True
            one.reply.end("cancelled")

    def _undo(self, present: Pass) -> None:
        self._backend.abort(on=False)
        for one in present.all:
            self._cache.trim(one.sequence, len(one.sequence.tokens))

    def _verify(
        self, present: Pass, parts: list[Part], rows: Logits
    ) -> list[tuple[Generation, tuple[int, int]]]:
        """Of each draft how much the target agrees with, and its own choice behind that.

        All of them before anything is committed: winding back may run the target, and rows are
        gone then.
        """
        verified = []
        row = 0
        for one, part in zip(present.saying, parts, strict=False):
            try:
                draft = one.proposal.draft.ids
                verified.append((one, one.chooser.verify(rows[row : row + part.n_logits], draft)))
            except AgspecError as error:
                one.failure = error
            row += part.n_logits
        return verified

    def _reads_now(self, one: Generation) -> bool:
        """Whether a prompt should be read on; what another one has read of it meanwhile is taken.

        Nothing may be left to read then.
        """
        n_before = len(one.sequence.tokens)
        may_read = self._cache.may_read(one.sequence)
        if len(one.sequence.tokens) > n_before:
            self._emit(one.progress())
        return may_read and one.n_unread > 0

    def _read(self, one: Generation, part: Part) -> None:
        """A chunk of the transcript is in the cache."""
        one.sequence.tokens += part.ids
        self._emit(one.progress())

    def _begin_saying(self, one: Generation) -> None:
        """The prompt has been read."""
        if one.command.drafting:
            one.drafter.begin(one.command.sequence, one.pieces)
        one.read_s = time.perf_counter()

    # ── steps ────────────────────────────────────────────────────────────────────────────────────

    def _propose(self, present: Pass) -> None:
        """A draft for everyone who takes a step; the drafts share what room the pass has."""
        saying = present.saying
        n_free = self._cache.n_free - _N_NEXT * len(saying)
        matches, asks = [], []
        for one in saying:
            if not one.read_s:
                self._begin_saying(one)
            match = one.drafter.match() if one.command.drafting else NO_MATCH
            matches.append(match)
            evidence = evidence_of(match, one.command.form)
            asks.append(Ask(one.command.role, evidence, room_of(one, self._backend)))
        n_most = max(0, min(present.n_to_draft, n_free))
        budgets = share(self.policy, asks, n_most, present.n_to_read)
        for one, match, budget in zip(saying, matches, budgets, strict=True):
            draft = one.drafter.draft(match, budget.k) if budget.k > 0 else NO_DRAFT
            one.proposal = Proposal(match, budget, before_eog(draft, self._backend))

    def _take(self, one: Generation, n_accepted: int, bonus: int, times: PassTimes) -> None:
        """Commit what the target agreed with, and its own choice behind that."""
        reply, sequence, draft = one.reply, one.sequence, one.proposal.draft
        n_past, n_chars = len(sequence.tokens), len(reply.text)
        taken, n_accepted_chars = reply.commit(draft.ids[:n_accepted], bonus)
        block = [one.transcript[-1], *draft.ids]
        # A stop inside the accepted run leaves tokens in the cache that were never committed.
        sequence.tokens += block[: 1 + min(n_accepted, len(taken))]
        if len(sequence.tokens) < n_past + len(block):
            self._cache.trim(sequence, len(sequence.tokens))
        one.transcript += taken
        self._watch.chose((*draft.ids[:n_accepted], bonus), rollback=self.rollback)
        reply.n_steps += 1
        reply.n_drafted += len(draft.ids)
        reply.n_accepted += n_accepted
        if one.command.drafting:
            self._learn(one, n_accepted, taken)
        if len(self.active) == 1 and not self._cache.make_room(_N_NEXT):
            reply.end("context")
        step = Step(taken, reply.text[n_chars:], n_accepted_chars, n_accepted)
        self._emit(step_event(one, step, times, self.policy, self.lines))

    def _learn(self, one: Generation, n_accepted: int, taken: list[int]) -> None:
        """Tell policy and drafter what was drafted, accepted and committed."""
        proposal, n_drafted = one.proposal, len(one.proposal.draft.ids)
        censored = proposal.budget.censored or n_drafted < proposal.budget.k
        outcome = Outcome(n_drafted, n_accepted, censored)
        evidence = evidence_of(proposal.match, one.command.form)
        self.policy.observe(one.command.role, evidence, outcome)
        if n_drafted:
            one.drafter.observe(n_drafted, n_accepted)
        one.drafter.feed(taken)
