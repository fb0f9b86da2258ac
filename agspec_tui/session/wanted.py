"""An edit as the person wants it: without some of its hunks, or with others of their own."""

from dataclasses import replace

from agspec_tui.commands import AnswerApproval
from agspec_tui.forms.diff import unified
from agspec_tui.forms.sides import chosen, sides_of
from agspec_tui.session.handover import EditSet


def as_wanted(edits: EditSet, answer: AnswerApproval) -> EditSet | None:
    """What an answer leaves of an edit; None if that is nothing.

    Args:
        edits: the edit.
        answer: approves it; numbers of hunks that it does not have mean nothing.

    Raises:
        EditError: a hunk cannot be written exactly as the person wrote it.
    """
    if not answer.left_out and not answer.written:
        return edits
    left_out = set(answer.left_out)
    written = {one.hunk: one.text for one in answer.written}
    kept = []
    n_before = 0
    for change in edits.changes:
        sides = sides_of(change)
        numbers = range(n_before, n_before + (len(sides.hunks()) if sides else 0))
        n_before = numbers.stop
        own = chosen(
            change,
            {number - numbers.start for number in numbers if number in left_out},
            {number - numbers.start: written[number] for number in numbers if number in written},
        )
        if own.after != own.before:
            kept.append(own)
    if not kept:
        return None
    return replace(edits, changes=tuple(kept), diff=unified(kept))
