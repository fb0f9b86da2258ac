"""The one protocol of draft-length policies."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens may be drafted at this step."""

    k: int
    """K, in tokens; 0 means decode plainly."""
    censored: bool
    """True if K was limited by anything other than the role's own scale (cap or room)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known at a step before a draft is made."""

    match_len: int
    """m, length of the match in tokens; 0 without one."""
    source: str = ""
    """Corpus of the match."""
    n_seen: int = 0
    """How often the match occurred before; 0 where the corpus does not count."""
    n_group: int = 0
    """Of those, how often the tokens followed that a draft would begin with; 0 if not counted."""
    form: str = ""
    """Form of the edits that the reply is asked for; empty for none."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A sequence that decodes in the next pass, and what is known of its draft."""

    role: str
    """Role that decodes it."""
    evidence: Evidence
    """What is known before the draft is made."""
    room: int
    """Most tokens that its draft may have; 0 for a sequence that decodes plainly."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one verification showed."""

    n_drafted: int
    """D, tokens drafted."""
    n_accepted: int
    """A, tokens accepted."""
    censored: bool
    """True if the draft was cut by something other than the role's own scale: cap, context,
    max_tokens, end of document, n_batch. A full acceptance then says nothing about the scale."""


class Policy(Protocol):
    """Decides draft lengths, per role, from numbers alone."""

    name: str
    """Name on the command line and in reports."""

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        """K for a step with this evidence, never more than `room`."""
        ...

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        """Learn from the verification of a step that had this evidence."""
        ...

    def alpha(self, role: str) -> float:
        """α of a role, for the screen, or what stands for it; 1.0 where the policy has neither."""
        ...

    def cap(self, role: str) -> int:
        """K_max of a role, for the screen; 0 where there is none."""
        ...

    def reset(self) -> None:
        """A new session: every α back to 1.0."""
        ...
