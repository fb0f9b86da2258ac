"""Definitions that an edit loses although others use them.

A small model that gives a whole file anew likes to end it behind what it changed. The file is
shorter then, and still valid; only its users would find out.
"""

import re
from collections.abc import Mapping

from agspec_tui.errors import EditError
from agspec_tui.session.content import decoded
from agspec_tui.session.handover import EditSet
from agspec_tui.session.tags import tags_of


def refuse_lost(edits: EditSet, texts: Mapping[str, str], issue: str) -> None:
    """Refuse an edit that loses a definition which a file outside of it uses.

    A name that the issue speaks of may go, and so may one that is defined elsewhere as well, in the
    edit or beside it: it was moved, or it cannot be told whose it is.

    Args:
        edits: the edit.
        texts: text by path of the repository's files before it.
        issue: the issue.

    Raises:
        EditError: there is one; it names the definition and who uses it.
    """
    said = set(re.findall(r"\w+", issue))
    after = {change.path: decoded(change.after) or "" for change in edits.changes}
    others = {path: tags_of(path, text) for path, text in texts.items() if path not in after}
    known = [*others.values(), *(tags_of(path, text) for path, text in after.items())]
    kept = said.union(*(tags.defined for tags in known))
    for change in edits.changes:
        before = decoded(change.before)
        if before is None or change.after is None:
            continue
        for name in tags_of(change.path, before).defined:
            if name in kept:
                continue
            user = next((path for path, tags in others.items() if tags.used.get(name)), "")
            if user:
                raise EditError(
                    f"{change.path} lost `{name}`, which {user} uses",
                    "give the complete file; what does not change stays in it",
                )
