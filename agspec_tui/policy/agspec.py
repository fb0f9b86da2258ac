"""`agspec` in paper mode: K = clip(round(α·m), 1, K_max), α tracked per role.

After each verification α ← α + η·(τ − 1[A < D]), τ = 1 − λ. The rule is a stochastic subgradient
step on a quantile loss: it aims at full acceptance with probability λ, so where verification is
cheap (λ small) most drafts *should* end in a rejection.

A full acceptance says nothing about α when something other than α·m limited the draft (the cap,
the context, max_tokens, the end of the document, the batch): it is censored and skipped. Every
rejection updates. No draft, no update. α is clamped, since it would otherwise wind up below zero
during a run of rejections and take hundreds of steps to return.

Beyond the paper, as options: α updated in the log domain, where a step up and a step down are
factors, and an α for each corpus that a role copies from.
"""

import math
from collections.abc import Mapping

from agspec_tui.errors import DraftError
from agspec_tui.policy.types import Budget, Evidence, Outcome

ALPHA_MIN = 1 / 16
ALPHA_MAX = 4.0


class AgSpec:
    """The paper's controller: an offline cap and an online scale, per role."""

    name = "agspec"

    def __init__(
        self,
        cap: int = 16,
        eta: float = 0.1,
        break_even: float = 0.35,
        min_match: int = 1,
        *,
        caps: Mapping[str, int] | None = None,
        log_domain: bool = False,
        per_source: bool = False,
    ) -> None:
        """Every α starts at 1.0.

        Args:
            cap: K_max of the roles that `caps` does not name, in tokens.
            eta: η.
            break_even: λ.
            min_match: shortest match that is drafted from.
            caps: K_max by role, from a profile.
            log_domain: multiply α by exp(η·(…)) instead of adding.
            per_source: keep one α for each corpus of a role.

        Raises:
            DraftError: a value is out of its range.
        """
        if cap < 1:
            raise DraftError(f"a cap of {cap} leaves no draft", "use 1 or more")
        if not 0.0 < eta <= 1.0:
            raise DraftError(f"eta = {eta} is out of range", "use a value in (0, 1]")
        if not 0.0 < break_even < 1.0:
            raise DraftError(f"break_even = {break_even} is no probability", "use one in (0, 1)")
        self._cap = cap
        self._eta = eta
        self._tau = 1.0 - break_even
        self._min_match = max(1, min_match)
        self._caps = dict(caps or {})
        self._log_domain = log_domain
        self._per_source = per_source
        self._alpha: dict[tuple[str, str], float] = {}
        self._latest: dict[str, str] = {}

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        """K = clip(round(α·m), 1, K_max), then what room is left."""
        if evidence.match_len < self._min_match or room < 1:
            return Budget(0, censored=True)
        cap = self._caps.get(role, self._cap)
        alpha = self._alpha.get(self._key(role, evidence), 1.0)
        wanted = max(1, round(alpha * evidence.match_len))
        k = min(wanted, cap, room)
        # At K = K_max the cap would have cut any longer wish, so the observation is censored
        # even where α·m happens to equal the cap.
        return Budget(k, censored=k < wanted or k >= cap)

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        """Update α of the role by the rule above."""
        if outcome.n_drafted == 0:
            return
        rejected = outcome.n_accepted < outcome.n_drafted
        if outcome.censored and not rejected:
            return
        key = self._key(role, evidence)
        alpha = self._alpha.get(key, 1.0)
        step = self._eta * (self._tau - float(rejected))
        alpha = alpha * math.exp(step) if self._log_domain else alpha + step
        self._alpha[key] = min(ALPHA_MAX, max(ALPHA_MIN, alpha))
        self._latest[role] = key[1]

    def alpha(self, role: str) -> float:
        """α of the role, or of the corpus it copied from last; 1.0 at the start of a session."""
        return self._alpha.get((role, self._latest.get(role, "")), 1.0)

    def cap(self, role: str) -> int:
        """K_max of the role."""
        return self._caps.get(role, self._cap)

    def reset(self) -> None:
        """Forget every α."""
        self._alpha.clear()
        self._latest.clear()

    def _key(self, role: str, evidence: Evidence) -> tuple[str, str]:
        return role, evidence.source if self._per_source else ""
