"""From a name to a drafter."""

from agspec_tui.drafting.agspec_sam import AgspecSam
from agspec_tui.drafting.plain import Plain
from agspec_tui.drafting.types import Drafter
from agspec_tui.errors import DraftError

NAMES = ("none", "agspec-sam")
"""Drafters by their names on the command line."""


def make_drafter(name: str) -> Drafter:
    """Make the named drafter, with empty corpora.

    Raises:
        DraftError: the name is unknown.
    """
    require_drafter(name)
    return Plain() if name == "none" else AgspecSam()


def require_drafter(name: str) -> None:
    """Check a drafter's name without making it.

    Raises:
        DraftError: the name is unknown.
    """
    if name not in NAMES:
        raise DraftError(f"unknown drafter {name!r}", f"choose one of {', '.join(NAMES)}")
