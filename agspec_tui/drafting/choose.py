"""From a name to a drafter."""

from collections.abc import Callable

from agspec_tui.drafting.agspec_sam import AgspecSam
from agspec_tui.drafting.plain import Plain
from agspec_tui.drafting.types import Drafter
from agspec_tui.errors import DraftError

_MAKERS: dict[str, Callable[[], Drafter]] = {
    "none": Plain,
    "agspec-sam": AgspecSam,
}

NAMES = tuple(_MAKERS)
"""Drafters by their names on the command line."""

_SCALED = frozenset({"none", "agspec-sam", "agspec-suffix"})
"""Drafters whose draft length is the policy's matter."""


def make_drafter(name: str) -> Drafter:
    """Make the named drafter, with empty corpora.

    Raises:
        DraftError: the name is unknown.
    """
    require_drafter(name)
    return _MAKERS[name]()


def require_drafter(name: str) -> None:
    """Check a drafter's name without making it.

    Raises:
        DraftError: the name is unknown.
    """
    if name not in NAMES:
        raise DraftError(f"unknown drafter {name!r}", f"choose one of {', '.join(NAMES)}")


def default_policy(name: str) -> str:
    """The policy a drafter is meant for: `own` for those with a length rule of their own."""
    return "agspec" if name in _SCALED else "own"
