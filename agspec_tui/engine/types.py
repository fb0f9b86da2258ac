"""What the decode loop needs of a backend; declared here because the loop consumes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from agspec_tui.commands import Sampling

Logits = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]


class Cancelled(Exception):
    """A decode was aborted because the generation was cancelled."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one sequence has in a pass of the target: tokens at the end of its cache."""

    ids: Sequence[int]
    """Token ids, one or more."""
    pos: int
    """Position of the first one: how many tokens the sequence has in the cache."""
    slot: int
    """Number of the sequence in the cache."""
    n_logits: int
    """How many of them, the last ones, want a row of logits."""


class Chooser(Protocol):
    """The target's own choice at each position, and how many drafted tokens agree with it.

    What it chose is committed: its state never holds a rejected token. A row is read once, and none
    behind the first rejection.
    """

    def verify(self, logits: Logits, draft: Sequence[int]) -> tuple[int, int]:
        """Accept drafted tokens while they are the target's choice.

        Args:
            logits: rows for the newest token and each drafted one, shape (len(draft) + 1, n_vocab).
            draft: drafted token ids.

        Returns:
            How many were accepted, and the bonus token chosen after them.
        """
        ...

    def resume(self, said: Sequence[int]) -> None:
        """Take tokens of the reply as chosen, before the first `verify`: another chose them."""
        ...


class Tokenizer(Protocol):
    """From text to token ids and back."""

    n_vocab: int
    """Vocabulary size."""

    def tokenize(self, text: str, *, special: bool) -> Ids:
        """Token ids of a text; with `special`, control tokens in it are recognised.

        Callable from another thread during a decode.
        """
        ...

    def detokenize(self, ids: Sequence[int]) -> bytes:
        """Bytes of token ids; control tokens yield nothing."""
        ...

    def is_eog(self, token: int) -> bool:
        """Whether a token ends the generation."""
        ...

    def fingerprint(self) -> bytes:
        """A hash of the vocabulary, 32 bytes, that ties a corpus file to its tokenizer.

        It may take some tenths of a second.
        """
        ...


class Backend(Tokenizer, Protocol):
    """A target model with a key-value cache of several sequences."""

    n_ctx: int
    """Tokens the cache holds."""
    n_batch: int
    """Most tokens in one decode."""
    n_threads: int
    """Threads used for decoding."""
    device: str
    """What it runs on, for the screen."""
    n_exact: int
    """Most tokens in one decode whose logits are bit for bit those of one-by-one decoding, as
    probed at load; drafts of a reply that is alone stay below it. 0 means that no such size was
    found."""
    no_rollback: str
    """Why none can be dropped, in words; empty if some can."""
    memory: str
    """Kind of memory, for the screen."""
    no_template: str
    """Why messages do not stand in a chat template of the model's own, in words; empty if they
    do."""

    @property
    def n_rollback(self) -> int:
        """Most tokens that `trim` can drop of the last pass over a sequence, as probed at load.

        Drafts are no longer. 0 means that none can be dropped.
        """
        ...

    def scaffold(self, roles: Sequence[str]) -> list[str]:
        """Texts of the chat template around the contents of messages with these roles.

        Returns:
            One text before each message's content, then one that opens the assistant's reply:
            len(roles) + 1 texts. What follows a content belongs to the next text.
        """
        ...

    def decode(self, parts: Sequence[Part]) -> Logits:
        """Run the target once over the parts, each of another sequence.

        Returns:
            Logit rows of the last `n_logits` tokens of each part, part behind part; valid until
            the next decode, not a copy.

        Raises:
            Cancelled: the abort flag was set; the cache may hold any part of the tokens.
            EngineError: the target could not be run.
        """
        ...

    def trim(self, slot: int, n_keep: int) -> bool:
        """Drop the cache of a sequence from position `n_keep` on; False if it cannot be done.

        Where the memory is a recurrent state, it may run the target over accepted tokens.

        Raises:
            Cancelled: the abort flag was set meanwhile; the cache may hold any part of them.
        """
        ...

    def share(self, slot: int, others: Sequence[int], n_tokens: int = -1) -> bool:
        """Let other sequences, which are empty, begin with the cells of `slot`.

        Args:
            slot: the sequence that has them.
            others: the sequences that get them.
            n_tokens: how many tokens, from the first one on; −1 for all of them.

        Returns:
            False if the memory cannot be shared up to a token; the others are empty then.
        """
        ...

    def save(self, slot: int, path: Path, ids: Sequence[int]) -> int:
        """Write the cells of a sequence, which hold `ids`, to a file that exists.

        Returns:
            Size of the file in bytes.

        Raises:
            EngineError: it cannot be written.
        """
        ...

    def load(self, slot: int, path: Path) -> list[int]:
        """Fill a sequence, which is empty, from a file of `save`.

        Returns:
            The token ids that its cells hold; none if the file is not of this context or there is
            no room, and the sequence is empty then.
        """
        ...

    def time_pass(self, ids: Sequence[int], pos: int, slots: Sequence[int]) -> float:
        """Run the target once over the same `ids` at `pos`… in each of `slots`, all rows wanted.

        Returns:
            Seconds it took, until the rows were there; on a CPU, seconds of each thread's work,
            whatever else the cores did meanwhile.

        Raises:
            Cancelled: the abort flag was set; the cache may hold any part of the tokens.
            EngineError: the target could not be run.
        """
        ...

    def chooser(self, sampling: Sampling, grammar: str, prompt: Sequence[int]) -> Chooser:
        """A chooser for one generation.

        Args:
            sampling: how tokens are chosen.
            grammar: GBNF that binds the reply; empty for none.
            prompt: token ids of the prompt, which the penalties look at.

        Raises:
            EngineError: a value of `sampling` is out of its range, or the grammar cannot be parsed.
        """
        ...

    def abort(self, *, on: bool) -> None:
        """Set or clear the flag that aborts a running decode; callable from another thread."""
        ...

    def close(self) -> None:
        """Free the model."""
        ...


class Watch(Protocol):
    """What follows the decode loop from within: a recording of it."""

    def reading(self, *, rollback: bool) -> None:
        """Before a chunk of a prompt is read; `rollback`: whether the cache can be trimmed."""
        ...

    def stepping(self) -> None:
        """Before a step, once the drafter has been given the prompt."""
        ...

    def chose(self, ids: Sequence[int], *, rollback: bool) -> None:
        """A step was verified: its accepted tokens and the bonus token, before any stop."""
        ...

    def ended(self, n_cached: int, *, aborted: bool) -> None:
        """A generation ends: what its sequence has in the cache, and whether a pass was aborted."""
        ...


class NoWatch:
    """Follows nothing."""

    def reading(self, *, rollback: bool) -> None:
        """Nothing."""

    def stepping(self) -> None:
        """Nothing."""

    def chose(self, ids: Sequence[int], *, rollback: bool) -> None:
        """Nothing."""

    def ended(self, n_cached: int, *, aborted: bool) -> None:
        """Nothing."""
