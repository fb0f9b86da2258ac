"""Replies to one task: which one is it, and how often may one be drawn again."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Draw:
    """Which of the replies to one task it is."""

    attempt: int = 0
    """Attempts before this one."""
    again: int = 0
    """Replies of this attempt that could not be used."""


FIRST = Draw()
"""The first reply of the first attempt."""


@dataclass(slots=True)
class Draws:
    """The draws of one attempt, all of its steps together."""

    attempt: int
    """Attempts before this one."""
    n_left: int
    """How often a reply may still be drawn again."""
    n_spent: int = 0
    """How often it was."""

    @property
    def present(self) -> Draw:
        """The draw that is next."""
        return Draw(self.attempt, self.n_spent)

    def spend(self) -> bool:
        """Take one; False if none is left."""
        if not self.n_left:
            return False
        self.n_left -= 1
        self.n_spent += 1
        return True
