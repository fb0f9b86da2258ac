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
    match name:
        case "none":
            return Plain()
        case "agspec-sam":
            return AgspecSam()
    raise DraftError(f"unknown drafter {name!r}", f"choose one of {', '.join(NAMES)}")
