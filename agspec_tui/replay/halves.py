"""Global corpora that are never built from what they are used on: two halves of the tasks.

Tasks fall into two halves by a hash of their names. The corpus that a session drafts from is built
from the sessions of the other half, so that no text of its own task is in it. A session without a
recorded task is a task of its own: other sessions of the same project may then be in the other
half, as they are in a user's own history.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from agspec_tui.drafting.corpus_file import CorpusFile, open_corpus, write_corpus
from agspec_tui.drafting.global_corpus import GlobalCorpus
from agspec_tui.drafting.types import Ids
from agspec_tui.replay.tokens import TokenisedSession, Tokenizer

MAX_TOKENS = 8_000_000
"""Most tokens of one half's corpus."""


@dataclass
class _Half:
    """What is collected for the corpus of one half."""

    documents: list[tuple[str, Ids]] = field(default_factory=list)
    """Name and token ids of every message, each text once."""
    seen: set[bytes] = field(default_factory=set)
    """Digests of them."""
    n_tokens: int = 0
    """Their tokens, and one separator each."""
    n_left_out: int = 0
    """Messages that there was no room for."""


@dataclass(frozen=True, slots=True)
class HalfCorpora:
    """The two corpus files."""

    paths: tuple[Path | None, Path | None]
    """The file built from the sessions of each half; None where there was no session."""
    n_left_out: tuple[int, int]
    """Messages that did not fit into each."""

    def path_for(self, half: int) -> Path | None:
        """The file that sessions of a half draft from: the one of the other half."""
        return self.paths[1 - half]


def build_halves(
    sessions: Iterable[TokenisedSession],
    folder: Path,
    tokenizer: Tokenizer,
    max_tokens: int = MAX_TOKENS,
) -> HalfCorpora:
    """Build both corpora from sessions.

    Args:
        sessions: the sessions.
        folder: where the files are put; it must exist.
        tokenizer: the one that the sessions were tokenised with.
        max_tokens: most tokens of each; of what does not fit the later sessions are left out.

    Raises:
        DraftError: the disk refuses.
    """
    halves = (_Half(), _Half())
    for session in sessions:
        half = halves[session.half]
        for name, ids in _messages(session):
            key = hashlib.blake2b(ids.tobytes(), digest_size=16).digest()
            if key in half.seen:
                continue
            if half.n_tokens + len(ids) + 1 > max_tokens:
                half.n_left_out += 1
                continue
            half.seen.add(key)
            half.documents.append((name, ids))
            half.n_tokens += len(ids) + 1
    fingerprint = tokenizer.fingerprint()
    paths: list[Path | None] = []
    for number, half in enumerate(halves):
        path = folder / f"half-{number}.corpus" if half.documents else None
        if path is not None:
            write_corpus(path, half.documents, fingerprint, tokenizer.n_vocab)
        paths.append(path)
    return HalfCorpora(
        paths=(paths[0], paths[1]), n_left_out=(halves[0].n_left_out, halves[1].n_left_out)
    )


class OpenHalves:
    """The corpora of both halves, opened when they are first asked for."""

    def __init__(self, corpora: HalfCorpora) -> None:
        """Make one that has opened nothing yet."""
        self._corpora = corpora
        self._files: dict[Path, CorpusFile] = {}

    def corpus_for(self, half: int) -> GlobalCorpus | None:
        """A global corpus for one drafter of a session of this half; None where there is none.

        Raises:
            DraftError: the file is missing or damaged.
        """
        path = self._corpora.path_for(half)
        if path is None:
            return None
        if path not in self._files:
            self._files[path] = open_corpus(path)
        return GlobalCorpus(self._files[path])


def _messages(session: TokenisedSession) -> Iterator[tuple[str, Ids]]:
    """Name and token ids of every text that a session's agents read or wrote."""
    for number, call in enumerate(session.calls, 1):
        n = call.n_new
        for piece in reversed(call.pieces):
            if n <= 0:
                break
            n -= len(piece.ids)
            if piece.ids:
                yield f"{session.session_id} {piece.label}", np.array(piece.ids, np.int32)
        if len(call.output):
            yield f"{session.session_id} call {number}", call.output
