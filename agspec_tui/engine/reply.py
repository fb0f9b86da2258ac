"""A reply under way: what was generated, and when it ends."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, field

from agspec_tui.engine.types import Backend


@dataclass(slots=True)
class Reply:
    """Committed tokens of one generation, their text, and the counters of its steps."""

    backend: Backend
    """Turns ids into bytes and knows which ids end a generation."""
    max_tokens: int
    """Most tokens to generate, the end-of-generation token included."""
    stop: tuple[str, ...]
    """Texts that end the reply."""
    ids: list[int] = field(default_factory=list)
    """Committed token ids, without the end-of-generation token."""
    text: str = ""
    """Their text, as far as it is whole UTF-8."""
    stop_reason: str = ""
    """`eog`, `stop`, `length`, `context` or `cancelled` once the reply has ended."""
    n_steps: int = 0
    """Target passes so far, prefill left out."""
    n_drafted: int = 0
    """ΣD."""
    n_accepted: int = 0
    """ΣA."""
    n_tokens: int = 0
    """Tokens generated, the end-of-generation token included."""
    pass_ended_s: float = 0.0
    """When the last target pass ended, by the performance counter; 0 before the first one."""
    _before: str = ""
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    @property
    def n_left(self) -> int:
        """Tokens that may still be generated."""
        return self.max_tokens - self.n_tokens

    def since_last_pass(self, began_s: float, ended_s: float) -> float:
        """Note a target pass; returns the seconds between the last one and this one, or 0."""
        idle_s = began_s - self.pass_ended_s if self.pass_ended_s else 0.0
        self.pass_ended_s = ended_s
        return idle_s

    def resume(self, said: Sequence[int]) -> None:
        """Go on behind tokens that are no part of this reply: a character or a stop may span both.

        Args:
            said: their ids.
        """
        longest = max((len(text) for text in self.stop), default=0)
        text = self._decoder.decode(self.backend.detokenize(said))
        self._before = text[max(0, len(text) - longest) :]

    def commit(self, accepted: Sequence[int], bonus: int) -> tuple[list[int], int]:
        """Take accepted tokens and the bonus token one by one until a stop condition holds.

        Returns:
            The ids that became part of the reply, and how many characters of text the accepted
            ones among them added.
        """
        taken: list[int] = []
        before = len(self.text)
        n_accepted_chars = 0
        for index, token in enumerate((*accepted, bonus)):
            self.n_tokens += 1
            if self.backend.is_eog(token):
                self.stop_reason = "eog"
                break
            taken.append(token)
            self.text += self._decoder.decode(self.backend.detokenize([token]))
            if index < len(accepted):
                n_accepted_chars = len(self.text) - before
            if self._hit_stop():
                self.stop_reason = "stop"
                break
            if self.n_left <= 0:
                self.stop_reason = "length"
                break
        self.ids += taken
        if self.stop_reason:
            self.text += self._decoder.decode(b"", final=True)
        return taken, n_accepted_chars

    def end(self, reason: str) -> None:
        """End the reply from outside, unless it has ended by itself."""
        if not self.stop_reason:
            self.stop_reason = reason
            self.text += self._decoder.decode(b"", final=True)

    def _hit_stop(self) -> bool:
        # A token may carry text behind the stop, so the tail is searched, not only the end.
        if self._before and len(self.text) < len(self._before) + 64:
            tail = self._before + self.text
            return any(text in tail for text in self.stop)
        return any(text in self.text[-len(text) - 64 :] for text in self.stop)
