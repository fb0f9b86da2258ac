"""Follows a token stream that another program decodes, and drafts for it.

Such programs show the whole context at every step and say nothing else: not what was accepted, not
where a prompt ends. Both are inferred from how the context grew since the last draft.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.drafting.choose import default_policy, make_drafter
from agspec_tui.drafting.types import Ids, Piece
from agspec_tui.engine.evidence import evidence_of
from agspec_tui.errors import DraftError
from agspec_tui.policy.choose import make_policy
from agspec_tui.policy.types import Budget, Evidence, Outcome

_ROLE = "stream"
_LARGEST = np.iinfo(np.int32).max
_N_OVERLAP = 32
"""Tokens of a known context that are repeated where a prompt leaves it, so that they can match."""


class Follower:
    """One token stream with its own corpora and its own α.

    A context that grew by accepted tokens and one more was verified. Anything else is a prompt: it
    may go on from the context, leave it somewhere, or be shorter; only what is new is indexed.
    """

    def __init__(self, settings: ConfigureDrafting) -> None:
        """Follow an empty stream.

        Args:
            settings: drafter and policy.

        Raises:
            DraftError: a name is unknown, a value is out of its range, or the drafter needs a
                draft model.
        """
        self.n_prompt = 0
        """Tokens of the last prompt."""
        self.tokens: Ids = np.empty(0, dtype=np.int32)
        """The context as it was last seen."""
        self._drafter = make_drafter(settings.drafter, resume=settings.resume)
        self._policy = make_policy(settings)
        self._evidence = Evidence(0)
        self._budget = Budget(0, censored=True)
        self._draft: tuple[int, ...] = ()

    def propose(self, ids: Ids, room: int) -> tuple[int, ...]:
        """Take in the context and draft what may follow.

        Args:
            ids: the whole context, shape (n,), n ≥ 1, not negative; copied.
            room: most tokens to draft.
        """
        if self.continues(ids):
            self._verified(ids[len(self.tokens) :].tolist())
        elif not np.array_equal(ids, self.tokens):
            self._begin(ids)
        self.tokens = ids.copy()
        match = self._drafter.match()
        self._evidence = evidence_of(match)
        self._budget = self._policy.budget(_ROLE, self._evidence, room)
        k = self._budget.k
        self._draft = self._drafter.draft(match, k).ids if k > 0 else ()
        return self._draft

    def continues(self, ids: Ids) -> bool:
        """Whether the context grew by a verification: accepted draft tokens and one more."""
        n_known = len(self.tokens)
        n_new = len(ids) - n_known
        if n_known == 0 or not 1 <= n_new <= len(self._draft) + 1:
            return False
        if ids[n_known - 1] != self.tokens[-1]:  # most others differ here already
            return False
        accepted = ids[n_known:-1].tolist()
        if accepted != list(self._draft[: n_new - 1]):
            return False
        return np.array_equal(ids[:n_known], self.tokens)

    def n_shared(self, ids: Ids) -> int:
        """How many leading tokens a context shares with the one last seen."""
        limit = min(len(ids), len(self.tokens))
        differs = ids[:limit] != self.tokens[:limit]
        return int(differs.argmax()) if differs.any() else limit

    def _begin(self, ids: Ids) -> None:
        cut = max(0, min(self.n_shared(ids), len(ids) - _N_OVERLAP))
        parts = (ids[:cut], ids[cut:]) if cut else (ids,)
        self._drafter.begin(_ROLE, [Piece("context", tuple(part.tolist())) for part in parts])
        self.n_prompt = len(ids)

    def _verified(self, new: list[int]) -> None:
        n_accepted = len(new) - 1
        n_drafted = len(self._draft)
        if n_accepted < n_drafted and self._draft[n_accepted] == new[-1]:
            # It would have been accepted: the draft was cut before this token was verified.
            n_drafted = n_accepted
        cut = n_drafted < len(self._draft) or n_drafted < self._budget.k
        censored = self._budget.censored or cut
        self._policy.observe(_ROLE, self._evidence, Outcome(n_drafted, n_accepted, censored))
        if n_drafted:
            self._drafter.observe(n_drafted, n_accepted)
        self._drafter.feed(new)


def settings_of(drafter: str, policy: str, cap: int, break_even: float) -> ConfigureDrafting:
    """Settings of a follower, checked.

    Args:
        drafter: a drafter's name.
        policy: a policy's name, or `auto`: the drafter's own rule where it has one, else `agspec`.
        cap: most tokens of a draft.
        break_even: λ, the acceptance probability at which one more token pays for itself.

    Raises:
        DraftError: a name is unknown, a value is out of its range, or the drafter needs a draft
            model.
    """
    settings = ConfigureDrafting(
        drafter=drafter,
        policy=_policy_of(drafter) if policy == "auto" else policy,
        cap=cap,
        fixed_k=cap,
        break_even=break_even,
    )
    make_policy(settings)
    make_drafter(drafter)
    return settings


def _policy_of(drafter: str) -> str:
    """Own rule or `agspec`: the caller gives λ and a cap, but what a pass costs is not known."""
    return "own" if default_policy(drafter) == "own" else "agspec"


def token_ids(values: npt.ArrayLike, what: str, n_dims: int = 1) -> Ids:
    """Token ids of another program as int32.

    Args:
        values: whole numbers, in an array or in what converts to one.
        what: what they are, for the message.
        n_dims: dimensions they must have.

    Raises:
        DraftError: they are no whole numbers that fit, or the array has another shape.
    """
    array = np.asarray(values)
    if array.ndim != n_dims:
        raise DraftError(f"{what} must have {n_dims} dimension(s), not shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise DraftError(f"{what} must be whole numbers, not {array.dtype}")
    if array.itemsize >= 4 and array.size and array.max() > _LARGEST:
        raise DraftError(f"{what} holds {array.max()}, which is too large for a token id")
    return array.astype(np.int32, copy=False)


def require_ids(ids: Sequence[int] | Ids, what: str) -> None:
    """Refuse negative ids, which programs use for placeholders.

    Raises:
        DraftError: an id is negative.
    """
    if len(ids) and min(np.asarray(ids).min(), 0) < 0:
        raise DraftError(f"{what} holds a negative token id", "placeholders cannot be matched")
