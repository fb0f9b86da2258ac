"""From trace files to tokenised sessions: what is left out is named and counted."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from agspec_tui.errors import UsageError
from agspec_tui.replay.token_cache import TokenCache, key_of
from agspec_tui.replay.tokens import TokenisedSession, Tokenizer, assemble, tokenise
from agspec_tui.replay.traces import Skipped, TraceSession, read_all

ROLES = frozenset({"planner", "localizer", "coder", "executor", "reviewer", "agent"})
"""Roles that are known; others keep their names and are reported."""
REPEATED = ("/".join(("hyperagent", "root", "010")),)
"""Sessions left out of every average by default: its executor's terminal was broken, and it repeats
itself in 72 calls."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What is read of the recordings."""

    left_out: tuple[str, ...] = REPEATED
    """Names of sessions that are left out."""
    more_samples: bool = False
    """Also calls that repeat a prompt to draw another sample; they are close to the first one."""


@dataclass
class ReadReport:
    """What was read, and what was not."""

    skipped: list[Skipped] = field(default_factory=list)
    """What could not be read, each with its reason."""
    n_sessions: Counter[str] = field(default_factory=Counter)
    """Sessions read, by source."""
    n_calls: Counter[str] = field(default_factory=Counter)
    """Calls read, by source."""
    n_samples_left_out: Counter[str] = field(default_factory=Counter)
    """Calls left out because they draw a further sample, by source."""
    left_out: list[str] = field(default_factory=list)
    """Names of sessions left out by the options."""
    unknown_roles: Counter[str] = field(default_factory=Counter)
    """Calls by roles that are not known; they are read."""
    unknown_fields: Counter[str] = field(default_factory=Counter)
    """Sessions by fields that are not known; they are ignored."""
    n_cached: int = 0
    """Sessions that were tokenised before."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A session that is in the cache, so that any process can load it without a tokenizer."""

    key: str
    """Its name in the cache."""
    session_id: str
    """Its name."""
    source: str
    """The stem of its file."""
    task: str
    """The task by which it is split."""
    n_prompt: int
    """Prompt tokens."""
    n_output: int
    """Output tokens."""


def read_sessions(
    paths: Iterable[Path],
    tokenizer: Tokenizer,
    cache: TokenCache | None = None,
    options: ReadOptions | None = None,
    report: ReadReport | None = None,
) -> Iterator[TokenisedSession]:
    """Tokenised sessions of all files, one by one.

    Args:
        paths: trace files, or folders of them.
        tokenizer: of the model that is replayed.
        cache: where tokenised sessions are kept; None for nowhere.
        options: what is read; None for the defaults.
        report: takes what was read and what was not.

    Raises:
        UsageError: a path does not exist, or no session is left.
    """
    for _, session in _sessions(paths, tokenizer, cache, options or ReadOptions(), report):
        yield session


def prepare(
    paths: Iterable[Path],
    tokenizer: Tokenizer,
    cache: TokenCache,
    options: ReadOptions | None = None,
    report: ReadReport | None = None,
) -> Iterator[Entry]:
    """Put all sessions into the cache, and say one by one where they are; see `load`.

    Raises:
        UsageError: a path does not exist, no session is left, or the cache cannot be written.
    """
    for key, session in _sessions(paths, tokenizer, cache, options or ReadOptions(), report):
        if not cache.path(key).is_file():
            raise UsageError(
                f"tokenised sessions cannot be kept in {cache.path(key).parent}",
                "free some space, or set XDG_CACHE_HOME to a folder that can be written",
            )
        yield Entry(
            key=key,
            session_id=session.session_id,
            source=session.source,
            task=session.task,
            n_prompt=session.n_prompt,
            n_output=session.n_output,
        )


def load(cache: TokenCache, entry: Entry) -> TokenisedSession:
    """A session from the cache.

    Raises:
        UsageError: it is gone or damaged.
    """
    found = cache.get(entry.key)
    if found is None:
        raise UsageError(f"{entry.session_id} is gone from {cache.path(entry.key)}", "start again")
    return assemble(*found)


def _sessions(
    paths: Iterable[Path],
    tokenizer: Tokenizer,
    cache: TokenCache | None,
    options: ReadOptions,
    report: ReadReport | None,
) -> Iterator[tuple[str, TokenisedSession]]:
    report = report if report is not None else ReadReport()
    fingerprint = tokenizer.fingerprint()
    n_read = 0
    for path, whole in read_all(paths, report.skipped):
        source = path.name.removesuffix(".gz").removesuffix(".jsonl")
        session = _kept(whole, path, source, options, report)
        if session is None:
            continue
        key = key_of(session, source, fingerprint)
        found = cache.get(key) if cache is not None else None
        if found is None:
            found = tokenise(session, source, tokenizer)
            if cache is not None:
                cache.put(key, *found)
        else:
            report.n_cached += 1
        n_read += 1
        yield key, assemble(*found)
    if not n_read:
        first = f": {report.skipped[0].reason}" if report.skipped else ""
        raise UsageError(f"no session is left to replay{first}", "see docs/cli.md")


def _kept(
    session: TraceSession, path: Path, source: str, options: ReadOptions, report: ReadReport
) -> TraceSession | None:
    """The part of a session that is read; None for nothing. Counts what it sees."""
    if session.session_id in options.left_out:
        report.left_out.append(session.session_id)
        return None
    calls = session.calls
    if not options.more_samples:
        calls = tuple(call for call in calls if not call.sample)
        if n_left_out := len(session.calls) - len(calls):
            report.n_samples_left_out[source] += n_left_out
    if not any(call.output for call in calls):
        report.skipped.append(Skipped(str(path), 0, f"{session.session_id}: no model call"))
        return None
    report.n_sessions[source] += 1
    report.n_calls[source] += len(calls)
    report.unknown_roles.update(call.role for call in calls if call.role not in ROLES)
    report.unknown_fields.update(session.unknown_fields)
    return msgspec.structs.replace(session, calls=calls)
