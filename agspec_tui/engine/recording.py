"""Records what the engine is asked and what it answers, so that the same can be decoded again.

A recording is a file with one JSON object a line, in the order in which things took effect. It
holds what a drafter sees and what the target chose, token by token: the real decode loop, run over
a target that chooses the same again, takes the same steps. Lines are written as things happen, so
that what there is can be read after a crash, too.

It holds the text of prompts, files and replies. It is made only if it is asked for, and readable by
its owner alone.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from agspec_tui.commands import ConfigureDrafting, Generate, LoadModel, Message, Sampling
from agspec_tui.drafting.types import Piece
from agspec_tui.engine.step_gate import StepGate
from agspec_tui.engine.types import Backend
from agspec_tui.errors import AgspecError, EngineError
from agspec_tui.events import EngineEvent, GenerationFinished, StepCommitted

SCHEMA = 1
"""Version of the shape of these lines."""


class _Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """Common root: a line names what it is by its class name in `kind`."""


class RecordedTarget(_Line, frozen=True, kw_only=True):
    """A target was loaded: first line of a recording, and again after the engine's restart."""

    schema: int = SCHEMA
    """Version of the shape of these lines."""
    model: str
    """Name of the model."""
    fingerprint: str
    """Hash of its vocabulary, in hexadecimal."""
    n_ctx: int
    """Context size in tokens."""
    n_batch: int
    """Most tokens in one decode."""
    n_vocab: int
    """Vocabulary size."""
    n_exact: int
    """Most tokens in one decode that are exact to the bit; 0 for none."""
    n_seq_max: int
    """Sequences that may be alive at once."""
    created_s: float
    """When, in seconds since 1970."""


class RecordedSettings(_Line, frozen=True, kw_only=True):
    """Drafter and policy for what follows."""

    settings: ConfigureDrafting
    """The settings."""


class RecordedDocument(_Line, frozen=True, kw_only=True):
    """A file was put into the workspace corpus, in place of its older version."""

    path: str
    """The file."""
    views: tuple[tuple[str, tuple[int, ...]], ...]
    """Name and token ids of each view."""


class RecordedForget(_Line, frozen=True, kw_only=True):
    """A file was taken out of the workspace corpus."""

    path: str
    """The file."""


class RecordedReset(_Line, frozen=True, kw_only=True):
    """The corpora and every α were dropped."""

    keep_cache: bool
    """Whether the cached sequences were kept."""


class RecordedCacheDrop(_Line, frozen=True, kw_only=True):
    """Every cached sequence was dropped, and nothing else."""


class RecordedMessage(_Line, frozen=True, kw_only=True):
    """A message of a prompt; written once, however many prompts it is part of."""

    number: int
    """What prompts name it by."""
    role: str
    """`system`, `user` or `assistant`; empty for what opens the reply."""
    text: str
    """Its content; empty for what opens the reply."""
    ids: tuple[int, ...]
    """Its token ids, the template's scaffold before it included."""


class RecordedPrompt(_Line, frozen=True, kw_only=True):
    """A generation began: its prompt has been read."""

    request: int
    """The generation."""
    sequence: str
    """Name of the sequence."""
    turn: int
    """Turn it belongs to."""
    role: str
    """Role that speaks."""
    form: str = ""
    """Form of the edits that the reply was asked for; empty for none, and in older recordings."""
    messages: tuple[int, ...]
    """Numbers of its messages, the last of them what opens the reply."""
    max_tokens: int
    """Most tokens to generate."""
    stop: tuple[str, ...]
    """Texts that end the reply."""
    drafting: bool
    """Whether anything was drafted."""
    sampling: Sampling = Sampling()
    """How tokens were chosen."""
    loop_guard: bool = False
    """Whether a reply that only repeats itself was ended; older recordings do not say."""
    rollback: bool
    """Whether the cache could be trimmed until then."""


class RecordedStep(_Line, frozen=True, kw_only=True):
    """A step was committed."""

    choices: tuple[int, ...]
    """What the target chose: the accepted tokens and the bonus token, whatever ended the reply."""
    rollback: bool
    """Whether the cache could be trimmed until then."""
    event: StepCommitted
    """The step."""


class RecordedEnd(_Line, frozen=True, kw_only=True):
    """A generation ended."""

    n_cached: int
    """Tokens of its sequence in the cache afterwards."""
    aborted: bool
    """Whether a pass of the target was aborted: of the prompt, or of one more step."""
    event: GenerationFinished
    """Its figures."""


class RecordedRefusal(_Line, frozen=True, kw_only=True):
    """A generation failed, or was refused."""

    request: int
    """The generation."""
    message: str
    """Why."""


RecordedLine = (
    RecordedTarget
    | RecordedSettings
    | RecordedDocument
    | RecordedForget
    | RecordedReset
    | RecordedCacheDrop
    | RecordedMessage
    | RecordedPrompt
    | RecordedStep
    | RecordedEnd
    | RecordedRefusal
)


