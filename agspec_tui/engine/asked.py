"""A generation as its asker sees it: one stream of events, however many engines it takes.

When an engine dies over a reply, the next one is given the ids that were committed so far, reads
them behind the prompt, and goes on. What it reports covers its own part; here the parts are joined:
steps are numbered on, and the end covers the whole. Replies go on as they would have, sampled ones
too: one draw of the seed belongs to each token.
"""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from agspec_tui.commands import Generate
from agspec_tui.engine_events import GenerationFinished, PrefillProgressed, StepCommitted

_MOST_FRUITLESS = 2
"""Engines that may die in a row over a reply without a token of it."""


class Asked:
    """One generation from the question to its end."""

    def __init__(self, command: Generate, index: int, clock: Callable[[], float]) -> None:
        """Nothing is sent here.

        Args:
            command: what is asked for.
            index: number of this generation among all that the engine was asked for, from 0.
            clock: seconds, monotonic.
        """
        self.index = index
        """Number of this generation among all, from 0."""
        self.reply: asyncio.Future[GenerationFinished] = asyncio.get_running_loop().create_future()
        """Its end, or why it failed."""
        self.cancelled = False
        """Whether its asker wants it to stop."""
        self._command = command
        self._clock = clock
        self._ids: list[int] = []
        self._texts: list[str] = []
        self._said = ""
        self._n_said = 0
        self._n_steps = self._n_steps_before = 0
        self._n_drafted = self._n_drafted_before = 0
        self._n_accepted = self._n_accepted_before = 0
        self._decode_s = self._decode_before_s = 0.0
        self._prefill_s = self._prefill_before_s = 0.0
        self._sent_s = 0.0
        self._n_prompt = 0
        self._alpha = 0.0
        self._n_fruitless = 0

    def command(self) -> Generate:
        """What the present engine is to be sent: the whole, or what is left of it."""
        self._sent_s = self._clock()
        if not self._ids:
            return self._command
        return replace(
            self._command,
            said=tuple(self._ids),
            max_tokens=self._command.max_tokens - len(self._ids),
        )

    def prefilled(self, event: PrefillProgressed) -> None:
        """The prompt is being read."""
        self._n_prompt = event.n_total - self._n_said
        self._prefill_s = self._clock() - self._sent_s

    def step(self, event: StepCommitted) -> StepCommitted:
        """A step was committed; returns it with its number in the whole reply."""
        self._ids += event.ids
        self._texts.append(event.text)
        self._n_steps += 1
        self._n_drafted += event.n_drafted
        self._n_accepted += event.n_accepted
        self._decode_s += (event.decode_us + event.loop_us) / 1e6
        self._alpha = event.alpha
        if not self._n_steps_before:
            return event
        return replace(event, step=event.step + self._n_steps_before)

    def finish(self, event: GenerationFinished) -> GenerationFinished:
        """The last part has ended; returns the end of the whole."""
        return replace(
            event,
            text=self._said + event.text,
            ids=(*self._ids[: self._n_said], *event.ids),
            n_prompt=event.n_prompt - self._n_said,
            n_reused=min(event.n_reused, event.n_prompt - self._n_said),
            n_tokens=event.n_tokens + self._n_said,
            n_steps=event.n_steps + self._n_steps_before,
            n_drafted=event.n_drafted + self._n_drafted_before,
            n_accepted=event.n_accepted + self._n_accepted_before,
            prefill_s=event.prefill_s + self._prefill_before_s,
            decode_s=event.decode_s + self._decode_before_s,
        )

    def died(self) -> bool:
        """The engine died over it. Returns whether it is worth another one."""
        self._n_fruitless = 0 if len(self._ids) > self._n_said else self._n_fruitless + 1
        self._said, self._n_said = "".join(self._texts), len(self._ids)
        self._n_steps_before = self._n_steps
        self._n_drafted_before, self._n_accepted_before = self._n_drafted, self._n_accepted
        self._decode_before_s = self._decode_s
        self._prefill_before_s += self._prefill_s
        self._prefill_s = 0.0
        return self._n_fruitless < _MOST_FRUITLESS

    def ended(self) -> GenerationFinished | None:
        """Its end, where what is known of it says that nothing more will come."""
        reason = ""
        if self.cancelled:
            reason = "cancelled"
        elif any(stop in self._said for stop in self._command.stop):
            reason = "stop"
        elif self._n_said >= self._command.n_most:
            reason = "length"
        if not reason:
            return None
        return GenerationFinished(
            turn=self._command.turn,
            role=self._command.role,
            request=self._command.request,
            stop_reason=reason,
            text=self._said,
            ids=tuple(self._ids),
            n_prompt=self._n_prompt,
            n_reused=0,
            broken_by="",
            n_tokens=self._n_said,
            n_steps=self._n_steps,
            n_drafted=self._n_drafted,
            n_accepted=self._n_accepted,
            prefill_s=self._prefill_before_s,
            decode_s=self._decode_s,
            alpha=self._alpha,
        )
