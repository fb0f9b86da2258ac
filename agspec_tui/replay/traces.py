"""Recorded sessions as the messages that models read and wrote.

Three kinds of files are read, plain or compressed with gzip, one JSON object a line:

- traces: a line is a whole session with its model calls, the prompts and the outputs;
- recordings of the engine in our own sessions, with all that it read and wrote;
- recordings of our own sessions: a line is an event, a file is a session. They hold the issue, the
  output of commands and the replies, but not the prompts.

Nothing that is wrong with a file stops the reading of the others: what cannot be read is named.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Literal

import msgspec

from agspec_tui.errors import UsageError

_MOST_LINE_BYTES = 1 << 28
_GZIP = b"\x1f\x8b"


class TraceMessage(msgspec.Struct, frozen=True):
    """A message of a prompt."""

    role: str
    """`system`, `user`, `assistant` or `tool`."""
    content: str
    """Its text."""
    reconstructed: bool = False
    """Whether it is a file that was in the real prompt but not in the log, put back later."""
    file: str | None = None
    """That file's path."""


class TraceCall(msgspec.Struct, frozen=True):
    """One call of a model."""

    prompt: tuple[TraceMessage, ...]
    """The messages that are new to this agent since its previous call."""
    output: str
    """What the model wrote, tool calls included."""
    agent: str = ""
    """The source's own name of the agent."""
    role: str = "agent"
    """`planner`, `localizer`, `coder`, `executor`, `reviewer` or `agent`."""
    form: str = ""
    """Form of the edits that the output was asked for, in our own recordings; else empty."""
    agent_id: str = "main"
    """The instance of the agent, whose context the prompt continues."""
    ctx: Literal["new", "append"] = "append"
    """`new` for an empty context before this call, `append` for that of the instance's last one."""
    turn: int = 0
    """Number of the turn, where the source has turns."""
    sample: int | None = None
    """Which of several samples drawn from one prompt; None for the only one."""
    tokens_in: int | None = None
    """Prompt tokens, as the source counted them."""
    tokens_out: int | None = None
    """Output tokens, as the source counted them."""


class TraceSession(msgspec.Struct, frozen=True):
    """A recorded session."""

    session_id: str
    """Its name."""
    calls: tuple[TraceCall, ...]
    """Its calls in the order in which they began."""
    source: str = ""
    """Where it was recorded: repository, commit and path."""
    license: str | None = None
    """Licence of the source."""
    model: str | None = None
    """The model, as the source names it."""
    task: str | None = None
    """The task that was worked on, by which sessions are split."""
    repo: str | None = None
    """The repository that was worked on."""
    kind: str = ""
    """Kind of agent, e.g. `react-bash`; `recording` for one of our own sessions."""
    edit_format: str | None = None
    """How edits look in the output."""
    base_commit: str | None = None
    """Commit that the work began from."""
    started_at: str | None = None
    """When it began."""
    unknown_fields: tuple[str, ...] = ()
    """Fields of the recording that nothing is known of, which were ignored; set by the reader."""


class Skipped(msgspec.Struct, frozen=True):
    """Something that could not be read."""

    file: str
    """The file."""
    line: int
    """The line, from 1; 0 if it is the whole file."""
    reason: str
    """Why, in a few words."""


NumberedLine = tuple[int, bytes | Skipped]
"""A line of a file with its number, from 1; or why the file could not be read on."""


class _EventLine(msgspec.Struct, frozen=True):
    """What is needed of any event of a recording."""

    kind: str
    """Its kind."""
    seq: int
    """Its number; every event has one."""
    role: str = ""
    """The role it belongs to."""
    turn: int = 0
    """The turn it belongs to."""
    text: str = ""
    """The issue, or a reply."""
    output: str = ""
    """Output of a command."""
    session_id: str = ""
    """Name of the session, at its start."""
    model: str = ""
    """The model, at its start."""
    repo: str = ""
    """The repository, at its start."""


_session = msgspec.json.Decoder(TraceSession)
_event = msgspec.json.Decoder(_EventLine)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_MESSAGE_FIELDS = frozenset(TraceMessage.__struct_fields__)
# Beside what is read here, what recordings say of themselves.
_CALL_FIELDS = frozenset(TraceCall.__struct_fields__) | {
    *("finish", "from_result", "tokens_hidden", "variant"),
}
_SESSION_FIELDS = (frozenset(TraceSession.__struct_fields__) - {"unknown_fields"}) | {
    *("agents", "base_commit_approx", "calls_dropped", "edits", "exit_status", "files_in_chat"),
    *("files_not_reconstructed", "files_reconstructed", "model_note", "models"),
    *("redacted_by_source", "resolved", "session_boundary"),
}


