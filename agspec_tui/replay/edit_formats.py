"""How a recorded agent emits its edits: its edit forms, and which of its calls make one."""

import re
from collections.abc import Sequence

from agspec_tui.replay.traces import TraceCall, TraceSession

# What a recording says of its edit format, and the edit form whose views stand for it. The first
# one that is found counts.
_FORMS = (
    (re.compile(r"search/?\s?-?replace", re.IGNORECASE), "search-replace"),
    (re.compile(r"unified|udiff", re.IGNORECASE), "udiff"),
    (re.compile(r"\bJSON\b|\btool call", re.IGNORECASE), "whole-json"),
    (re.compile(r"\bwhole\b|\bbash\b|\bheredoc\b", re.IGNORECASE), "whole"),
)
_ELSE = "whole"
"""The form of recordings that name no format: files as they are."""

_EDIT = re.compile(
    r"^<{5,9} SEARCH"  # search and replace
    r"|^\[tool_use (?:Edit|MultiEdit|Write|NotebookEdit)\]"
    r'|"action": ?"editor_file"'
    r"|\bsed -i|^(?:cat|tee)\b[^\n<]*<<[^\n>]*>|^cat >[^\n<]*<<|^apply_patch\b|^git apply\b"
    r"|\.write_text\(|open\([^()\n]{0,300}[\"']w[\"']\)"
    r"|^\S+\.\w+\n`{3,}\w*\n(?!<{5,9} SEARCH)",  # a whole file behind its path
    re.MULTILINE,
)
_DIFF = re.compile(r"^--- \S[^\n]*\n\+\+\+ \S[^\n]*\n@@ ", re.MULTILINE)


def forms_of(session: TraceSession) -> tuple[str, ...]:
    """Edit forms whose emission views a session's workspace corpus holds.

    SEARCH/REPLACE blocks are `search-replace`; JSON tool calls with the text of an edit are
    `whole-json`; whole files and shell scripts are `whole`, and so is what is not known. A session
    whose outputs hold unified diffs has the views of `udiff` as well.
    """
    stated = session.edit_format or ""
    form = next((form for pattern, form in _FORMS if pattern.search(stated)), _ELSE)
    writes_diffs = form != "udiff" and any(_DIFF.search(call.output) for call in session.calls)
    return (form, "udiff") if writes_diffs else (form,)


def turns_of(session: TraceSession) -> list[int]:
    """The turn of every call, from 1: the number of calls so far that made an edit, itself too.

    A turn thus begins with an edit and lasts through the tests and the reading after it; the calls
    before the first edit belong to turn 1. Our own recordings know their turns.
    """
    if session.kind == "recording":
        return [max(1, call.turn) for call in session.calls]
    return _counted(session.calls)


def _counted(calls: Sequence[TraceCall]) -> list[int]:
    turns: list[int] = []
    n_edits = 0
    for call in calls:
        n_edits += _EDIT.search(call.output) is not None
        turns.append(max(1, n_edits))
    return turns
