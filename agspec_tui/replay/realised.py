"""R of a recorded engine session: how far the drafter's longest drafts hold at every position.

A recording of the engine holds all that its drafter saw: documents, prompts and replies as token
ids. The same drafter is walked through it again; the recorded reply plays the target.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.drafting.choose import MODEL_NAMES, make_drafter
from agspec_tui.drafting.global_corpus import open_global
from agspec_tui.drafting.types import Drafter
from agspec_tui.engine.choose_drafter import drafter_of
from agspec_tui.engine.recording import (
    RecordedDocument,
    RecordedEnd,
    RecordedForget,
    RecordedLine,
    RecordedMessage,
    RecordedReset,
    RecordedSettings,
    RecordedTarget,
)
from agspec_tui.errors import DraftError, UsageError
from agspec_tui.replay.live import Change, Entry, Generation, entries, prompt_of
from agspec_tui.replay.walk import MAX_DRAFT, n_agreeing


@dataclass(frozen=True, slots=True)
class Realised:
    """A reply and how far drafts would have held in it."""

    request: int
    """The generation."""
    reusable: tuple[int, ...]
    """R at every position, in tokens; shape (n_tokens,), the one that ends the generation
    included."""


def realised(lines: Iterable[RecordedLine]) -> Iterator[Realised]:
    """Walk the drafters of a recording through their finished replies.

    Replies of drafters with a smaller model, and of those whose proposals depend on how their
    earlier ones fared, are left out.

    Raises:
        DraftError: a drafter cannot be had.
        UsageError: the recording makes no sense.
    """
    walk: _Walk | None = None
    for entry in entries(iter(lines)):
        if isinstance(entry, RecordedTarget):
            walk = _Walk(entry)
        elif walk is None:
            raise UsageError("the recording does not begin with a model", "record again")
        elif isinstance(entry, Generation):
            found = walk.reply(entry)
            if found is not None:
                yield found
        else:
            walk.apply(entry)


class _Walk:
    """A drafter that sees what the recorded one saw."""

    def __init__(self, target: RecordedTarget) -> None:
        self._target = target
        self._settings = ConfigureDrafting(drafter="none")
        self._drafter: Drafter | None = make_drafter("none")
        self._messages: dict[int, RecordedMessage] = {}

    def apply(self, entry: Entry) -> None:
        """Do what is no generation."""
        match entry:
            case RecordedSettings():
                self._configure(entry.settings)
            case RecordedMessage():
                self._messages[entry.number] = entry
            case RecordedReset() if self._drafter is not None:
                self._drafter.reset()
            case RecordedDocument() | RecordedForget():
                self._change(entry)
            case _:
                pass

    def _configure(self, settings: ConfigureDrafting) -> None:
        then, self._settings = self._settings, settings
        if drafter_of(then) == drafter_of(settings):
            return
        self._drafter = None
        if settings.drafter in MODEL_NAMES:
            return
        static = None
        if settings.global_corpus:
            fingerprint = bytes.fromhex(self._target.fingerprint)
            static = open_global(Path(settings.global_corpus), fingerprint, self._target.n_vocab)
        drafter = make_drafter(settings.drafter, static, resume=settings.resume)
        self._drafter = drafter if drafter.steady else None

    def _change(self, change: Change) -> None:
        if self._drafter is None:
            return
        if isinstance(change, RecordedForget):
            self._drafter.forget(change.path)
            return
        try:
            self._drafter.index(change.path, change.views)
        except DraftError:
            return  # as it was then: there is no room for it

    def reply(self, generation: Generation) -> Realised | None:
        """R at every position of a reply; None if that cannot be said."""
        drafter, end = self._drafter, generation.end
        if drafter is None or not isinstance(end, RecordedEnd):
            return None
        waiting = list(generation.changes)
        output, n = end.event.ids, end.event.n_tokens
        if generation.prompt.drafting:
            command, pieces = prompt_of(generation.prompt, self._messages)
            drafter.begin(command.sequence, pieces)
        reusable = [0] * n
        for i, token in enumerate(output if generation.prompt.drafting else ()):
            while waiting and waiting[0][0] <= i:
                self._change(waiting.pop(0)[1])
            found = drafter.match()
            if found.length:
                room = min(MAX_DRAFT, len(output) - i)
                reusable[i] = n_agreeing(drafter.draft(found, room).ids, output, i)
            drafter.feed((token,))
        for _, change in waiting:
            self._change(change)
        return Realised(end.event.request, tuple(reusable))
