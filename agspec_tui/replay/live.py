"""Decodes a recorded session again: the real loop, drafter and policy over a target that repeats.

With the recorded settings every step drafts and accepts what it did when it was recorded. With
other settings the same session is decoded as another drafter or policy would have.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import msgspec

from agspec_tui.commands import ConfigureDrafting, Generate, LoadModel, Message
from agspec_tui.drafting.types import Piece
from agspec_tui.engine.choose_drafter import DrafterMaker, reconfigure
from agspec_tui.engine.forced import ForcedBackend
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.prompt import label_of
from agspec_tui.engine.recording import (
    RecordedCacheDrop,
    RecordedDocument,
    RecordedEnd,
    RecordedForget,
    RecordedLine,
    RecordedMessage,
    RecordedPrompt,
    RecordedRefusal,
    RecordedReset,
    RecordedSettings,
    RecordedStep,
    RecordedTarget,
)
from agspec_tui.engine.types import NoWatch, Tokenizer
from agspec_tui.errors import DraftError, EngineError, UsageError
from agspec_tui.events import EngineEvent, StepCommitted
from agspec_tui.policy.choose import make_policy
from agspec_tui.replay.traces import Skipped, numbered_lines

Change = RecordedDocument | RecordedForget

_COMPARED = ("ids", "n_drafted", "n_accepted", "match_len", "source", "budget")


@dataclass(frozen=True, slots=True)
class Generation:
    """A recorded generation."""

    prompt: RecordedPrompt
    """What it began with."""
    steps: tuple[RecordedStep, ...]
    """Its steps."""
    changes: tuple[tuple[int, Change], ...]
    """Changes of the workspace corpus, each with the tokens that had been chosen before it."""
    end: RecordedEnd | RecordedRefusal | None
    """How it ended; None where the recording breaks off."""

    @property
    def choices(self) -> tuple[int, ...]:
        """What the target chose, token by token."""
        return tuple(token for step in self.steps for token in step.choices)


Entry = (
    RecordedTarget
    | RecordedSettings
    | RecordedReset
    | RecordedCacheDrop
    | RecordedMessage
    | Change
    | Generation
)


def entries(lines: Iterator[RecordedLine]) -> Iterator[Entry]:
    """Lines in their order, those of a generation together."""
    opened: _Opened | None = None
    for line in lines:
        match line:
            case RecordedPrompt():
                if opened is not None:
                    yield opened.closed(None)
                opened = _Opened(line)
            case RecordedStep() if opened is not None:
                opened.steps.append(line)
                opened.n_chosen += len(line.choices)
            case RecordedDocument() | RecordedForget() if opened is not None:
                opened.changes.append((opened.n_chosen, line))
            case RecordedEnd() | RecordedRefusal():
                if opened is not None:
                    yield opened.closed(line)
                opened = None
            case RecordedStep():
                continue  # its prompt is on a line that could not be read
            case _:
                if opened is not None:
                    yield opened.closed(None)
                    opened = None
                yield line
    if opened is not None:
        yield opened.closed(None)


@dataclass(slots=True)
class _Opened:
    """A generation whose lines are being read."""

    prompt: RecordedPrompt
    """Its prompt."""
    steps: list[RecordedStep] = field(default_factory=list)
    """Its steps so far."""
    changes: list[tuple[int, Change]] = field(default_factory=list)
    """Changes so far, each with the tokens chosen before it."""
    n_chosen: int = 0
    """Tokens chosen so far."""

    def closed(self, end: RecordedEnd | RecordedRefusal | None) -> Generation:
        """The generation as a whole."""
        return Generation(self.prompt, tuple(self.steps), tuple(self.changes), end)


def read_recording(path: Path) -> Iterator[RecordedLine]:
    """Lines of a recording; a last line that was cut off is left out.

    Raises:
        UsageError: the file cannot be read, or another line is wrong; the message names it.
    """
    decoder = msgspec.json.Decoder(RecordedLine)
    hint = "give a file made by --record"
    for number, line in numbered_lines(path):
        if isinstance(line, Skipped):
            if number == 0:
                raise UsageError(f"{path}: {line.reason}", hint)
            return  # what was compressed breaks off
        if not line.strip():
            continue
        try:
            yield decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not line.endswith(b"\n"):
                return
            raise UsageError(f"{path}, line {number}: {error}", hint) from error


@dataclass(frozen=True, slots=True)
class Replayed:
    """A generation that was decoded again."""

    recorded: Generation
    """As it was recorded."""
    steps: tuple[StepCommitted, ...]
    """The steps that were taken now."""


def replay(
    lines: Iterator[RecordedLine],
    tokenizer: Tokenizer,
    settings: ConfigureDrafting | None = None,
) -> Iterator[Replayed]:
    """Decode a recording again, generation by generation.

    Args:
        lines: the recording.
        tokenizer: that of the recorded model.
        settings: drafter and policy in place of the recorded ones; None for those.

    Raises:
        DraftError: the drafter or the policy cannot be had.
        UsageError: the recording makes no sense, or was made with another tokenizer.
    """
    session: _Session | None = None
    for entry in entries(lines):
        if isinstance(entry, RecordedTarget):
            session = _Session(entry, tokenizer, settings)
        elif session is None:
            raise UsageError("the recording does not begin with a model", "record again")
        elif isinstance(entry, Generation):
            yield Replayed(entry, session.decode(entry))
        else:
            session.apply(entry)


class _Session:
    """One loaded target and what was asked of it."""

    def __init__(
        self, target: RecordedTarget, tokenizer: Tokenizer, settings: ConfigureDrafting | None
    ) -> None:
        try:
            self._backend = ForcedBackend(target, tokenizer)
        except EngineError as error:
            raise UsageError(error.message, error.hint) from error
        self._maker = DrafterMaker(
            self._backend,
            LoadModel(path="", name=target.model, n_ctx=target.n_ctx, n_seq_max=target.n_seq_max),
        )
        self._fixed = settings
        self._settings = settings or ConfigureDrafting(drafter="none", policy="off")
        self._watch = _Changes(self._backend, self.apply)
        self._steps: list[StepCommitted] = []
        self._messages: dict[int, RecordedMessage] = {}
        self._decoder = Decoder(
            self._backend,
            self._maker.make(self._settings),
            make_policy(self._settings),
            self._take,
            target.n_seq_max,
            self._watch,
        )

    def apply(self, entry: Entry) -> None:
        """Do again what is no generation."""
        match entry:
            case RecordedSettings():
                if self._fixed is None:
                    reconfigure(self._decoder, self._maker, self._settings, entry.settings)
                    self._settings = entry.settings
            case RecordedMessage():
                self._messages[entry.number] = entry
            case RecordedReset():
                self._decoder.reset(keep_cache=entry.keep_cache)
            case RecordedCacheDrop():
                self._decoder.drop_cache()
            case RecordedDocument():
                try:
                    self._decoder.drafter.index(entry.path, entry.views)
                except DraftError:
                    return  # as it was then: there is no room for it
            case RecordedForget():
                self._decoder.drafter.forget(entry.path)
            case _:
                raise UsageError("the recording holds a model within a session", "record again")

    def decode(self, generation: Generation) -> tuple[StepCommitted, ...]:
        """Decode a generation again; the steps of it."""
        end = generation.end
        cancelled = isinstance(end, RecordedEnd) and end.event.stop_reason == "cancelled"
        aborted = isinstance(end, RecordedEnd) and end.aborted
        self._backend.speak(
            generation.choices,
            most_cached=(
                end.n_cached
                if isinstance(end, RecordedEnd) and cancelled and not generation.steps
                else None
            ),
            fault=end.message if isinstance(end, RecordedRefusal) else "",
        )
        self._watch.begin(generation)
        self._steps = []
        command, pieces = prompt_of(generation.prompt, self._messages)
        try:
            self._decoder.generate(
                command, lambda: cancelled and not aborted and self._backend.is_done, pieces
            )
        except EngineError as error:
            if not isinstance(end, RecordedRefusal):
                raise UsageError(f"the recording cannot be decoded again: {error}") from error
        return tuple(self._steps)

    def _take(self, event: EngineEvent) -> None:
        if isinstance(event, StepCommitted):
            self._steps.append(event)


class _Changes(NoWatch):
    """Makes the changes of the workspace corpus at the steps at which they were made."""

    def __init__(self, backend: ForcedBackend, apply: Callable[[Entry], None]) -> None:
        self._backend = backend
        self._apply = apply
        self._waiting: deque[tuple[int, Change]] = deque()
        self._rollbacks: deque[tuple[int, bool]] = deque()

    def begin(self, generation: Generation) -> None:
        """A generation is decoded."""
        self._waiting = deque(generation.changes)
        self._backend.trimmable = generation.prompt.rollback
        starts = accumulate((len(step.choices) for step in generation.steps), initial=0)
        self._rollbacks = deque(
            (start, step.rollback) for start, step in zip(starts, generation.steps, strict=False)
        )

    def stepping(self) -> None:
        """Make the changes that had been made by the time these tokens were chosen."""
        while self._waiting and self._waiting[0][0] <= self._backend.n_chosen:
            self._apply(self._waiting.popleft()[1])
        while self._rollbacks and self._rollbacks[0][0] <= self._backend.n_chosen:
            self._backend.trimmable = self._rollbacks.popleft()[1]


def prompt_of(
    prompt: RecordedPrompt, messages: Mapping[int, RecordedMessage]
) -> tuple[Generate, list[Piece]]:
    """The command of a generation, and its prompt as token ids.

    Raises:
        UsageError: a message is not in the recording.
    """
    try:
        found = [messages[number] for number in prompt.messages]
    except KeyError as error:
        raise UsageError(
            f"the recording lacks message {error} of generation {prompt.request}", "record again"
        ) from error
    if not found:
        raise UsageError(f"generation {prompt.request} has no prompt", "record again")
    pieces = [
        Piece(label_of(prompt.sequence, message.role, number), message.ids)
        for number, message in enumerate(found, 1)
    ]
    command = Generate(
        request=prompt.request,
        sequence=prompt.sequence,
        turn=prompt.turn,
        role=prompt.role,
        form=prompt.form,
        messages=tuple(Message(message.role, message.text) for message in found[:-1]),
        max_tokens=prompt.max_tokens,
        stop=prompt.stop,
        drafting=prompt.drafting,
        sampling=prompt.sampling,
        loop_guard=prompt.loop_guard,
    )
    return command, pieces


@dataclass(frozen=True, slots=True)
class Difference:
    """The first step that was not taken as it was recorded."""

    request: int
    """The generation."""
    step: int
    """The step, from 1."""
    field: str
    """What differs, e.g. `n_drafted`; `steps` if there are more or fewer of them."""
    recorded: object
    """As it was."""
    replayed: object
    """As it is now."""


def first_difference(replayed: Replayed) -> Difference | None:
    """Compare a generation step by step; None if every step is the same."""
    request = replayed.recorded.prompt.request
    recorded = [step.event for step in replayed.recorded.steps]
    for then, now in zip(recorded, replayed.steps, strict=False):
        for name in _COMPARED:
            if getattr(then, name) != getattr(now, name):
                return Difference(request, then.step, name, getattr(then, name), getattr(now, name))
    if len(recorded) != len(replayed.steps):
        step = min(len(recorded), len(replayed.steps)) + 1
        return Difference(request, step, "steps", len(recorded), len(replayed.steps))
    return None
