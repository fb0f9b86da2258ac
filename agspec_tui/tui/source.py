"""What the screen needs of a session: four methods and a bus."""

from typing import Protocol

from agspec_tui.commands import SessionCommand
from agspec_tui.session.bus import Bus


class Source(Protocol):
    """A live session or a recorded one; the screen cannot tell them apart."""

    @property
    def bus(self) -> Bus:
        """The event stream; subscribe before `start` so that nothing is missed."""
        ...

    async def start(self) -> None:
        """Make the source ready, e.g. load the model.

        Raises:
            AgspecError: it cannot be made ready; the hint says what to do.
        """
        ...

    async def send(self, command: SessionCommand) -> None:
        """Hand over a command; its effect is seen as events."""
        ...

    async def close(self) -> None:
        """Release everything; calling it twice is harmless."""
        ...
