"""A recording of the engine as a session of calls: prompts and outputs, for any drafter."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from agspec_tui.engine.recording import (
    RecordedEnd,
    RecordedLine,
    RecordedMessage,
    RecordedTarget,
)
from agspec_tui.replay.live import Generation, entries
from agspec_tui.replay.traces import NumberedLine, Skipped, TraceCall, TraceMessage, TraceSession

_decoder = msgspec.json.Decoder(RecordedLine)


def is_recorded_target(line: bytes) -> bool:
    """Whether a line is the first one of a recording of the engine."""
    return line.startswith(b'{"kind":"RecordedTarget"')


def engine_session(path: Path, lines: Iterable[NumberedLine]) -> Iterator[TraceSession | Skipped]:
    """The session of a recording, and what was skipped of it.

    Args:
        path: the file, which names the session.
        lines: its numbered lines.
    """
    skipped: list[Skipped] = []
    target: RecordedTarget | None = None
    messages: dict[int, RecordedMessage] = {}
    said: dict[str, list[TraceMessage]] = {}
    calls: list[TraceCall] = []
    for entry in entries(_decoded(path, lines, skipped)):
        match entry:
            case RecordedTarget():
                target = target or entry
                messages.clear()
            case RecordedMessage():
                messages[entry.number] = entry
            case Generation():
                calls.append(_call(entry, messages, said))
            case _:
                pass
    yield from skipped
    if target is None or not calls:
        yield Skipped(str(path), 0, "a recording without a reply")
        return
    yield TraceSession(
        session_id=path.name.partition(".")[0],
        calls=tuple(calls),
        source=path.name,
        model=target.model,
        kind="recording",
        started_at=datetime.fromtimestamp(target.created_s, UTC).isoformat(),
    )


def _call(
    generation: Generation,
    messages: dict[int, RecordedMessage],
    said: dict[str, list[TraceMessage]],
) -> TraceCall:
    """A generation as a call; of its prompt, what is new to its sequence."""
    prompt = generation.prompt
    whole = [
        TraceMessage(messages[number].role, messages[number].text)
        for number in prompt.messages
        if number in messages and messages[number].role
    ]
    before = said.get(prompt.sequence, [])
    grown = bool(before) and whole[: len(before)] == before
    end = generation.end
    output = "".join(step.event.text for step in generation.steps)
    if isinstance(end, RecordedEnd):
        output = end.event.text
    said[prompt.sequence] = [*whole, TraceMessage("assistant", output)]
    return TraceCall(
        prompt=tuple(whole[len(before) :] if grown else whole),
        output=output,
        agent=prompt.role,
        role=prompt.role or "agent",
        form=prompt.form,
        agent_id=prompt.sequence or "main",
        ctx="append" if grown else "new",
        turn=prompt.turn,
        tokens_out=sum(len(step.event.ids) for step in generation.steps),
    )


def _decoded(
    path: Path, lines: Iterable[NumberedLine], skipped: list[Skipped]
) -> Iterator[RecordedLine]:
    for number, line in lines:
        if isinstance(line, Skipped):
            skipped.append(line)
            continue
        if not line.strip():
            continue
        try:
            yield _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            skipped.append(Skipped(str(path), number, f"no line of a recording: {error}"))
