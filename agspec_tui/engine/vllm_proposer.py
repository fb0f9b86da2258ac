"""AgSpec's drafters for vLLM, through its `custom_class` interface (vllm-project/vllm#39487).

    vllm serve MODEL --speculative-config '{"method": "custom_class",
        "custom_proposer_backend": "agspec_tui.engine.vllm_proposer.AgspecProposer",
        "num_speculative_tokens": 32}'

Needs numpy alone; vLLM is not imported. The interface names no request and no session, so that a
request is known by its tokens: rows of the batch may be swapped, leave and come back.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from agspec_tui.drafting.types import Ids
from agspec_tui.engine.follow import Follower, require_ids, settings_of, token_ids
from agspec_tui.errors import DraftError


class _Speculative(Protocol):
    num_speculative_tokens: int
    """Most tokens of a draft."""


class _Model(Protocol):
    max_model_len: int
    """Most tokens of a prompt and its reply."""


class ServerConfig(Protocol):
    """What is used of vLLM's configuration."""

    speculative_config: _Speculative
    """How to draft."""
    model_config: _Model
    """The target."""


class AgspecProposer:
    """Drafts for the requests of a batch, each from its own text.

    Every request has corpora and an α of its own: nothing is drafted from another one's text. A
    request that repeats the whole prompt of one that has left and goes on from it is taken for the
    next turn of that conversation and keeps its corpora.

    Other settings are made by a subclass that is named as the backend.
    """

    drafter = "agspec-sam"
    """A drafter that needs no draft model."""
    policy = "auto"
    """`off`, `own`, `fixed` or `agspec`; `auto` is the drafter's own rule, else `agspec`."""
    break_even = 0.03
    """λ, the acceptance probability at which one more drafted token pays for itself; on a GPU a few
    per cent."""
    n_kept = 16
    """Requests that are remembered after they have left, the longest gone are forgotten first."""

    def __init__(self, vllm_config: ServerConfig) -> None:
        """Read the two settings that are used of vLLM's configuration.

        Args:
            vllm_config: `speculative_config.num_speculative_tokens`, the most tokens of a draft,
                and `model_config.max_model_len`, beyond which nothing is drafted.

        Raises:
            DraftError: one of them, or one of the class' own settings, is out of its range.
        """
        self.num_speculative_tokens = int(vllm_config.speculative_config.num_speculative_tokens)
        self.max_model_len = int(vllm_config.model_config.max_model_len)
        for name in ("num_speculative_tokens", "max_model_len"):
            if getattr(self, name) < 1:
                raise DraftError(f"{name} = {getattr(self, name)} leaves no draft", "use 1 or more")
        self._settings = settings_of(
            self.drafter, self.policy, self.num_speculative_tokens, self.break_even
        )
        self._rows: dict[int, Follower] = {}
        self._gone: list[Follower] = []

    def load_model(self, *args: object, **kwargs: object) -> None:
        """There is no model to load."""

    def propose(
        self,
        sampled_token_ids: list[list[int]],
        num_tokens_no_spec: npt.NDArray[np.int32],
        token_ids_cpu: npt.NDArray[np.int32],
        slot_mappings: object = None,
    ) -> list[list[int]]:
        """Draft for every row of the batch.

        Args:
            sampled_token_ids: tokens that each row's last step committed; none for a row whose
                prompt is still being read, which gets no draft.
            num_tokens_no_spec: tokens of each row, those included, shape (≥ rows,).
            token_ids_cpu: the rows' token ids, valid up to their number of tokens, shape
                (≥ rows, max_model_len).
            slot_mappings: not used.

        Returns:
            A draft a row, possibly empty.

        Raises:
            DraftError: an array has the wrong type or shape, or a row holds a negative id.
        """
        n_tokens = token_ids(num_tokens_no_spec, "num_tokens_no_spec")
        table = token_ids(token_ids_cpu, "token_ids_cpu", 2)
        n_rows = len(sampled_token_ids)
        if n_rows > min(len(n_tokens), len(table)):
            raise DraftError(
                f"{n_rows} rows were sampled, but there are {len(n_tokens)} token counts"
                f" and {len(table)} rows of tokens"
            )
        contexts: dict[int, Ids] = {}
        for row, sampled in enumerate(sampled_token_ids):
            if len(sampled) and 0 < n_tokens[row] < self.max_model_len:
                contexts[row] = _context(table, row, int(n_tokens[row]))
        self._assign(contexts)
        drafts: list[list[int]] = [[] for _ in range(n_rows)]
        for row, ids in contexts.items():
            # One place is left for the bonus token.
            room = min(self.num_speculative_tokens, self.max_model_len - len(ids) - 1)
            drafts[row] = list(self._rows[row].propose(ids, room))
        return drafts

    def _assign(self, contexts: dict[int, Ids]) -> None:
        """Give every row the follower of its request: where it was, elsewhere, or a new one."""
        free = dict(enumerate([*self._gone, *self._rows.values()]))
        number_of = {id(follower): number for number, follower in free.items()}
        taken: dict[int, Follower] = {}
        for row, ids in contexts.items():
            here = self._rows.get(row)
            if here is not None and here.continues(ids):
                taken[row] = free.pop(number_of[id(here)])
        for row, ids in contexts.items():
            if row not in taken:
                found = next((n for n, follower in free.items() if follower.continues(ids)), None)
                if found is not None:
                    taken[row] = free.pop(found)
        for row, ids in contexts.items():
            if row not in taken:
                found = _earlier_turn(free, ids)
                taken[row] = Follower(self._settings) if found is None else free.pop(found)
        self._rows = taken
        self._gone = list(free.values())[-self.n_kept :] if self.n_kept else []


def _context(table: Ids, row: int, n_tokens: int) -> Ids:
    if n_tokens > table.shape[1]:
        raise DraftError(
            f"row {row} is said to have {n_tokens} tokens, there is room for {table.shape[1]}"
        )
    ids = table[row, :n_tokens]
    require_ids(ids, f"row {row}")
    return ids


def _earlier_turn(free: dict[int, Follower], ids: Ids) -> int | None:
    """Number of the follower whose whole last prompt the context repeats, and most beyond it."""
    best, longest = None, 0
    for number, follower in free.items():
        n_shared = follower.n_shared(ids)
        if follower.n_prompt <= n_shared and n_shared > longest:
            best, longest = number, n_shared
    return best
