"""One reply of one role: asks the engine, announces start and end."""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from agspec_tui.commands import SEEDS, Generate, Message
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import EngineError
from agspec_tui.events import (
    ContextReported,
    Event,
    GenerationFinished,
    TurnFinished,
    TurnStarted,
    Warned,
)
from agspec_tui.session.context import Fitted
from agspec_tui.session.draws import FIRST, Draw
from agspec_tui.session.interrupt import Interrupted, InterruptSwitch
from agspec_tui.session.roles import Role

_SUMMARY = "summary"
"""Name of the sequence that summaries are made in, and of their form."""
_SUMMARY_RULES = "You shorten notes. Answer with at most three short sentences, and nothing else."
_N_SUMMARY_TOKENS = 128


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of several replies to a prompt, which are generated at once."""

    number: int = 0
    """From 1; 0 if it is the only one."""
    n_candidates: int = 1
    """How many there are."""


ONLY = Candidate()
"""A reply that is the only one."""


class Speaker:
    """Lets roles speak. Each role is a sequence of its own in the engine, and each candidate."""

    def __init__(
        self,
        client: EngineClient,
        publish: Callable[[Event], object],
        interrupts: InterruptSwitch,
        n_ctx: int,
    ) -> None:
        self.n_ctx = n_ctx
        """Context size in tokens."""
        self._client = client
        self._publish = publish
        self._interrupts = interrupts
        self._n_requests = 0

    def room(self, role: Role) -> int:
        """Most tokens of a prompt of a role that leave room for its reply."""
        return self.n_ctx - min(role.settings.sampling.max_tokens, self.n_ctx // 4)

    async def count(self, role: Role, text: str) -> int:
        """Exact prompt tokens of a role that is asked with this text.

        Raises:
            EngineError: the engine died over it again and again, or there is none.
            Interrupted: the user stopped it.
        """
        return await self._counted(_transcript(role.system, text))

    async def count_text(self, text: str) -> int:
        """Tokens of a text as a message of its own, the marks around it included.

        Raises:
            EngineError: the engine died over it again and again, or there is none.
            Interrupted: the user stopped it.
        """
        return await self._counted((Message("user", text),))

    async def summarise(self, role: Role, turn: int, text: str) -> str:
        """A summary that the model makes in the name of a role; empty if it could not.

        Raises:
            Interrupted: the user stopped it.
        """
        messages = _transcript(_SUMMARY_RULES, text)
        self._publish(TurnStarted(turn=turn, role=role.name, form=_SUMMARY))
        try:
            if await self._counted(messages) + _N_SUMMARY_TOKENS > self.n_ctx:
                return ""
            command = self._command(role, turn, messages, _N_SUMMARY_TOKENS)
            command = replace(command, sequence=_SUMMARY, grammar="")
            finished = await self._generate(command, self._next_request())
        except EngineError:
            return ""
        self._publish(_row(role, turn, finished))
        if finished.stop_reason == "cancelled":
            raise Interrupted
        return "" if finished.stop_reason in ("length", "context", "loop") else finished.text

    async def say(
        self,
        role: Role,
        turn: int,
        prompt: Fitted,
        *,
        form: str = "",
        max_tokens: int = 0,
        candidate: Candidate = ONLY,
        draw: Draw = FIRST,
    ) -> GenerationFinished:
        """Generate the reply of `role` to a prompt, in a fresh context behind its system message.

        A reply that only repeats itself comes back without its text, and the user is told.

        Args:
            role: who speaks.
            turn: the turn it belongs to.
            prompt: the user message, counted.
            form: edit form asked for; empty where none applies.
            max_tokens: most tokens of the reply; 0 for the role's own limit.
            candidate: which of several replies it is.
            draw: which of the replies to one task.

        Raises:
            EngineError: the request was refused, engines died over it, or there is none.
            Interrupted: the user stopped it.
        """
        request = self._next_request()
        self._publish(
            TurnStarted(
                turn=turn, role=role.name, form=form, request=request, candidate=candidate.number
            )
        )
        limit = max_tokens or role.settings.sampling.max_tokens
        self._publish(
            ContextReported(
                turn=turn,
                role=role.name,
                n_prompt=prompt.n_prompt,
                n_reply=min(limit, max(0, self.n_ctx - prompt.n_prompt)),
                n_ctx=self.n_ctx,
                dropped=prompt.dropped,
                summarised=prompt.summarised,
            )
        )
        messages = _transcript(role.system, prompt.text)
        command = self._command(role, turn, messages, limit, form, draw)
        finished = await self._generate(_as_candidate(command, role, candidate), request)
        self._publish(_row(role, turn, finished, candidate.number))
        if finished.stop_reason == "cancelled":
            raise Interrupted
        if finished.stop_reason == "loop":
            self._publish(_looped(role, turn, finished))
            return replace(finished, text="")
        return finished

    async def _counted(self, messages: tuple[Message, ...]) -> int:
        return await self._interrupts.guard(self._client.context.count(messages))

    def _command(
        self,
        role: Role,
        turn: int,
        messages: tuple[Message, ...],
        max_tokens: int,
        form: str = "",
        draw: Draw = FIRST,
    ) -> Generate:
        return Generate(
            request=0,
            sequence=role.name,
            turn=turn,
            role=role.name,
            form=form,
            messages=messages,
            max_tokens=max_tokens,
            grammar=role.grammar,
            sampling=role.settings.sampling.at(turn, draw),
            drafting=role.settings.drafting.enabled,
        )

    def _next_request(self) -> int:
        self._n_requests += 1
        return self._n_requests

    async def _generate(self, command: Generate, request: int) -> GenerationFinished:
        command = replace(command, request=request)
        return await self._interrupts.guard(
            self._client.generate(command), lambda: self._client.cancel(command.request)
        )


def _transcript(system: str, text: str) -> tuple[Message, ...]:
    return (Message("system", system), Message("user", text))


def _looped(role: Role, turn: int, finished: GenerationFinished) -> Warned:
    return Warned(
        turn=turn,
        role=role.name,
        message=f"the {role.name} said the same {finished.loop_period} tokens "
        f"{finished.n_loops} times over and was stopped",
        hint="what it wrote is not used",
    )


def _as_candidate(command: Generate, role: Role, candidate: Candidate) -> Generate:
    """A reply's command; those behind the first are sampled, each from another seed."""
    command = replace(command, batch=candidate.n_candidates)
    if candidate.number <= 1:
        return command
    sampling = replace(
        command.sampling,
        temperature=max(command.sampling.temperature, role.settings.candidates.temperature),
        # Far from the seeds of other turns.
        seed=(command.sampling.seed + 1_000 * candidate.number) % SEEDS,
    )
    sequence = f"{command.sequence} {candidate.number}"
    return replace(command, sequence=sequence, sampling=sampling)


def _row(role: Role, turn: int, finished: GenerationFinished, candidate: int = 0) -> TurnFinished:
    n_steps = finished.n_steps
    return TurnFinished(
        turn=turn,
        role=role.name,
        stop_reason=finished.stop_reason,
        n_tokens=finished.n_tokens,
        n_steps=n_steps,
        n_drafted=finished.n_drafted,
        n_accepted=finished.n_accepted,
        accept_length=(finished.n_accepted + n_steps) / n_steps if n_steps else 0.0,
        rejected=finished.n_drafted - finished.n_accepted,
        tok_per_s=finished.n_tokens / finished.decode_s if finished.decode_s > 0 else 0.0,
        n_prompt=finished.n_prompt,
        n_reused=finished.n_reused,
        broken_by=finished.broken_by,
        alpha=finished.alpha,
        candidate=candidate,
    )
