"""One reply of one role: asks the engine, announces start and end."""

from collections.abc import Callable

from agspec_tui.commands import Generate, Message
from agspec_tui.engine.client import EngineClient
from agspec_tui.events import Event, GenerationFinished, TurnFinished, TurnStarted, Warned
from agspec_tui.session.interrupt import Interrupted, InterruptSwitch
from agspec_tui.session.roles import Role

_FIRST_TOK_PER_CHAR = 0.34
"""Tokens a character of code makes, until a prompt has been measured; on the safe side."""


class Speaker:
    """Lets roles speak, one reply at a time. Each role is a sequence of its own in the engine."""

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
        self._tok_per_char = 0.0

    def estimate_tokens(self, text: str) -> int:
        """Tokens a text will take, by the prompts measured so far in this session."""
        return int(len(text) * (self._tok_per_char or _FIRST_TOK_PER_CHAR)) + 16

    async def say(
        self, role: Role, turn: int, text: str, *, form: str = "", max_tokens: int = 0
    ) -> GenerationFinished:
        """Generate the reply of `role` to `text`, in a fresh context behind its system message.

        Args:
            role: who speaks.
            turn: the turn it belongs to.
            text: the user message.
            form: edit form asked for; empty where none applies.
            max_tokens: most tokens of the reply; 0 for the role's own limit.

        Raises:
            EngineError: the request was refused, engines died over it, or there is none.
            Interrupted: the user stopped it.
        """
        self._publish(TurnStarted(turn=turn, role=role.name, form=form))
        messages = (Message("system", role.system), Message("user", text))
        limit = role.settings.sampling.max_tokens
        finished = await self._generate(role, turn, messages, max_tokens or limit)
        self._measure(messages, finished)
        self._publish(_row(role, turn, finished))
        if finished.stop_reason == "cancelled":
            raise Interrupted
        if finished.stop_reason == "loop":
            self._publish(_looped(role, turn, finished))
        return finished

    async def _generate(
        self, role: Role, turn: int, messages: tuple[Message, ...], max_tokens: int
    ) -> GenerationFinished:
        self._n_requests += 1
        request = self._n_requests
        command = Generate(
            request=request,
            sequence=role.name,
            turn=turn,
            role=role.name,
            messages=messages,
            max_tokens=max_tokens,
            grammar=role.grammar,
            sampling=role.settings.sampling.at(turn),
            drafting=role.settings.drafting.enabled,
        )
        return await self._interrupts.guard(
            self._client.generate(command), lambda: self._client.cancel(request)
        )

    def _measure(self, messages: tuple[Message, ...], finished: GenerationFinished) -> None:
        """Learn how many tokens a character makes, keeping the densest prompt seen."""
        n_chars = sum(len(message.text) for message in messages)
        self._tok_per_char = max(self._tok_per_char, finished.n_prompt / max(1, n_chars))


def _looped(role: Role, turn: int, finished: GenerationFinished) -> Warned:
    return Warned(
        turn=turn,
        role=role.name,
        message=f"the {role.name} said the same {finished.loop_period} tokens "
        f"{finished.n_loops} times over and was stopped",
        hint="what it wrote is not used",
    )


def _row(role: Role, turn: int, finished: GenerationFinished) -> TurnFinished:
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
    )
