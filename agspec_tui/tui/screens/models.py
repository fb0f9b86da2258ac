"""Models: what is on this machine and in the catalogue, and whether it fits."""

from typing import ClassVar

import msgspec

from agspec_tui.config import Config, models_dir
from agspec_tui.errors import AgspecError
from agspec_tui.models.catalogue import ENTRIES
from agspec_tui.models.discover import discover
from agspec_tui.models.plan import Room, in_units
from agspec_tui.models.verified import model_path
from agspec_tui.session.loading import plan_load, room
from agspec_tui.tui.numbers import count
from agspec_tui.tui.screens.listing import ListingScreen, Row
from agspec_tui.tui.switch import Switch
from agspec_tui.tui.text import below_home


class ModelsScreen(ListingScreen):
    """Those that can be opened first; nothing is fetched from here."""

    TITLE_TEXT: ClassVar[str] = "Models"
    COLUMNS: ClassVar[tuple[str, ...]] = ("model", "size", "licence", "here")
    KEYS_TEXT: ClassVar[str] = "Enter  open this repository with it     r  read again     Esc  back"
    NOTHING: ClassVar[str] = "no model is known"

    def __init__(self, config: Config, present: str, *, busy: bool) -> None:
        """Make one.

        Args:
            config: settings that a model would be loaded with.
            present: name of the model in use.
            busy: a task is being worked on.
        """
        super().__init__(busy=busy)
        self._config = config
        self._present = present

    def rows(self) -> list[Row]:
        """The catalogue and what was found, those on this machine first."""
        there = room(self._config)
        folder = models_dir()
        rows = []
        for entry in ENTRIES:
            size = in_units(entry.n_bytes)
            if model_path(entry.name, folder).is_file():
                rows.append(self._row(entry.name, size, entry.licence, entry.use, there))
            else:
                about = f"{entry.title}: {entry.use}\nfetch it: agspec-tui models pull {entry.name}"
                rows.append(Row((entry.name, size, entry.licence, "no"), about))
        for found in discover():
            rows.append(
                self._row(found.name, in_units(found.n_bytes), "?", below_home(found.path), there)
            )
        return sorted(rows, key=lambda row: (row.cells[3] == "no", row.opens is None))

    def _row(self, name: str, size: str, licence: str, about: str, there: Room) -> Row:
        """A model on this machine."""
        if name == self._present:
            return Row((name, size, licence, "in use"), about)
        try:
            load = plan_load(msgspec.structs.replace(self._config, model=name), there)
        except AgspecError as error:
            # The present model is closed first, so that there may be room for it then.
            fits = f"beside the present one: {error.one_line()}"
        else:
            fits = f"fits beside the present one, with a context of {count(load.n_ctx)} tokens"
        return Row((name, size, licence, "yes"), f"{about}\n{fits}", Switch("model", name))
