"""The session corpus: prompts, tool outputs and generated tokens, each indexed once."""

from array import array
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from agspec_tui._native import SessionCorpus as NativeCorpus
from agspec_tui.drafting.token_ids import checked, digest
from agspec_tui.drafting.types import Copied, Ids, Piece, Place


class SessionText(Protocol):
    """The text of a session on some engine; its end is the decoding context."""

    def begin_document(self, *, joined: bool, offset: int = 0) -> int:
        """Begin a document: behind a separator, or `joined` to the text before it."""
        ...

    def append(self, ids: Ids) -> None:
        """Append tokens to the last document."""
        ...

    def match(self) -> tuple[int, int, int]:
        """The match of the text's end: its length, its earlier occurrences, and its group's."""
        ...

    def draft(self, k: int) -> tuple[list[int], int, int]:
        """Up to `k` tokens that followed the match, their document and the offset in it."""
        ...

    def read(self, document: int, offset: int, k: int) -> tuple[list[int], int, int]:
        """Up to `k` tokens of the text from a place on, the document there, and the offset in it.

        The place may lie behind its document's end, where the next one is joined to it.
        """
        ...

    @property
    def n_tokens(self) -> int:
        """Tokens in the text, separators included."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Bytes taken from the allocator."""
        ...


class Transcript:
    """What a sequence has said: the pieces of its last prompt, and the tokens since."""

    def __init__(self) -> None:
        """Make one of a sequence that has said nothing."""
        self.ids = array("i")
        self._pieces: tuple[Piece, ...] = ()

    def __len__(self) -> int:
        """Tokens said."""
        return len(self.ids)

    def array(self, start: int, end: int | None = None) -> Ids:
        """Tokens from `start` to `end`, copied."""
        return np.array(self.ids[start:end], dtype=np.int32)

    def n_same_pieces(self, pieces: Sequence[Piece]) -> int:
        """How many leading pieces are those of the last prompt.

        Most of a prompt are the objects of the one before, so that no token is looked at.
        """
        n_same = 0
        for old, new in zip(self._pieces, pieces, strict=False):
            if old.ids is not new.ids and old.ids != new.ids:
                break
            n_same += 1
        return n_same

    def replace(self, pieces: Sequence[Piece], n_kept: int, rest: Ids) -> None:
        """Take a prompt in place of what was said; `n_kept` leading tokens stay, `rest` follows."""
        self._pieces = tuple(pieces)
        del self.ids[n_kept:]
        self.extend(rest)

    def extend(self, ids: Ids) -> None:
        """Append tokens."""
        self.ids.frombytes(ids.tobytes())