def trace_files(paths: Iterable[Path]) -> list[Path]:
    """The files that are meant; a folder stands for its `.jsonl` and `.jsonl.gz` files, by name.

    Raises:
        UsageError: a path does not exist, or a folder holds no such file.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.name.endswith((".jsonl", ".jsonl.gz")))
            if not inside:
                raise UsageError(f"{path} holds no traces", "name .jsonl or .jsonl.gz files")
            files += inside
        elif path.exists():
            files.append(path)
        else:
            raise UsageError(f"{path} does not exist", "name .jsonl or .jsonl.gz files")
    return files


def read_traces(path: Path) -> Iterator[TraceSession | Skipped]:
    """Sessions of a file one by one, and what was skipped, in the order of the lines."""
    # Imported here: it makes sessions, which are defined above.
    from agspec_tui.replay.recorded_engine import engine_session, is_recorded_target

    recording = _Recording(path)
    lines = numbered_lines(path)
    for number, line in lines:
        if isinstance(line, Skipped):
            yield line
            continue
        if not line.strip():
            continue
        if number == 1 and is_recorded_target(line):
            yield from engine_session(path, chain([(number, line)], lines))
            return
        found = _decoded(path, number, line)
        if isinstance(found, _EventLine):
            if found.kind == "SessionStarted" and recording.is_begun:
                yield from recording.taken()
            recording.add(found)
        else:
            yield found
    yield from recording.taken()


def read_all(
    paths: Iterable[Path], skipped: list[Skipped] | None = None
) -> Iterator[tuple[Path, TraceSession]]:
    """Sessions of all files one by one, each with its file; what was skipped is put into the list.

    Raises:
        UsageError: a path does not exist, or in the end there was no session at all.
    """
    left_out = skipped if skipped is not None else []
    n_sessions = 0
    for path in trace_files(paths):
        for found in read_traces(path):
            if isinstance(found, Skipped):
                left_out.append(found)
            else:
                n_sessions += 1
                yield path, found
    if not n_sessions:
        first = f": {left_out[0].reason}" if left_out else ""
        raise UsageError(f"there is no session in these traces{first}", "see docs/cli.md")


class _Recording:
    """Gathers the events of one of our own sessions into calls."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin()

    def _begin(self) -> None:
        self.is_begun = False
        self._n_events = 0
        self._session_id, self._model, self._repo = self._path.name.partition(".")[0], "", ""
        self._prompt: list[TraceMessage] = []
        self._calls: list[TraceCall] = []

    def add(self, event: _EventLine) -> None:
        """Take an event; most of them say nothing that a model read or wrote."""
        self._n_events += 1
        match event.kind:
            case "SessionStarted":
                self.is_begun = True  # the model may have been loaded before
                self._session_id = event.session_id or self._session_id
                self._model, self._repo = event.model, event.repo
            case "TaskSubmitted":
                self._prompt.append(TraceMessage("user", event.text))
            case "CommandFinished":
                self._prompt.append(TraceMessage("tool", event.output))
            case "GenerationFinished":
                self._calls.append(
                    TraceCall(
                        prompt=tuple(self._prompt),
                        output=event.text,
                        agent=event.role,
                        role=event.role or "agent",
                        agent_id=event.role or "main",
                        turn=event.turn,
                    )
                )
                self._prompt = []
            case _:
                pass

    def taken(self) -> Iterator[TraceSession | Skipped]:
        """The session, if there were events; then begin another."""
        if self._calls:
            yield TraceSession(
                session_id=self._session_id,
                calls=tuple(self._calls),
                source=self._path.name,
                model=self._model or None,
                repo=self._repo or None,
                kind="recording",
            )
        elif self._n_events:
            yield Skipped(str(self._path), 0, "a recording without a reply")
        self._begin()


def _decoded(path: Path, number: int, line: bytes) -> TraceSession | _EventLine | Skipped:
    try:
        return msgspec.structs.replace(_session.decode(line), unknown_fields=_unknown_fields(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        fault = str(error)
    try:
        return _event.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Skipped(str(path), number, f"no session: {fault}")


def _unknown_fields(line: bytes) -> tuple[str, ...]:
    """Names of the fields of a session, its calls and their messages that no one knows."""
    unknown: set[str] = set()
    fields = _fields.decode(line)
    unknown.update(fields.keys() - _SESSION_FIELDS)
    for call in _list.decode(fields["calls"]):
        unknown.update(f"calls[].{name}" for name in call.keys() - _CALL_FIELDS)
        for message in _list.decode(call["prompt"]):
            unknown.update(f"prompt[].{name}" for name in message.keys() - _MESSAGE_FIELDS)
    return tuple(sorted(unknown))


def numbered_lines(path: Path) -> Iterator[NumberedLine]:
    """Numbered lines of a file; where it breaks off, why."""
    number = 0
    try:
        with path.open("rb") as raw, _unpacked(raw) as file:
            while line := file.readline(_MOST_LINE_BYTES):
                number += 1
                if len(line) == _MOST_LINE_BYTES and not line.endswith(b"\n"):
                    yield number, Skipped(str(path), number, "the line is too long; stopped here")
                    return
                yield number, line
    except EOFError:
        yield number, Skipped(str(path), number + 1, "the gzip data end too early")
    except (OSError, zlib.error) as error:
        reason = (getattr(error, "strerror", None) or str(error)).rstrip(".")
        yield number, Skipped(str(path), number + 1 if number else 0, f"unreadable: {reason}")


def _unpacked(raw: BufferedReader) -> gzip.GzipFile | BufferedReader:
    """The content of a file, whether it is compressed or not."""
    return gzip.open(raw) if raw.peek(2)[:2] == _GZIP else raw
