"""A deterministic target with no weights: for tests, demos and pictures, behind the same loop.

Tokens are bytes. The script holds whole replies; the n-th generation says the n-th one. The target
is a function of its context like any other: off the script (behind a rejected draft token) it
chooses a blank, so verification, rollback and positions are exercised for real.
"""

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from agspec_tui.commands import LoadModel, Sampling
from agspec_tui.engine.chat_template import render_chatml, split_scaffold
from agspec_tui.engine.types import Cancelled, Chooser, Ids, Logits, Part
from agspec_tui.engine.verify import GreedyChooser
from agspec_tui.errors import EngineError

SCHEME = "scripted:"
_START, _END = "<|im_start|>", "<|im_end|>"
_START_ID, _END_ID = 256, 257
_N_VOCAB = 258
_OFF_SCRIPT = ord(" ")


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a script file."""

    replies: tuple[str, ...]
    """Replies in the order of the generations."""
    step_delay_s: float = 0.0
    """Seconds that each target pass takes, so that a person can watch."""
    token_delay_s: float = 0.0
    """Seconds that each token of a pass adds."""


class ScriptedTokenizer:
    """The tokenizer of every script: bytes and the two ChatML marks."""

    n_vocab = _N_VOCAB

    def tokenize(self, text: str, *, special: bool) -> Ids:
        """Bytes of the text; with `special`, the two ChatML marks are one token each."""
        data = text.encode("utf-8", "surrogatepass")
        if not special:
            return np.frombuffer(data, dtype=np.uint8).astype(np.int32)
        ids: list[int] = []
        for index, part in enumerate(data.split(_START.encode())):
            if index:
                ids.append(_START_ID)
            for number, piece in enumerate(part.split(_END.encode())):
                if number:
                    ids.append(_END_ID)
                ids += piece
        return np.array(ids, dtype=np.int32)

    def detokenize(self, ids: Sequence[int]) -> bytes:
        """The bytes; marks yield nothing."""
        return bytes(token for token in ids if token < _START_ID)

    def is_eog(self, token: int) -> bool:
        """Whether it is the ChatML end mark."""
        return token == _END_ID

    def fingerprint(self) -> bytes:
        """The same for all scripts: their tokens are bytes and the two marks."""
        return hashlib.blake2b(f"bytes {_START} {_END}".encode(), digest_size=32).digest()


@dataclass(slots=True)
class _Reply:
    """A reply of the script that was begun."""

    prompt: list[int]
    """Behind which tokens."""
    ids: list[int]
    """What it says."""
    slot: int = -1
    """Sequence of the cache that says it; −1 before the first token."""


class _ScriptChooser(GreedyChooser):
    """Chooses what the script says."""

    def __init__(self, reply: _Reply) -> None:
        self._reply = reply

    def resume(self, said: Sequence[int]) -> None:
        """The prompt ends with so much of the reply."""
        del self._reply.prompt[len(self._reply.prompt) - len(said) :]


class ScriptedBackend(ScriptedTokenizer):
    """Says what its script says, one byte token at a time."""

    def __init__(self, load: LoadModel) -> None:
        """Read the script named by `scripted:FILE`.

        Raises:
            EngineError: the file is missing or is no script.
        """
        path = Path(load.path.removeprefix(SCHEME))
        try:
            self._script = msgspec.json.decode(path.read_bytes(), type=Script)
        except (OSError, msgspec.DecodeError) as error:
            raise EngineError(
                f"{path} is no script: {error}", 'write {"replies": ["…", "…"]}'
            ) from error
        self.n_ctx = load.n_ctx
        self.n_batch = load.n_batch
        self.n_threads = 1
        self.n_exact = load.n_batch
        self.device = "script"
        self.n_rollback = load.n_ctx
        self.memory, self.no_rollback = "script", ""
        self.no_template = ""
        self._cache: dict[int, list[int]] = {}
        n_replies = len(self._script.replies)
        self._coming = [n for n in range(n_replies) if n not in set(load.spoken)]
        self._replies: list[_Reply] = []
        self._aborted = threading.Event()

    def scaffold(self, roles: Sequence[str]) -> list[str]:
        """ChatML."""
        return split_scaffold(render_chatml, roles)

    def chooser(self, sampling: Sampling, grammar: str, prompt: Sequence[int]) -> Chooser:
        """Begin the next reply of the script, which no sampling or grammar changes.

        Raises:
            EngineError: the script has no further reply.
        """
        if not self._coming:
            raise EngineError(f"the script has only {len(self._script.replies)} replies", "add one")
        said = [*self._script.replies[self._coming.pop(0)].encode(), _END_ID]
        self._replies.append(_Reply(list(prompt), said))
        return _ScriptChooser(self._replies[-1])

    def decode(self, parts: Sequence[Part]) -> Logits:
        """Extend sequences and choose what the script says next; see `Backend.decode`."""
        for part in parts:
            cached = len(self._cache.setdefault(part.slot, []))
            if part.pos != cached:
                raise EngineError(f"position {part.pos} is not the end of the cache, {cached}")
        self._wait(sum(len(part.ids) for part in parts))
        logits = np.zeros((sum(part.n_logits for part in parts), _N_VOCAB), dtype=np.float32)
        for part in parts:
            self._cache[part.slot] += part.ids
        # Replies to equal prompts go to their sequences in the order in which these were made.
        for part in sorted(parts, key=lambda part: part.slot):
            if part.n_logits:
                cache = self._cache[part.slot]
                self._reply_in(part.slot, cache[: len(cache) - part.n_logits + 1])
        row = 0
        for part in parts:
            cache = self._cache[part.slot]
            for position in range(len(cache) - part.n_logits, len(cache)):
                logits[row, self._choice(cache, position, part.slot)] = 1.0
                row += 1
        return logits

    def _choice(self, cache: list[int], position: int, slot: int) -> int:
        """The script's token after `position`, if all before it was on script."""
        reply = self._reply_in(slot, cache[: position + 1])
        if reply is None:
            return _OFF_SCRIPT
        said = cache[len(reply.prompt) : position + 1]
        on_script = len(said) < len(reply.ids) and said == reply.ids[: len(said)]
        return reply.ids[len(said)] if on_script else _OFF_SCRIPT

    def _reply_in(self, slot: int, cache: list[int]) -> _Reply | None:
        """The reply that a sequence is saying: what was begun behind the longest of its text."""
        fitting = [
            reply
            for reply in self._replies
            if reply.slot in (-1, slot) and cache[: len(reply.prompt)] == reply.prompt
        ]
        n_longest = max((len(reply.prompt) for reply in fitting), default=0)
        fitting = [reply for reply in fitting if len(reply.prompt) == n_longest]
        mine = [reply for reply in fitting if reply.slot == slot]
        if mine and n_longest < len(cache):
            return mine[-1]
        fresh = next((reply for reply in fitting if reply.slot == -1), None)
        if fresh is None:
            return mine[-1] if mine else None
        self._replies = [reply for reply in self._replies if reply.slot != slot]
        fresh.slot = slot
        return fresh

    def _wait(self, n_tokens: int) -> float:
        """Take the time that the script says a pass takes; returns it, in seconds."""
        delay_s = self._script.step_delay_s + n_tokens * self._script.token_delay_s
        if self._aborted.wait(delay_s):
            raise Cancelled
        return delay_s

    def time_pass(self, ids: Sequence[int], pos: int, slots: Sequence[int]) -> float:
        """The time that the script says a pass takes; see `Backend.time_pass`."""
        for slot in slots:
            cache = self._cache.setdefault(slot, [])
            if pos != len(cache):
                raise EngineError(f"position {pos} is not the end of the cache, {len(cache)}")
            cache += ids
        return self._wait(len(ids) * len(slots))

    def share(self, slot: int, others: Sequence[int], n_tokens: int = -1) -> bool:
        """Copy the cache of a sequence to others."""
        cells = self._cache.get(slot, [])
        for other in others:
            self._cache[other] = cells[:n_tokens] if n_tokens >= 0 else list(cells)
        return True

    def trim(self, slot: int, n_keep: int) -> bool:
        """Always possible."""
        del self._cache.setdefault(slot, [])[n_keep:]
        return True

    def save(self, slot: int, path: Path, ids: Sequence[int]) -> int:
        """Write the tokens of a sequence."""
        return path.write_bytes(msgspec.json.encode(list(ids)))

    def load(self, slot: int, path: Path) -> list[int]:
        """Read them again."""
        self._cache[slot] = msgspec.json.decode(path.read_bytes(), type=list[int])
        return list(self._cache[slot])

    def abort(self, *, on: bool) -> None:
        """Set or clear the flag that ends a delay."""
        if on:
            self._aborted.set()
        else:
            self._aborted.clear()

    def close(self) -> None:
        """There is nothing to free."""
