"""Prompts of `bench`: a file of them, and the messages that each becomes."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

from agspec_tui.commands import IndexDocument, Message
from agspec_tui.errors import UsageError
from agspec_tui.forms.choose import NAMES as FORMS
from agspec_tui.forms.choose import form
from agspec_tui.forms.fences import fenced_file
from agspec_tui.resources import find

_SPARE_TOKENS = 512
_NO_FORM = "none"
_SYSTEM = "You work on code. You do exactly what you are asked to, and nothing else."
_HINT = "write [[prompt]] tables with kind and change, and with path and file where a file is shown"


class _PromptEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a prompts file."""

    kind: str
    """Rows are summed by kind."""
    change: str
    """What to do."""
    path: str = ""
    """Path under which the model sees the file; empty for a prompt without a file."""
    file: str = ""
    """Name of the file's text, beside the prompts file."""
    form: str = ""
    """Edit form of the reply, or `none`; `whole` where there is a file."""
    role: str = "coder"
    """Role that speaks."""
    max_tokens: int = 0
    """Most tokens of each reply; 0 leaves room for the whole file and more."""
    then: tuple[str, ...] = ()
    """What is said in the turns that follow."""


class _PromptsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prompts file."""

    prompt: tuple[_PromptEntry, ...]
    """Its entries."""


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """What is asked for, in one turn or in several."""

    kind: str
    """Kind of the prompt; rows are summed by it."""
    path: str
    """Path under which the model sees the file; empty without a file."""
    text: str
    """The file."""
    change: str
    """What to do."""
    form: str = "whole"
    """Edit form of the reply; `none` for plain text."""
    role: str = "coder"
    """Role that speaks."""
    max_tokens: int = 0
    """Most tokens of each reply; 0 leaves room for the whole file and more."""
    then: tuple[str, ...] = ()
    """What is said in the turns that follow."""

    @property
    def name(self) -> str:
        """What the terminal calls it."""
        return self.path or self.role

    @property
    def edit_form(self) -> str:
        """Form of the edits that the replies are asked for; empty for none."""
        return "" if self.form == _NO_FORM else self.form

    @property
    def n_turns(self) -> int:
        """Replies that are asked for."""
        return 1 + len(self.then)

    @property
    def most_tokens(self) -> int:
        """Most tokens of each reply."""
        return self.max_tokens or len(self.text) // 2 + _SPARE_TOKENS

    def document(self) -> IndexDocument | None:
        """The file as the workspace corpus holds it; None if none is edited."""
        if self.form == _NO_FORM:
            return None
        return IndexDocument(path=self.path, views=form(self.form).index_views(self.text))

    def opening(self) -> tuple[Message, ...]:
        """Messages of the first turn."""
        system, parts = _SYSTEM, [self.change]
        if self.form != _NO_FORM:
            system += f"\n\n{form(self.form).instructions()}"
        if self.path:
            parts.insert(0, fenced_file(self.path, self.text))
        if self.form == "whole":
            parts.append(f"Reply with the whole file {self.path}.")
        return Message("system", system), Message("user", "\n".join(parts))


def read_prompts(path: Path | None, kinds: Sequence[str] = ()) -> list[BenchPrompt]:
    """Read a prompts file; None means the built-in prompts.

    Args:
        path: the file.
        kinds: those to use; all if there are none.

    Raises:
        UsageError: the file, or a text that it names, cannot be read, or it has no such kind.
    """
    source: Traversable = find("prompts", "prompts.toml") if path is None else path
    try:
        entries = msgspec.toml.decode(source.read_bytes(), type=_PromptsFile).prompt
        prompts = [_prompt(entry, path) for entry in entries]
    except (OSError, ValueError) as error:
        raise UsageError(f"the prompts cannot be read: {error}", _HINT) from error
    if not prompts:
        raise UsageError("the prompts file has no prompt", _HINT)
    known = list(dict.fromkeys(prompt.kind for prompt in prompts))
    for kind in kinds:
        if kind not in known:
            raise UsageError(f"no prompt is of the kind {kind!r}", f"choose of {', '.join(known)}")
    return [prompt for prompt in prompts if prompt.kind in (kinds or known)]


def _prompt(entry: _PromptEntry, path: Path | None) -> BenchPrompt:
    """An entry with its file."""
    used = entry.form or ("whole" if entry.file else _NO_FORM)
    if bool(entry.path) != bool(entry.file):
        raise ValueError(f"a prompt of the kind {entry.kind} has a path or a file, and not both")
    if used not in (*FORMS, _NO_FORM):
        raise ValueError(f"{used!r} is no edit form; choose one of {', '.join((*FORMS, _NO_FORM))}")
    if used != _NO_FORM and not entry.file:
        raise ValueError(f"a prompt of the kind {entry.kind} has an edit form and no file")
    if entry.max_tokens < 0:
        raise ValueError(f"max_tokens of a prompt of the kind {entry.kind} is below zero")
    text = ""
    if entry.file:
        place = find("prompts", entry.file) if path is None else path.parent / entry.file
        text = place.read_text("utf-8")
    return BenchPrompt(
        kind=entry.kind,
        path=entry.path,
        text=text,
        change=entry.change,
        form=used,
        role=entry.role,
        max_tokens=entry.max_tokens,
        then=entry.then,
    )
