"""From a transcript of messages to prompt tokens, in pieces.

The chat template's scaffold is tokenised with special tokens on, contents with special tokens off:
a repository file that holds `<|im_end|>` stays text. Replies keep the ids they were sampled as, so
the token transcript only ever grows and the cached prefix stays valid.
"""

from collections.abc import Sequence
from functools import lru_cache

from agspec_tui.commands import Message
from agspec_tui.drafting.types import Piece
from agspec_tui.engine.types import Backend
from agspec_tui.errors import EngineError

# Contents up to the largest file that is ever shown recur in every turn; a few hundred suffice.
_N_CACHED_TEXTS = 512


class PromptBuilder:
    """Tokenises transcripts for one backend, each text once."""

    def __init__(self, backend: Backend) -> None:
        @lru_cache(maxsize=_N_CACHED_TEXTS)
        def tokens_of(text: str, special: bool) -> tuple[int, ...]:
            return tuple(backend.tokenize(text, special=special).tolist())

        self._tokens_of = tokens_of
        self._backend = backend

    def pieces(
        self, sequence: str, messages: Sequence[Message], said: tuple[int, ...] = ()
    ) -> list[Piece]:
        """One piece a message (scaffold, then content), and a last one that opens the reply.

        Args:
            sequence: name of the sequence, for the labels.
            messages: the transcript.
            said: ids of the reply that are there already; they end the last piece.

        Raises:
            EngineError: an id is none of the model's.
        """
        scaffolds = self._backend.scaffold([message.role for message in messages])
        pieces = []
        for number, (scaffold, message) in enumerate(zip(scaffolds, messages, strict=False), 1):
            content = self._known(message.ids) or self._tokens_of(message.text, False)
            label = label_of(sequence, message.role, number)
            pieces.append(Piece(label, self._tokens_of(scaffold, True) + tuple(content)))
        pieces.append(
            Piece(
                label_of(sequence, "", 0), self._tokens_of(scaffolds[-1], True) + self._known(said)
            )
        )
        return pieces

    def _known(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        """Ids that came from outside, checked: the target would end the process over a wrong one.

        Raises:
            EngineError: an id is none of the model's.
        """
        n_vocab = self._backend.n_vocab
        if ids and not 0 <= min(ids) <= max(ids) < n_vocab:
            wrong = next(one for one in ids if not 0 <= one < n_vocab)
            raise EngineError(f"{wrong} is no token of a model with {n_vocab}", "send the text")
        return ids


def label_of(sequence: str, role: str, number: int) -> str:
    """What provenance calls a message of a prompt; without a role, what opens the reply."""
    return f"{sequence}: {role} message {number}" if role else f"{sequence}: reply"


def piece_at(pieces: Sequence[Piece], position: int) -> str:
    """Label of the piece that holds a token position; empty behind the end."""
    for piece in pieces:
        if position < len(piece.ids):
            return piece.label
        position -= len(piece.ids)
    return ""
