"""A drafter's walk over a recorded session: what it would propose at every position.

The recorded output plays the target. Where a drafter is steady (`Drafter.steady`), the state at a
position is the same whatever was drafted before, so that one walk over all positions serves every
policy, cost and batch size; `replay.steps` walks policies over its arrays. A draft is never longer
than what is left of the recorded output less the bonus token.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from agspec_tui.drafting.types import Drafter, Match
from agspec_tui.errors import DraftError
from agspec_tui.replay.tokens import TokenisedCall, TokenisedSession

MAX_DRAFT = 256
"""Longest draft that is asked for, in tokens: R is not told beyond it."""
_BLOCK = 32

Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """What is left of a drafter's memory in a walk."""

    workspace: bool = True
    """Whether the files that the session showed are indexed."""
    views: bool = True
    """Whether in all emission views, or raw only."""


@dataclass(frozen=True, slots=True)
class CallPositions:
    """What a drafter proposed at every position of an output; arrays have shape (n_output,)."""

    role: str
    """Role of the agent."""
    turn: int
    """Number of the turn, from 1."""
    max_tokens: int | None
    """Most tokens that the reply could have had; None where that is not known."""
    match_len: Numbers
    """m, in tokens; 0 without a match."""
    source: npt.NDArray[np.uint8]
    """Number of the match's corpus in `SessionPositions.sources`."""
    n_seen: Numbers
    """How often the match occurred before."""
    n_group: Numbers
    """Of those, how often the tokens followed that the draft begins with."""
    n_draft: Numbers
    """Tokens of the longest draft, at most `MAX_DRAFT` and the room that is left."""
    reusable: Numbers
    """R: leading tokens of that draft that the recorded output repeats."""
    draft_us: npt.NDArray[np.float32]
    """Microseconds for match and longest draft together."""
    form: str = ""
    """Form of the edits that the output was asked for; empty where that is not known."""

    def __len__(self) -> int:
        """Tokens of the output."""
        return len(self.match_len)

    def room(self, position: int) -> int:
        """Most tokens that a draft may have there, by what was known when the reply was written."""
        return room_at(self.max_tokens, position)


@dataclass(slots=True)
class SessionPositions:
    """A walk over a session."""

    session_id: str
    """Its name."""
    source: str
    """The recording that it comes from."""
    task: str
    """The task by which it is split."""
    drafter: str
    """Name of the drafter."""
    calls: list[CallPositions] = field(default_factory=list)
    """Its calls that wrote something."""
    sources: list[str] = field(default_factory=lambda: [""])
    """Names of corpora by their numbers."""
    n_refused: int = 0
    """Files that the workspace corpus had no room for."""


class Prompts:
    """Puts a session's prompts and shown files into a drafter, call by call."""

    def __init__(self, drafter: Drafter, options: WalkOptions) -> None:
        """Feed a drafter.

        Args:
            drafter: any drafter with empty live corpora.
            options: what is indexed.
        """
        self.n_refused = 0
        """Files that the workspace corpus had no room for."""
        self._drafter = drafter
        self._options = options

    def begin(self, call: TokenisedCall) -> None:
        """Index what the call's prompt shows, then begin its generation."""
        for file in call.shown if self._options.workspace else ():
            views = [view for view in file.views if self._options.views or view[0] == "raw"]
            if not views:
                self._drafter.forget(file.path)
                continue
            try:
                self._drafter.index(file.path, views)
            except DraftError:  # no room for it: the live engine goes on without the file as well
                self.n_refused += 1
        self._drafter.begin(call.agent_id, call.pieces)


def walk_session(
    session: TokenisedSession,
    make: Callable[[], Drafter],
    options: WalkOptions | None = None,
    progress: Callable[[int], None] = lambda n_tokens: None,
) -> SessionPositions:
    """Ask a steady drafter at every position of a session.

    Args:
        session: the session.
        make: makes the drafter, with empty live corpora.
        options: what is indexed; None for everything.
        progress: called after each call with its tokens, prompt and output.

    Raises:
        DraftError: the drafter is not steady.
    """
    drafter = make()
    if not drafter.steady:
        raise DraftError(f"{drafter.name} must be walked step by step", "use `walk_steps`")
    walk = SessionPositions(session.session_id, session.source, session.task, drafter.name)
    prompts = Prompts(drafter, options or WalkOptions())
    for call in session.calls:
        prompts.begin(call)
        if len(call.output):
            walk.calls.append(_walk_call(drafter, call, walk.sources))
        progress(call.n_new + len(call.output))
    walk.n_refused = prompts.n_refused
    return walk


def n_agreeing(ids: Sequence[int], output: tuple[int, ...], start: int) -> int:
    """R: leading tokens of a draft that equal the output from `start` on."""
    n = min(len(ids), len(output) - start)
    if n < 1 or ids[0] != output[start]:
        return 0
    done = 0
    while done < n:
        end = min(done + _BLOCK, n)
        if ids[done:end] != output[start + done : start + end]:
            break
        done = end
    while done < n and ids[done] == output[start + done]:
        done += 1
    return done


def most_tokens(call: TokenisedCall) -> int:
    """Most tokens of a reply that drafts are compared with; those behind its end are not."""
    return len(call.output) if call.max_tokens is None else call.max_tokens


def room_at(max_tokens: int | None, position: int) -> int:
    """Most tokens that a draft may have at a position of a reply.

    Args:
        max_tokens: most tokens of the reply; None where that is not known. A policy is then not
            told where the reply ends: the longest draft always has room.
        position: tokens of the reply so far.
    """
    return MAX_DRAFT if max_tokens is None else max_tokens - 1 - position


def _walk_call(drafter: Drafter, call: TokenisedCall, sources: list[str]) -> CallPositions:
    output = tuple(call.output.tolist())
    n = len(output)
    n_most = most_tokens(call)
    found: list[Match] = []
    n_draft, reusable, spent = [0] * n, [0] * n, [0] * n
    clock = time.perf_counter_ns
    match, draft, feed = drafter.match, drafter.draft, drafter.feed
    for i, token in enumerate(output):
        room = min(MAX_DRAFT, n_most - i - 1)
        started = clock()
        here = match()
        if here.length and room > 0:
            ids = draft(here, room).ids
            spent[i] = clock() - started
            n_draft[i] = len(ids)
            reusable[i] = n_agreeing(ids, output, i)
        else:
            spent[i] = clock() - started
        found.append(here)
        feed((token,))
    return CallPositions(
        role=call.role,
        turn=call.turn,
        max_tokens=call.max_tokens,
        match_len=np.array([match.length for match in found], np.int32),
        source=_numbered(found, sources),
        n_seen=np.array([match.n_seen for match in found], np.int32),
        n_group=np.array([match.n_group for match in found], np.int32),
        n_draft=np.array(n_draft, np.int32),
        reusable=np.array(reusable, np.int32),
        draft_us=np.array(spent, np.float32) / np.float32(1e3),
        form=call.form,
    )


def _numbered(found: Sequence[Match], sources: list[str]) -> npt.NDArray[np.uint8]:
    """Numbers of the matches' corpora; a corpus that is new is put at the end of the list."""
    for name in {match.source for match in found} - set(sources):
        sources.append(name)
    number = {name: i for i, name in enumerate(sources)}
    return np.array([number[match.source] for match in found], np.uint8)
