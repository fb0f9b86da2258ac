"""Stored sessions: go on with one, or look at one again."""

import time
from pathlib import Path
from typing import ClassVar

from agspec_tui.config import sessions_dir
from agspec_tui.session.stored import Summary, list_sessions
from agspec_tui.tui.screens.listing import ListingScreen, Row
from agspec_tui.tui.switch import Switch
from agspec_tui.tui.text import below_home


class SessionsScreen(ListingScreen):
    """The newest first, those of other repositories as well."""

    TITLE_TEXT: ClassVar[str] = "Sessions"
    COLUMNS: ClassVar[tuple[str, ...]] = (
        "last used", "status", "tasks", "repository", "first task",
    )  # fmt: skip
    KEYS_TEXT: ClassVar[str] = "Enter  go on with it     p  replay     r  read again     Esc  back"
    NOTHING: ClassVar[str] = "no session is stored yet"

    def rows(self) -> list[Row]:
        """Every file of the sessions folder."""
        return [_row(one) for one in list_sessions(sessions_dir())]


def _row(one: Summary) -> Row:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.changed_s))
    status = "not usable" if one.fault else one.status.replace("_", " ")
    repo = Path(one.meta.repo).name if one.meta else "–"
    cells = (when, status, str(one.n_tasks), repo, one.title or "–")
    replay = Switch("replay", one.session_id)
    if one.fault or one.meta is None:
        return Row(cells, f"{one.session_id}: {one.fault or 'it cannot be read'}")
    about = f"{one.session_id} · {below_home(Path(one.meta.repo))} · {one.meta.model}"
    if one.status == "open":
        return Row(cells, f"{about}\na program has it open; it can be replayed", shows=replay)
    return Row(cells, about, Switch("resume", one.session_id), replay)
