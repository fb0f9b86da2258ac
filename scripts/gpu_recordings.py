"""Chooses, of recorded sessions, the replies that a target is made to say again."""

from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path

from agspec_tui.replay.traces import TraceCall, TraceSession, read_all

MOST_PROMPT = 20_000
"""Characters of the longest prompt that is taken, some 6,000 tokens."""
REPLY = (300, 6_000)
"""Characters of the shortest and the longest reply."""
MOST_CALLS = 3
"""Replies of one session."""
MOST_SESSIONS = 12
"""Sessions of one file."""

Call = dict[str, object]
"""`messages`, pairs of role and text of the whole prompt, and `reply`."""
Session = dict[str, object]
"""`name` and `calls`."""


def collect(paths: Iterable[Path]) -> list[Session]:
    """Sessions of all files in turn, so that any number of them from the first on is a mixture.

    Raises:
        UsageError: a path does not exist or holds no recordings.
    """
    by_source: dict[str, list[Session]] = {}
    for source, session in read_all(list(paths)):
        found = by_source.setdefault(str(source), [])
        if isinstance(session, TraceSession) and len(found) < MOST_SESSIONS:
            calls = calls_of(session.calls)
            if calls:
                found.append({"name": session.session_id, "calls": calls})
    in_turn = chain.from_iterable(zip_longest(*by_source.values()))
    return [session for session in in_turn if session is not None]


def calls_of(calls: Iterable[TraceCall]) -> list[Call]:
    """Calls of the first agent of a session, from its beginning on, while the prompt is short."""
    kept: list[Call] = []
    said: list[tuple[str, str]] = []
    agent = None
    for call in calls:
        agent = agent or call.agent_id
        if call.agent_id != agent:
            continue
        if call.ctx == "new":
            said.clear()
        said += [(_role(message.role), message.content) for message in call.prompt]
        if sum(len(text) for _, text in said) > MOST_PROMPT or len(kept) == MOST_CALLS:
            break
        if said and said[-1][0] != "assistant" and REPLY[0] <= len(call.output) <= REPLY[1]:
            kept.append({"messages": list(said), "reply": call.output})
        said.append(("assistant", call.output))
    return kept


def _role(role: str) -> str:
    """Chat templates know three roles; what a tool said is read as the user's."""
    return role if role in ("system", "user", "assistant") else "user"