class Recorder:
    """Writes a recording, and gives changes of the corpora their place between two steps.

    It serves the decode loop as its `Watch`.
    """

    def __init__(self, path: Path, on_failure: Callable[[str], None]) -> None:
        """Open the file; one that is there is added to.

        Args:
            path: the file; its folder is made.
            on_failure: told in one line if it can be written no longer, e.g. on a full disk.

        Raises:
            EngineError: it cannot be opened.
        """
        self.gate = StepGate()
        """Where another thread may change the corpora."""
        self._path = path
        self._on_failure = on_failure
        self._encoder = msgspec.json.Encoder()
        self._writing = threading.Lock()
        self._numbers: dict[tuple[str, str, tuple[int, ...]], int] = {}
        self._prompt: tuple[Generate, tuple[int, ...]] | None = None
        self._choices: tuple[int, ...] = ()
        self._rollback = True
        self._ended = (0, False)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._file: BinaryIO | None = os.fdopen(os.open(path, flags, 0o600), "ab", buffering=0)
        except OSError as error:
            raise EngineError(
                f"{path} cannot be written: {error.strerror}", "record into another folder"
            ) from error

    def write(self, line: RecordedLine) -> None:
        """Add a line."""
        with self._writing:
            if self._file is None:
                return
            try:
                self._file.write(self._encoder.encode(line) + b"\n")
            except OSError as error:
                self._file = None
                self._on_failure(f"{self._path} cannot be written any longer: {error.strerror}")

    def target(self, load: LoadModel, backend: Backend) -> None:
        """A target was loaded."""
        self.write(
            RecordedTarget(
                model=load.name,
                fingerprint=backend.fingerprint().hex(),
                n_ctx=backend.n_ctx,
                n_batch=backend.n_batch,
                n_vocab=backend.n_vocab,
                n_exact=backend.n_exact,
                n_seq_max=load.n_seq_max,
                created_s=time.time(),
            )
        )

    def record(
        self, command: Generate, pieces: Sequence[Piece], generate: Callable[[], None]
    ) -> None:
        """Run a generation and record it.

        Raises:
            EngineError: it failed; that is recorded, too.
        """
        with self.gate.generating():
            self.asked(command, pieces)
            try:
                generate()
            except AgspecError as error:
                self.refused(command.request, error.message)
                raise

    def asked(self, command: Generate, pieces: Sequence[Piece]) -> None:
        """A generation begins; what it reads is written now, that it was read once it was."""
        messages = (*command.messages, Message("", ""))
        numbers = []
        for message, piece in zip(messages, pieces, strict=True):
            key = (message.role, message.text, piece.ids)
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self._numbers)
                line = RecordedMessage(
                    number=number, role=message.role, text=message.text, ids=piece.ids
                )
                self.write(line)
            numbers.append(number)
        self._prompt = (command, tuple(numbers))

    def refused(self, request: int, message: str) -> None:
        """The generation failed."""
        self._write_prompt()
        self.write(RecordedRefusal(request=request, message=message))

    def take(self, event: EngineEvent) -> None:
        """An event of the decode loop."""
        match event:
            case StepCommitted():
                line = RecordedStep(choices=self._choices, rollback=self._rollback, event=event)
                self.write(line)
            case GenerationFinished():
                self._write_prompt()
                n_cached, aborted = self._ended
                self.write(RecordedEnd(n_cached=n_cached, aborted=aborted, event=event))
            case _:
                pass

    # ── what the decode loop tells ───────────────────────────────────────────────────────────────

    def reading(self, *, rollback: bool) -> None:
        """Between two chunks of a prompt; see `Watch.reading`."""
        self._rollback = rollback
        self.gate.let_in()

    def stepping(self) -> None:
        """Before a step; see `Watch.stepping`."""
        self._write_prompt()
        self.gate.let_in()

    def chose(self, ids: Sequence[int], *, rollback: bool) -> None:
        """A step was verified; see `Watch.chose`."""
        self._choices, self._rollback = tuple(ids), rollback

    def ended(self, n_cached: int, *, aborted: bool) -> None:
        """A generation ends; see `Watch.ended`."""
        self._ended = (n_cached, aborted)

    def _write_prompt(self) -> None:
        """Write the prompt behind the files that came while it was read."""
        if self._prompt is None:
            return
        command, numbers = self._prompt
        self._prompt = None
        self.write(
            RecordedPrompt(
                request=command.request,
                sequence=command.sequence,
                turn=command.turn,
                role=command.role,
                form=command.form,
                messages=numbers,
                max_tokens=command.max_tokens,
                stop=command.stop,
                drafting=command.drafting,
                sampling=command.sampling,
                loop_guard=command.loop_guard,
                rollback=self._rollback,
            )
        )
