"""From recorded sessions to the documents of a global corpus."""

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from agspec_tui.drafting.types import Ids
from agspec_tui.replay.traces import TraceSession

Tokenize = Callable[[str], Ids]


@dataclass
class Collected:
    """What was taken for a corpus, and what was left out."""

    documents: list[tuple[str, Ids]] = field(default_factory=list)
    """Name and token ids of each message, the oldest first."""
    n_tokens: int = 0
    """Tokens in them, and one separator each."""
    n_sessions: int = 0
    """Sessions of which anything was looked at."""
    n_repeated: int = 0
    """Messages left out because the same text is in the corpus already."""
    n_excluded: int = 0
    """Sessions left out because of their task."""
    is_full: bool = False
    """Whether older messages were left out for want of room."""


def collect(
    sessions: Iterable[tuple[Path, TraceSession]],
    tokenize: Tokenize,
    max_tokens: int,
    *,
    outputs_only: bool = False,
    excluded_tasks: Collection[str] = (),
    progress: Callable[[int, int], None] = lambda n_tokens, n_sessions: None,
) -> Collected:
    """Tokenise the messages of sessions, each text once, the newest first until there is no room.

    A session is as old as its `started_at` says, else as its file; of two in one file the later one
    is newer. The oldest message that is taken is cut so that its end fits.

    Args:
        sessions: sessions with their files.
        tokenize: from text to token ids, control tokens not recognised.
        max_tokens: most tokens, separators included.
        outputs_only: take what models wrote, not what they read.
        excluded_tasks: tasks whose sessions are left out.
        progress: called after each session with the tokens so far and the sessions left.
    """
    found = Collected()
    kept: list[tuple[float, int, TraceSession]] = []
    for number, (path, session) in enumerate(sessions):
        if session.task is not None and session.task in excluded_tasks:
            found.n_excluded += 1
        else:
            kept.append((_time_of(session, path), number, session))
    kept.sort(key=lambda entry: entry[:2], reverse=True)
    seen: set[bytes] = set()
    for left, (_, _, session) in zip(range(len(kept) - 1, -1, -1), kept, strict=True):
        _take(found, session, tokenize, max_tokens, seen, outputs_only)
        progress(found.n_tokens, left)
        if found.is_full:
            break
    found.documents.reverse()
    return found


def _take(
    found: Collected,
    session: TraceSession,
    tokenize: Tokenize,
    max_tokens: int,
    seen: set[bytes],
    outputs_only: bool,
) -> None:
    """Add the messages of a session, the newest first."""
    found.n_sessions += 1
    for name, text in reversed(_messages(session, outputs_only)):
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key in seen:
            found.n_repeated += 1
            continue
        room = max_tokens - found.n_tokens - 1
        if room < 1:
            found.is_full = True
            return
        seen.add(key)
        ids = tokenize(text)
        if not len(ids):
            continue
        found.is_full = len(ids) > room
        found.documents.append((name, ids[-room:]))
        found.n_tokens += min(len(ids), room) + 1


def _messages(session: TraceSession, outputs_only: bool) -> list[tuple[str, str]]:
    """Name and text of every message of a session that is not empty, in order."""
    messages: list[tuple[str, str]] = []
    for number, call in enumerate(session.calls, 1):
        label = f"{session.session_id} call {number}"
        if not outputs_only:
            messages += [(f"{label} {m.role}", m.content) for m in call.prompt if m.content]
        if call.output:
            messages.append((f"{label} {call.role}", call.output))
    return messages


def _time_of(session: TraceSession, path: Path) -> float:
    """When a session began, in seconds since 1970; the file's time if it does not say."""
    try:
        begun = datetime.fromisoformat(session.started_at or "")
    except ValueError:
        try:
            return path.stat().st_mtime
        except OSError:  # gone by now
            return 0.0
    return (begun if begun.tzinfo else begun.replace(tzinfo=UTC)).timestamp()
