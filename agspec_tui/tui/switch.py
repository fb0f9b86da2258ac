"""What the person chose to open in place of the present session."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Switch:
    """What is opened once the present session is closed."""

    kind: Literal["resume", "replay", "model"]
    """A stored session to go on with or to look at, or this repository with another model."""
    name: str
    """Of the session or the model."""
