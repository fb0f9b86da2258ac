"""From a form's name to the form."""

from agspec_tui.errors import UsageError
from agspec_tui.forms.types import Form
from agspec_tui.forms.udiff import UDiff
from agspec_tui.forms.whole import Whole

NAMES = ("whole", "udiff")


def form(name: str) -> Form:
    """The named edit form.

    Raises:
        UsageError: there is no such form.
    """
    match name:
        case "whole":
            return Whole()
        case "udiff":
            return UDiff()
    raise UsageError(f"unknown edit form {name!r}", f"choose one of {', '.join(NAMES)}")
