"""The workspace corpus of a recording: files as the session showed them.

A live session indexes a file when it is opened, whole. A recording has no repository at hand, so
that the corpus holds what was shown: whole files where they were, else stretches of lines, each as
a document of its own. A stretch is indexed when it is shown, and again when the same lines are
shown with other text; stretches that lie within a newer one are dropped.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from agspec_tui.replay.shown_commands import commands_of, files_of
from agspec_tui.replay.shown_shapes import (
    UNKNOWN,
    Stretch,
    command_output,
    fenced,
    observed,
    sections,
    tool_result,
    tool_uses,
    whole_message,
)
from agspec_tui.replay.traces import TraceCall, TraceMessage

MAX_BYTES = 256 * 1024
"""Most bytes of a file that is indexed."""
_LEAST_CHARACTERS = 16
_MOST_PARTS = 500
"""Stretches of one file that are kept; the oldest one makes room."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the workspace corpus."""

    name: str
    """The document: the file's path, with the first line behind it where that is not 1."""
    text: str
    """Its text; empty to take it out."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A stretch in the corpus."""

    name: str
    """Its document."""
    stretch: Stretch
    """What it is."""

    @property
    def end(self) -> int:
        """Number of the line behind its last one."""
        return self.stretch.start + self.stretch.text.count("\n")


class ShownFiles:
    """Follows a session's calls and tells how its workspace corpus changes."""

    def __init__(self) -> None:
        """Begin with an empty corpus."""
        self.n_too_large = 0
        """Files left out because of their size."""
        self._held: dict[str, list[_Held]] = {}
        self._outputs: dict[str, str] = {}
        self._n_unknown = 0

    def changes(self, call: TraceCall) -> list[Change]:
        """Changes before a call: what its new messages show, and what the last output wrote."""
        before = "" if call.ctx == "new" else self._outputs.get(call.agent_id, "")
        self._outputs[call.agent_id] = call.output
        changes: list[Change] = []
        for stretch in _shown(before, call.prompt):
            if len(stretch.text.strip()) >= _LEAST_CHARACTERS:
                changes += self._taken(stretch)
        return changes

    def _taken(self, new: Stretch) -> Iterator[Change]:
        if len(new.text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            self.n_too_large += 1
            return
        held = self._held.setdefault(new.path, [])
        if any(new.text in old.stretch.text and _within(new, old) for old in held):
            return
        added = _Held(self._name(new), new)
        inside = [old for old in held if _within(old.stretch, added)]
        for old in inside:
            held.remove(old)
            if old.name != added.name:
                yield Change(old.name, "")
        held[:] = [old for old in held if old.name != added.name]
        held.append(added)
        if len(held) > _MOST_PARTS:
            yield Change(held.pop(0).name, "")
        yield Change(added.name, new.text)

    def _name(self, stretch: Stretch) -> str:
        if stretch.start == 1:
            return stretch.path
        if stretch.start != UNKNOWN:
            return f"{stretch.path}:{stretch.start}"
        self._n_unknown += 1
        return f"{stretch.path}~{self._n_unknown}"


def _within(inner: Stretch, outer: _Held) -> bool:
    """Whether a stretch's lines are among another one's; without numbers its text decides."""
    if UNKNOWN in (inner.start, outer.stretch.start):
        return inner.text in outer.stretch.text
    end = inner.start + inner.text.count("\n")
    return outer.stretch.start <= inner.start and end <= outer.end


def _shown(before: str, prompt: tuple[TraceMessage, ...]) -> Iterator[Stretch]:
    """Stretches in new messages; `before` is the output that they answer."""
    uses = tool_uses(before)
    results = [message for message in prompt if message.role == "tool"]
    for (name, arguments), message in zip(uses, results, strict=False):
        command = arguments.get("command")
        if name == "Bash" and isinstance(command, str):
            yield from files_of(command, [message.content])
        else:
            yield from tool_result(name, arguments, message.content)
    script = commands_of(before) if not uses else ""
    for message in prompt:
        if message.file is not None:
            yield whole_message(message.file, message.content)
            continue
        if script and message.role in ("user", "tool"):
            yield from files_of(script, command_output(message.content))
            script = ""
        if message.role in ("user", "tool", "system"):
            yield from sections(message.content)
            yield from observed(message.content)
            yield from fenced(message.content)
