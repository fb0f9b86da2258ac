"""The session corpus: prompts, tool outputs and generated tokens, each indexed once."""

from collections.abc import Sequence

import numpy as np

from agspec_tui._native import SessionCorpus as NativeCorpus
from agspec_tui.drafting.types import Piece


class SessionCorpus:
    """One text for all sequences of a session; its end is the decoding context.

    A prompt repeats most of what its sequence has said before, and sequences share text. Indexed
    again, it would bias the counts and fill the memory, so that only new tokens are appended:
    behind the sequence's own text where that still ends the corpus, else behind a separator.
    """

    def __init__(self) -> None:
        self._text = NativeCorpus()
        self._labels: list[str] = []
        self._indexed: set[tuple[int, ...]] = set()
        self._transcripts: dict[str, list[int]] = {}
        self._sequence = ""
        self._reply_start = 0

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """Index what is new in a prompt and make its end the decoding context.

        The last piece is appended even if it is known, unless the corpus ends with it already.

        Args:
            sequence: name of the sequence that is going to be decoded.
            pieces: its whole prompt.
        """
        self._end_reply()
        prompt = [token for piece in pieces for token in piece.ids]
        said = self._transcripts.get(sequence, [])
        n_shared = common_prefix(said, prompt)
        # How much of the prompt the corpus' text ends with; −1 for nothing to go on from.
        tail = n_shared if said and sequence == self._sequence and n_shared == len(said) else -1
        end = 0
        for number, piece in enumerate(pieces, 1):
            start, end = end, end + len(piece.ids)
            known = end <= n_shared or piece.ids in self._indexed
            if known and (number < len(pieces) or tail == end):
                continue
            self._append(piece.label, prompt[max(start, tail) : end], start, tail)
            self._indexed.add(piece.ids)
            tail = end
        self._transcripts[sequence] = prompt
        self._sequence = sequence
        self._reply_start = len(prompt) - len(pieces[-1].ids)

    def _append(self, label: str, ids: list[int], start: int, tail: int) -> None:
        """Append what is new of the piece that begins at `start` of the prompt."""
        joined = tail >= start
        self._text.begin_document(joined=joined, offset=tail - start if joined else 0)
        self._labels.append(label)
        self._text.append(np.array(ids, dtype=np.int32))

    def _end_reply(self) -> None:
        """Remember the reply as a piece: prompts of other sequences may hold it.

        Its end-of-generation token belongs to the next message there, so both forms count.
        """
        if self._sequence:
            reply = tuple(self._transcripts[self._sequence][self._reply_start :])
            self._indexed |= {reply, reply[:-1]}

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens of the decoding sequence."""
        self._transcripts[self._sequence].extend(ids)
        self._text.append(np.array(ids, dtype=np.int32))

    def match_length(self) -> int:
        """Length of the longest suffix of the decoding context that occurred before, in tokens."""
        return self._text.match_length()

    def draft(self, k: int) -> tuple[tuple[int, ...], str, int]:
        """Up to `k` tokens of the most frequent group of three that followed the match.

        Ties go to the most recent occurrence; without a full group that occurrence itself counts.

        Returns:
            Token ids, the label of the piece they were copied from, and the offset in it.
        """
        ids, document, offset = self._text.draft(k)
        return tuple(ids), self._labels[document] if ids else "", offset

    @property
    def n_tokens(self) -> int:
        """Tokens in the corpus, separators included."""
        return self._text.n_tokens

    @property
    def memory_bytes(self) -> int:
        """Bytes that the compiled core holds for it."""
        return self._text.memory_bytes


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many leading tokens are equal."""
    limit = min(len(a), len(b))
    differs = np.array(a[:limit], dtype=np.int32) != np.array(b[:limit], dtype=np.int32)
    return int(differs.argmax()) if differs.any() else limit
