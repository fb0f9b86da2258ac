"""Recorded replies as token ids of the model at hand, and an engine to say them with."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agspec_tui.commands import ConfigureDrafting, Generate, LoadModel, Message
from agspec_tui.config import Config, load
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.session.loading import plan_drafting, plan_load

SPARE = 64
"""Tokens of the chat template's scaffold, at most, for each message of a prompt."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A recorded reply with its prompt."""

    session: str
    """The session that it is of."""
    messages: tuple[Message, ...]
    """Its prompt."""
    n_prompt: int
    """Tokens of the prompt, or a few more."""
    ids: tuple[int, ...]
    """Its tokens."""

    def command(self, request: int, *, forced: int, **settings: object) -> Generate:
        """Say its first `forced` tokens again; 0 lets the target choose."""
        ids = self.ids[:forced]
        fields = {"max_tokens": max(1, len(ids)), "forced": ids, **settings}
        return msgspec.structs.replace(
            Generate(
                request=request,
                sequence=self.session,
                turn=1,
                role="coder",
                messages=self.messages,
            ),
            **fields,
        )


def read_replies(path: Path, model: Path) -> list[list[Reply]]:
    """Replies of each recorded session, tokenised with the model's vocabulary."""
    vocabulary = Vocabulary(model)
    try:
        return [list(_replies(session, vocabulary)) for session in json.loads(path.read_bytes())]
    finally:
        vocabulary.close()


def _replies(session: dict[str, object], vocabulary: Vocabulary) -> Iterator[Reply]:
    for call in session["calls"]:
        messages = tuple(Message(role, text) for role, text in call["messages"])
        sizes = [len(vocabulary.tokenize(one.text, special=False)) for one in messages]
        yield Reply(
            session=str(session["name"]),
            messages=messages,
            n_prompt=sum(sizes) + SPARE * len(sizes),
            ids=tuple(int(token) for token in vocabulary.tokenize(call["reply"], special=False)),
        )


def settings_for(model: Path, n_ctx: int, n_batch: int) -> Config:
    """The settings of a measurement."""
    return msgspec.structs.replace(load(), model=str(model), n_ctx=n_ctx, n_batch=n_batch)


def load_for(config: Config, n_sequences: int) -> LoadModel:
    """What the engine loads."""
    return plan_load(config, n_at_once=n_sequences)


def methods_of(config: Config) -> dict[str, ConfigureDrafting]:
    """What is compared: no drafts, the default, and long drafts wherever there is a match."""
    chosen = {
        "none": {"drafter": "none", "policy": "off"},
        "agspec-sam": {"drafter": "agspec-sam"},
        "fixed32": {"drafter": "agspec-sam", "policy": "fixed", "fixed_k": 32},
    }
    return {
        name: plan_drafting(msgspec.structs.replace(config, **fields))
        for name, fields in chosen.items()
    }
