"""Recorded sessions as the tokens that a drafter sees: prompts in pieces, outputs, shown files.

Every text is tokenised by itself, with control tokens not recognised and without the scaffold of a
chat template, which recordings do not hold. The context of a call is what its `ctx` says: `new`
begins an empty one for its `agent_id`; `append` goes on from that agent's previous call, its output
included. Pieces are shared between the calls of a session, so that a drafter knows them again
without looking at their tokens.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec
import numpy as np

from agspec_tui.drafting.types import Ids, Piece
from agspec_tui.forms.choose import views_of
from agspec_tui.replay.edit_formats import forms_of, turns_of
from agspec_tui.replay.shown_files import ShownFiles
from agspec_tui.replay.traces import TraceCall, TraceSession


class Tokenizer(Protocol):
    """What tokenises, e.g. `engine.llama_tokenizer.Vocabulary`."""

    n_vocab: int
    """Size of its vocabulary."""

    def tokenize(self, text: str, *, special: bool) -> Ids:
        """Token ids of a text, shape (n,)."""
        ...

    def fingerprint(self) -> bytes:
        """A hash of the vocabulary, 32 bytes."""
        ...


@dataclass(frozen=True, slots=True)
class FileViews:
    """A document of the workspace corpus that a session showed."""

    path: str
    """Its name: the file's path, with the first line behind it for a part of a file."""
    views: tuple[tuple[str, Ids], ...]
    """Name and token ids of each emission view, in the order of indexing; none to take it out."""


@dataclass(frozen=True, slots=True)
class TokenisedCall:
    """One call of a model, as a drafter sees it."""

    role: str
    """Role of the agent, as the recording maps it."""
    agent_id: str
    """Instance of the agent: the name of its sequence."""
    turn: int
    """Number of the turn, from 1; see `replay.edit_formats.turns_of`."""
    shown: tuple[FileViews, ...]
    """Changes of the workspace corpus before the call."""
    pieces: tuple[Piece, ...]
    """The whole prompt, at least one piece."""
    n_new: int
    """Tokens of it that are new to the agent."""
    output: Ids
    """What the model wrote, shape (n_output,); may be empty."""
    max_tokens: int | None = None
    """Most tokens that the reply could have had; None where that is not known."""
    form: str = ""
    """Form of the edits that the output was asked for; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class TokenisedSession:
    """A recorded session, as a drafter sees it."""

    session_id: str
    """Its name."""
    source: str
    """The recording it comes from: the stem of its file."""
    task: str
    """The task by which sessions are split; the session's own name where none is recorded."""
    forms: tuple[str, ...]
    """Edit forms whose views its workspace corpus holds."""
    calls: tuple[TokenisedCall, ...]
    """Its calls in the order in which they began."""

    @property
    def n_prompt(self) -> int:
        """Prompt tokens, each counted once for an agent."""
        return sum(call.n_new for call in self.calls)

    @property
    def n_output(self) -> int:
        """Output tokens."""
        return sum(len(call.output) for call in self.calls)

    @property
    def half(self) -> int:
        """Half of the tasks that it belongs to: 0 or 1."""
        return half_of(self.task)


def half_of(task: str) -> int:
    """Half of the tasks that one belongs to, by a hash of its name: 0 or 1."""
    data = task.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=1).digest()[0] & 1


class StoredFile(msgspec.Struct, frozen=True, array_like=True):
    """A shown file; its tokens are runs."""

    path: str
    """Its name."""
    views: tuple[tuple[str, int], ...]
    """Name of each view and the number of its run."""


class StoredCall(msgspec.Struct, frozen=True, array_like=True):
    """A call; its tokens are runs."""

    role: str
    """Role of the agent."""
    agent_id: str
    """Instance of the agent."""
    turn: int
    """Number of the turn."""
    is_new: bool
    """Whether the context is empty before it."""
    shown: tuple[StoredFile, ...]
    """Changes of the workspace corpus before it."""
    prompt: tuple[tuple[str, int], ...]
    """Label and run of each new message."""
    label: str
    """Label of the output."""
    output: int
    """Run of the output."""
    max_tokens: int | None = None
    """Most tokens that the reply could have had."""
    form: str = ""
    """Form of the edits that the output was asked for; empty where that is not known."""