class SessionCorpus:
    """One text for all sequences of a session; its end is the decoding context.

    A prompt repeats most of what its sequence has said before, and sequences share text. Indexed
    again, it would bias the counts and fill the memory, so that only new tokens are appended:
    behind the sequence's own text where that still ends the corpus, else behind a separator.
    """

    def __init__(self, text: SessionText | None = None) -> None:
        """Make an empty one, on a suffix automaton or on the empty `text` of another engine."""
        self._text = NativeCorpus() if text is None else text
        self._labels: list[str] = []
        self._indexed: set[bytes] = set()
        self._transcripts: dict[str, Transcript] = {}
        self._sequence = ""
        self._reply_start = 0

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """Index what is new in a prompt and make its end the decoding context.

        The last piece is appended even if it is known, unless the corpus ends with it already.

        Args:
            sequence: name of the sequence that is going to be decoded.
            pieces: its whole prompt.

        Raises:
            DraftError: an id is out of range; nothing has changed then.
        """
        said = self._transcripts.get(sequence, Transcript())
        n_same = said.n_same_pieces(pieces)
        n_shared = sum(len(piece.ids) for piece in pieces[:n_same])
        changed = [checked(piece.ids) for piece in pieces[n_same:]]
        rest = np.concatenate(changed) if changed else np.empty(0, dtype=np.int32)
        n_more = common_prefix(said.array(n_shared, n_shared + len(rest)), rest)
        n_shared, rest = n_shared + n_more, rest[n_more:]
        self._end_reply()
        # How much of the prompt the corpus' text ends with; −1 for nothing to go on from.
        continues = len(said) > 0 and sequence == self._sequence and n_shared == len(said)
        self._append_new(pieces, changed, n_shared, n_shared if continues else -1)
        said.replace(pieces, n_shared, rest)
        self._transcripts[sequence] = said
        self._sequence = sequence
        self._reply_start = len(said) - (len(pieces[-1].ids) if pieces else 0)

    def _append_new(
        self, pieces: Sequence[Piece], changed: Sequence[Ids], n_shared: int, tail: int
    ) -> None:
        """Append the pieces that are new, and the last one.

        Args:
            pieces: the whole prompt.
            changed: token arrays of its last pieces, from the first one that changed on.
            n_shared: leading tokens that the sequence has said before.
            tail: leading tokens that the corpus' text ends with; −1 for none to go on from.
        """
        n_same = len(pieces) - len(changed)
        end = 0
        for number, piece in enumerate(pieces):
            start, end = end, end + len(piece.ids)
            is_last = number == len(pieces) - 1
            if end <= n_shared and (not is_last or tail == end):
                continue
            ids = changed[number - n_same] if number >= n_same else checked(piece.ids)
            key = digest(ids)
            if key in self._indexed and (not is_last or tail == end):
                continue
            joined = tail >= start
            self._text.begin_document(joined=joined, offset=tail - start if joined else 0)
            self._labels.append(piece.label)
            self._text.append(ids[max(tail - start, 0) :])
            self._indexed.add(key)
            tail = end

    def _end_reply(self) -> None:
        """Remember the reply as a piece: prompts of other sequences may hold it.

        Its end-of-generation token belongs to the next message there, so both forms count.
        """
        if self._sequence:
            reply = self._transcripts[self._sequence].array(self._reply_start)
            self._indexed |= {digest(reply), digest(reply[:-1])}

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens of the decoding sequence.

        Raises:
            DraftError: an id is out of range; nothing has changed then.
        """
        new = checked(ids)
        self._text.append(new)
        self._transcripts[self._sequence].extend(new)

    def match(self) -> tuple[int, int, int]:
        """The longest suffix of the decoding context that occurred before.

        Returns:
            Its length in tokens, how often it occurred before, and how often the group of three
            followed that a draft begins with.
        """
        return self._text.match()

    def draft(self, k: int) -> Copied:
        """Up to `k` tokens of the most frequent group of three that followed the match.

        Ties go to the most recent occurrence; without a full group that occurrence itself counts.

        Returns:
            Token ids, the label of the piece they were copied from, and the offset in it.
        """
        ids, document, offset = self._text.draft(k)
        return tuple(ids), self._labels[document] if ids else "", offset

    def place(self) -> Place | None:
        """Where such a draft would be copied from; None without one."""
        ids, document, offset = self._text.draft(1)
        return (document, offset) if ids else None

    def read(self, place: Place, k: int) -> Copied:
        """Up to `k` tokens of the text from a place on, which need not lie in its document.

        Returns:
            Token ids, the label of the piece they were copied from, and the offset in it.
        """
        ids, document, offset = self._text.read(*place, k)
        return tuple(ids), self._labels[document] if ids else "", offset

    @property
    def n_tokens(self) -> int:
        """Tokens in the corpus, separators included."""
        return self._text.n_tokens

    @property
    def memory_bytes(self) -> int:
        """Bytes that the compiled core holds for it."""
        return self._text.memory_bytes


def common_prefix(a: Sequence[int] | Ids, b: Sequence[int] | Ids) -> int:
    """How many leading tokens are equal."""
    limit = min(len(a), len(b))
    differs = np.asarray(a[:limit], dtype=np.int32) != np.asarray(b[:limit], dtype=np.int32)
    return int(differs.argmax()) if differs.any() else limit
