"""From a form's name to the form: the one place where forms are registered."""

from agspec_tui.commands import DocumentView
from agspec_tui.errors import UsageError
from agspec_tui.forms.base import Form
from agspec_tui.forms.search_replace import SearchReplace
from agspec_tui.forms.udiff import UDiff
from agspec_tui.forms.whole import Whole
from agspec_tui.forms.whole_json import WholeJson

_FORMS: tuple[type[Form], ...] = (Whole, UDiff, SearchReplace, WholeJson)

NAMES = tuple(one.name for one in _FORMS)


def form(name: str) -> Form:
    """The named edit form.

    Raises:
        UsageError: there is no such form.
    """
    for one in _FORMS:
        if one.name == name:
            return one()
    raise UsageError(f"unknown edit form {name!r}", f"choose one of {', '.join(NAMES)}")


def views_of(name: str, text: str) -> tuple[DocumentView, ...]:
    r"""Views of a file in an edit form, in the order in which they are indexed.

    Args:
        name: name of the form.
        text: the file, with any line ends; views have `\n` only.

    Raises:
        UsageError: there is no such form.
    """
    return form(name).index_views(text)
