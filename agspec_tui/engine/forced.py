"""A target that says again what a recorded one said: the same loop, with no weights."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from agspec_tui.commands import Sampling
from agspec_tui.engine.recording import RecordedTarget
from agspec_tui.engine.types import Cancelled, Chooser, Ids, Logits, Part, Tokenizer
from agspec_tui.errors import EngineError


class ForcedBackend:
    """Chooses, at each position of a reply, the token that was chosen there before.

    What it is asked for does not matter to what it answers, so it computes nothing; that tokens are
    decoded at the end of their sequence is checked. Whoever drives it says with `speak` what comes
    next.
    """

    def __init__(self, recorded: RecordedTarget, tokenizer: Tokenizer) -> None:
        """Take the place of a recorded target.

        Raises:
            EngineError: the tokenizer is not that of the recorded model.
        """
        if tokenizer.fingerprint().hex() != recorded.fingerprint:
            raise EngineError(
                f"the recording was made with {recorded.model}, which has another tokenizer",
                "name that model",
            )
        self.n_ctx = recorded.n_ctx
        self.n_batch = recorded.n_batch
        self.n_vocab = recorded.n_vocab
        self.n_exact = recorded.n_exact
        self.n_threads = 1
        self.memory, self.no_rollback = "recording", ""
        self.no_template = ""
        self.device = "recording"
        self.trimmable = True
        """Whether the cache can be trimmed, as the recorded one could at this place."""
        self.n_chosen = 0
        """Tokens of the present reply that have been chosen."""
        self._tokenizer = tokenizer
        self._n_cached: dict[int, int] = {}
        self._choices: Sequence[int] = ()
        self._most_cached: int | None = None
        self._fault = ""

    @property
    def n_rollback(self) -> int:
        """As many tokens as there are, where the recorded target could drop them."""
        return self.n_ctx if self.trimmable else 0

    def speak(
        self, choices: Sequence[int], *, most_cached: int | None = None, fault: str = ""
    ) -> None:
        """Set what the next reply is.

        Args:
            choices: the tokens, the one that ends the generation included. Behind them a pass is
                aborted.
            most_cached: of a prompt, what is read before a pass is aborted; None for all of it.
            fault: why a pass fails behind the choices, in place of an abort; empty for an abort.
        """
        self.n_chosen = 0
        self._choices, self._most_cached, self._fault = choices, most_cached, fault

    @property
    def is_done(self) -> bool:
        """Whether all was said."""
        return self.n_chosen >= len(self._choices)

    def tokenize(self, text: str, *, special: bool) -> Ids:
        """As the recorded model's; see `Backend.tokenize`."""
        return self._tokenizer.tokenize(text, special=special)

    def detokenize(self, ids: Sequence[int]) -> bytes:
        """As the recorded model's; see `Backend.detokenize`."""
        return self._tokenizer.detokenize(ids)

    def is_eog(self, token: int) -> bool:
        """As the recorded model's; see `Backend.is_eog`."""
        return self._tokenizer.is_eog(token)

    def fingerprint(self) -> bytes:
        """That of the tokenizer."""
        return self._tokenizer.fingerprint()

    def scaffold(self, roles: Sequence[str]) -> list[str]:
        """None: recorded prompts are token ids already."""
        return [""] * (len(roles) + 1)

    def decode(self, parts: Sequence[Part]) -> Logits:
        """Note the tokens; rows are empty, since the chooser does not read them.

        Raises:
            Cancelled: the recording ends here.
            EngineError: the recorded target failed here, or tokens are not at a sequence's end.
        """
        for part in parts:
            self._note(part)
        return np.empty((sum(part.n_logits for part in parts), 0), dtype=np.float32)

    def _note(self, part: Part) -> None:
        n_cached = self._n_cached.get(part.slot, 0)
        if part.pos != n_cached:
            raise EngineError(f"position {part.pos} is not the end of the cache, {n_cached}")
        most = self._most_cached
        if part.n_logits == 0 and most is not None and part.pos + len(part.ids) > most:
            raise Cancelled
        if part.n_logits and self.is_done:
            if self._fault:
                raise EngineError(self._fault)
            raise Cancelled
        self._n_cached[part.slot] = part.pos + len(part.ids)

    def verify(self, logits: Logits, draft: Sequence[int]) -> tuple[int, int]:
        """How far the draft is what was chosen, and the choice behind it; see `Chooser.verify`.

        The last choice is always the bonus token: what the target would have chosen behind it is
        not known.
        """
        coming = self._choices[self.n_chosen : self.n_chosen + len(draft) + 1]
        n_accepted = 0
        while n_accepted < min(len(draft), len(coming) - 1):
            if draft[n_accepted] != coming[n_accepted]:
                break
            n_accepted += 1
        self.n_chosen += n_accepted + 1
        return n_accepted, coming[n_accepted]

    def resume(self, said: Sequence[int]) -> None:
        """Nothing: what comes next is set by `speak`."""

    def chooser(self, sampling: Sampling, grammar: str, prompt: Sequence[int]) -> Chooser:
        """Itself; what was drawn and what a grammar allowed was recorded."""
        return self

    def trim(self, slot: int, n_keep: int) -> bool:
        """Drop the tail of a sequence, where the recorded target could."""
        if n_keep and not self.trimmable:
            return False
        self._n_cached[slot] = min(n_keep, self._n_cached.get(slot, 0))
        return True

    def share(self, slot: int, others: Sequence[int], n_tokens: int = -1) -> bool:
        """Copy the length of a sequence to others, where the recorded target could."""
        if n_tokens >= 0 and not self.trimmable:
            return False
        n_cached = self._n_cached.get(slot, 0)
        for other in others:
            self._n_cached[other] = min(n_cached, n_tokens) if n_tokens >= 0 else n_cached
        return True

    def time_pass(self, ids: Sequence[int], pos: int, slots: Sequence[int]) -> float:
        """No time at all; see `Backend.time_pass`."""
        for slot in slots:
            self._n_cached[slot] = pos + len(ids)
        return 0.0

    def save(self, slot: int, path: Path, ids: Sequence[int]) -> int:
        """There is nothing to save.

        Raises:
            EngineError: always.
        """
        raise EngineError("a recorded target has no cells", "save a session's while it runs")

    def load(self, slot: int, path: Path) -> list[int]:
        """Nothing can be loaded."""
        return []

    def abort(self, *, on: bool) -> None:
        """There is nothing to abort."""

    def close(self) -> None:
        """There is nothing to free."""
