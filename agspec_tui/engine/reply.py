"""A reply under way: what was generated, and when it ends."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, field

from agspec_tui.engine.loop_guard import Loop, LoopGuard
from agspec_tui.engine.types import Backend
from agspec_tui.errors import EngineError


@dataclass(slots=True)
class Reply:
    """Committed tokens of one generation, their text, and the counters of its steps."""

    backend: Backend
    """Turns ids into bytes and knows which ids end a generation."""
    max_tokens: int
    """Most tokens to generate, the end-of-generation token included."""
    stop: tuple[str, ...]
    """Texts that end the reply. The token that completes one is kept whole, so that ids and text
    say the same: it and what it holds behind the stop are part of the reply, and nothing after it.
    """
    guard: LoopGuard | None = None
    """Ends the reply when it only repeats itself; None lets it."""
    ids: list[int] = field(default_factory=list)
    """Committed token ids, without the end-of-generation token."""
    text: str = ""
    """Their text, as far as it is whole UTF-8."""
    stop_reason: str = ""
    """`eog`, `stop`, `loop`, `length`, `context` or `cancelled` once the reply has ended."""
    loop: Loop | None = None
    """What it fell into, where that ended it."""
    n_steps: int = 0
    """Target passes so far, prefill left out."""
    n_drafted: int = 0
    """ΣD."""
    n_accepted: int = 0
    """ΣA."""
    n_tokens: int = 0
    """Tokens generated, the end-of-generation token included."""
    _tail: str = ""  # what a stop may have begun in
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def __post_init__(self) -> None:
        """Refuse a stop text that is empty.

        Raises:
            EngineError: there is one; it would end every reply at its first token.
        """
        if "" in self.stop:
            raise EngineError("a stop text is empty", "leave it out")

    @property
    def n_left(self) -> int:
        """Tokens that may still be generated."""
        return self.max_tokens - self.n_tokens

    def resume(self, said: Sequence[int]) -> None:
        """Go on behind tokens that are no part of this reply: a character or a stop may span both.

        Args:
            said: their ids.
        """
        self._hits_stop(self._decoder.decode(self.backend.detokenize(said)))
        for token in said if self.guard else ():
            self._loops(token)

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
            piece = self._decoder.decode(self.backend.detokenize([token]))
            self.text += piece
            if index < len(accepted):
                n_accepted_chars = len(self.text) - before
            if self._hits_stop(piece):
                self.stop_reason = "stop"
                break
            if self._loops(token):
                self.stop_reason = "loop"
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

    def _hits_stop(self, piece: str) -> bool:
        """Whether a stop ends in this piece of text; it may begin in any piece before."""
        if not self.stop:
            return False
        text, n_before = self._tail + piece, len(self._tail)
        longest = max(map(len, self.stop))
        self._tail = text[max(0, len(text) - longest + 1) :]
        return any(text.find(stop, max(0, n_before - len(stop) + 1)) >= 0 for stop in self.stop)

    def _loops(self, token: int) -> bool:
        """Whether the reply only repeats itself, this token included."""
        if self.guard is not None:
            self.loop = self.guard.take(token)
        return self.loop is not None
