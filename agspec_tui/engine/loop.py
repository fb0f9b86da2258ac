"""The decode loop: draft, verify, roll back, commit, learn.

    newest token x₀, not yet in the cache; match m in the corpora; K by the policy
    decode  [x₀ x₁ … x_D]   one target pass, D + 1 logit rows
    verify   ✓  ✓  …  ✗     A accepted, then the target's own choice: the bonus token
    trim the cache to x₀ … x_A; commit x₁ … x_A and the bonus, which is the next x₀

Between steps the cache holds exactly the committed tokens but the newest one.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from agspec_tui.commands import Generate
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Drafter, Match, Piece
from agspec_tui.engine.cache import KvCache
from agspec_tui.engine.evidence import evidence_of
from agspec_tui.engine.forced_chooser import forced_or, most_tokens
from agspec_tui.engine.loop_guard import guard_of
from agspec_tui.engine.prompt import PromptBuilder
from agspec_tui.engine.reply import Reply
from agspec_tui.engine.sequence import Sequence
from agspec_tui.engine.source_lines import SourceLines
from agspec_tui.engine.types import Backend, Cancelled, Chooser, NoWatch, Watch
from agspec_tui.errors import EngineError
from agspec_tui.events import EngineEvent, GenerationFinished, PrefillProgressed, StepCommitted
from agspec_tui.policy.types import Budget, Outcome, Policy

# A chunk takes about a second on a small CPU, so progress is seen and the rate stays near its best.
_PREFILL_CHUNK = 128


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
    ) -> None:
        self.drafter = drafter
        self.policy = policy
        self.lines = SourceLines(backend.detokenize, backend.n_vocab)
        self._backend = backend
        self._emit = emit
        self._watch = watch or NoWatch()
        self._prompts = PromptBuilder(backend)
        self._cache = KvCache(backend, n_slots)

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
        self.drafter.reset()
        self.policy.reset()
        self.lines.clear()

    def drop_cache(self) -> None:
        """Drop every cached sequence; the prompts are read again."""
        self._cache.clear()

    def pieces(self, command: Generate) -> list[Piece]:
        """The prompt of a generation as token ids, a piece a message."""
        return self._prompts.pieces(command.sequence, command.messages, command.said)

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
        pieces = self.pieces(command) if pieces is None else pieces
        ids = [token for piece in pieces for token in piece.ids]
        chooser = self._chooser(command, ids)
        placed = self._cache.place(command.sequence, command.request, ids, len(command.said))
        if placed is None:
            raise EngineError("every sequence is busy", "wait until a reply has ended")
        sequence, n_reused = placed.sequence, placed.n_reused
        guard = guard_of(command, ids)
        reply = Reply(self._backend, most_tokens(command), command.stop, guard=guard)
        reply.resume(command.said)
        started = read = time.perf_counter()
        aborted = False
        try:
            self._prefill(command, sequence, ids, n_reused, cancelled)
            if command.drafting:
                self.drafter.begin(command.sequence, pieces)
            read = time.perf_counter()
            newest = ids[-1]
            while not reply.stop_reason:
                newest = self._step(command, sequence, reply, chooser, newest)
                if cancelled():
                    reply.end("cancelled")
        except Cancelled:
            aborted = True
            reply.end("cancelled")
        finally:
            # Whatever happened, the cache must hold the committed tokens and nothing else.
            self._backend.abort(on=False)
            self._cache.release(sequence)
        ended = time.perf_counter()
        if read == started:  # cancelled in prefill
            read = ended
        self._watch.ended(len(sequence.tokens), aborted=aborted)
        self._emit(
            self._finished(
                command,
                reply,
                n_prompt=len(ids),
                n_reused=n_reused,
                broken_by=placed.broken_by(pieces),
                prefill_s=read - started,
                decode_s=ended - read,
            )
        )

    def _chooser(self, command: Generate, prompt: list[int]) -> Chooser:
        """What chooses the reply, brought to where the reply goes on."""
        target = self._backend.chooser(command.sampling, command.grammar, prompt)
        chooser = forced_or(command, target)
        chooser.resume(command.said)
        return chooser

    def _finished(
        self,
        command: Generate,
        reply: Reply,
        *,
        n_prompt: int,
        n_reused: int,
        broken_by: str,
        prefill_s: float,
        decode_s: float,
    ) -> GenerationFinished:
        return GenerationFinished(
            turn=command.turn,
            role=command.role,
            request=command.request,
            stop_reason=reply.stop_reason,
            loop_period=reply.loop.period if reply.loop else 0,
            n_loops=reply.loop.n_times if reply.loop else 0,
            text=reply.text,
            ids=tuple(reply.ids),
            n_prompt=n_prompt,
            n_reused=n_reused,
            broken_by=broken_by,
            n_tokens=reply.n_tokens,
            n_steps=reply.n_steps,
            n_drafted=reply.n_drafted,
            n_accepted=reply.n_accepted,
            prefill_s=prefill_s,
            decode_s=decode_s,
            alpha=self.policy.alpha(command.role),
        )

    def _prefill(
        self,
        command: Generate,
        sequence: Sequence,
        ids: list[int],
        n_reused: int,
        cancelled: Callable[[], bool],
    ) -> None:
        started = time.perf_counter()
        end = len(ids) - 1
        chunk = min(_PREFILL_CHUNK, self._backend.n_batch)
        while True:
            n_done = len(sequence.tokens)
            seconds = time.perf_counter() - started
            self._watch.reading(rollback=self.rollback)
            self._emit(
                PrefillProgressed(
                    turn=command.turn,
                    role=command.role,
                    request=command.request,
                    n_done=n_done if n_done < end else len(ids),
                    n_total=len(ids),
                    n_reused=n_reused,
                    tok_per_s=(n_done - n_reused) / seconds if n_done > n_reused else 0.0,
                )
            )
            if n_done >= end:
                return
            if cancelled():
                raise Cancelled
            part = ids[n_done : min(n_done + chunk, end)]
            self._backend.decode(part, n_done, sequence.slot, 0)
            sequence.tokens += part

    def _step(
        self, command: Generate, sequence: Sequence, reply: Reply, chooser: Chooser, newest: int
    ) -> int:
        """One step; returns the newest token, which is committed but not yet in the cache."""
        self._watch.stepping()
        started = time.perf_counter()
        room = self._room(sequence, reply)
        match, budget, draft = self._propose(command, room)
        proposed = time.perf_counter()
        n_past = len(sequence.tokens)
        block = [newest, *draft.ids]
        logits = self._backend.decode(block, n_past, sequence.slot, len(block))
        n_accepted, bonus = chooser.verify(logits, draft.ids)
        decoded = time.perf_counter()
        loop_s = reply.since_last_pass(proposed, decoded)
        n_chars = len(reply.text)
        taken, n_accepted_chars = reply.commit(draft.ids[:n_accepted], bonus)
        # A stop inside the accepted run leaves tokens in the cache that were never committed.
        sequence.tokens += block[: 1 + min(n_accepted, len(taken))]
        if len(sequence.tokens) < n_past + len(block):
            self._cache.trim(sequence, len(sequence.tokens))
        self._watch.chose((*draft.ids[:n_accepted], bonus), rollback=self.rollback)
        reply.n_steps += 1
        reply.n_drafted += len(draft.ids)
        reply.n_accepted += n_accepted
        if command.drafting:
            censored = budget.censored or len(draft.ids) < budget.k
            self._learn(command.role, match, Outcome(len(draft.ids), n_accepted, censored))
            self.drafter.feed(taken)
        # One cell each for the newest token and the bonus token of a next step.
        if not self._cache.make_room(2):
            reply.end("context")
        self._emit(
            StepCommitted(
                turn=command.turn,
                role=command.role,
                request=command.request,
                step=reply.n_steps,
                ids=tuple(taken),
                text=reply.text[n_chars:],
                n_accepted_chars=n_accepted_chars,
                n_drafted=len(draft.ids),
                n_accepted=n_accepted,
                match_len=match.length,
                n_seen=match.n_seen,
                n_group=match.n_group,
                source=draft.source,
                document=draft.document,
                offset=draft.offset,
                line=self.lines.line(draft.document, draft.offset) if draft.document else 0,
                budget=budget.k,
                cap=self.policy.cap(command.role),
                alpha=self.policy.alpha(command.role),
                decode_us=(decoded - proposed) * 1e6,
                draft_us=(proposed - started) * 1e6,
                n_context=len(sequence.tokens),
                loop_us=loop_s * 1e6,
            )
        )
        return bonus

    def _learn(self, role: str, match: Match, outcome: Outcome) -> None:
        """Tell policy and drafter what was drafted and accepted."""
        self.policy.observe(role, evidence_of(match), outcome)
        if outcome.n_drafted:
            self.drafter.observe(outcome.n_drafted, outcome.n_accepted)

    def _room(self, sequence: Sequence, reply: Reply) -> int:
        """Most tokens a draft may have here: context, reply, batch and exactness bound it."""
        if not self.rollback:
            return 0
        # One place each for the newest token and the bonus token.
        n_free = self._cache.n_free - 2
        largest = self._backend.n_exact or self._backend.n_batch
        return max(0, min(n_free, reply.n_left - 1, largest - 1, self._backend.n_rollback))

    def _propose(self, command: Generate, room: int) -> tuple[Match, Budget, Draft]:
        if not command.drafting:
            return NO_MATCH, Budget(0, censored=True), NO_DRAFT
        match = self.drafter.match()
        budget = self.policy.budget(command.role, evidence_of(match), room)
        if budget.k < 1:
            return match, budget, NO_DRAFT
        return match, budget, self._before_eog(self.drafter.draft(match, budget.k))

    def _before_eog(self, draft: Draft) -> Draft:
        """End-of-generation tokens are never drafted: accepting one must not be decided early."""
        for index, token in enumerate(draft.ids):
            if self._backend.is_eog(token):
                return replace(draft, ids=draft.ids[:index])
        return draft