class StoredSession(msgspec.Struct, frozen=True, array_like=True):
    """A session without its tokens, which are runs beside it."""

    session_id: str
    """Its name."""
    source: str
    """The recording it comes from."""
    task: str
    """The task by which it is split."""
    forms: tuple[str, ...]
    """Edit forms of its views."""
    calls: tuple[StoredCall, ...]
    """Its calls."""


class _Runs:
    """Token runs of a session; the same text is tokenised once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.runs: list[Ids] = []
        self._tokenizer = tokenizer
        self._numbers: dict[str, int] = {}

    def of(self, text: str) -> int:
        """Number of the run that a text becomes."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.runs)
            self.runs.append(self._tokenizer.tokenize(text, special=False))
        return number


def tokenise(
    session: TraceSession, source: str, tokenizer: Tokenizer
) -> tuple[StoredSession, list[Ids]]:
    """Tokenise a session: its calls in terms of runs, and the runs."""
    runs = _Runs(tokenizer)
    forms = forms_of(session)
    shown = ShownFiles()
    turns = turns_of(session)
    calls = []
    for number, (call, turn) in enumerate(zip(session.calls, turns, strict=True), 1):
        files = [
            StoredFile(change.name, tuple(_views(change.text, forms, runs)))
            for change in shown.changes(call)
        ]
        calls.append(_stored(call, number, turn, tuple(files), runs))
    task = session.task or session.session_id
    return StoredSession(session.session_id, source, task, forms, tuple(calls)), runs.runs


def _stored(
    call: TraceCall, number: int, turn: int, files: tuple[StoredFile, ...], runs: _Runs
) -> StoredCall:
    who = call.agent or call.role
    return StoredCall(
        role=call.role,
        agent_id=call.agent_id,
        turn=turn,
        is_new=call.ctx == "new",
        shown=files,
        prompt=tuple(
            (f"{who}:{message.role} {number}", runs.of(message.content))
            for message in call.prompt
            if message.content
        ),
        label=f"{who} {number}",
        output=runs.of(call.output),
        form=call.form,
    )


def _views(text: str, forms: Sequence[str], runs: _Runs) -> Iterator[tuple[str, int]]:
    """Views of a file in all forms, each once; none for a file that is taken out."""
    names: set[str] = set()
    for form in forms if text else ():
        for view in views_of(form, text):
            if view.name not in names:
                names.add(view.name)
                yield view.name, runs.of(view.text)


def assemble(stored: StoredSession, runs: Sequence[Ids]) -> TokenisedSession:
    """A session from its calls and its token runs."""
    tuples: dict[int, tuple[int, ...]] = {}

    def piece(label: str, run: int) -> Piece:
        ids = tuples.get(run)
        if ids is None:
            ids = tuples[run] = tuple(runs[run].tolist())
        return Piece(label, ids)

    contexts: dict[str, tuple[Piece, ...]] = {}
    calls = []
    for call in stored.calls:
        before = () if call.is_new else contexts.get(call.agent_id, ())
        new = tuple(piece(label, run) for label, run in call.prompt)
        pieces = (*before, *new) or (Piece(call.label, ()),)
        contexts[call.agent_id] = (*pieces, piece(call.label, call.output))
        shown = [
            FileViews(file.path, tuple((name, runs[run]) for name, run in file.views))
            for file in call.shown
        ]
        calls.append(
            TokenisedCall(
                role=call.role,
                agent_id=call.agent_id,
                turn=call.turn,
                shown=tuple(shown),
                pieces=pieces,
                n_new=sum(len(each.ids) for each in new),
                output=np.asarray(runs[call.output], dtype=np.int32),
                max_tokens=call.max_tokens,
                form=call.form,
            )
        )
    return TokenisedSession(
        stored.session_id, stored.source, stored.task, stored.forms, tuple(calls)
    )
