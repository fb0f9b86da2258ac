"""What the model has read, kept for the next session over a repository where that is asked for."""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path

from agspec_tui.commands import LoadModel
from agspec_tui.config import Config, prefixes_dir
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import EngineError
from agspec_tui.events import Warned

_SAVE_S = 30.0
"""Longest time that closing a session waits for it."""


class KeptPrefix:
    """Saves the cache of a session when it ends, and takes it up when the next one begins."""

    def __init__(
        self,
        client: EngineClient,
        warn: Callable[[Warned], object],
        *,
        config: Config,
        load: LoadModel,
        repo: Path,
    ) -> None:
        """Nothing is read or written yet, and never unless the settings say `keep_prefix`.

        A recorded session keeps nothing: its recording says what was read, and when.
        """
        self._client = client
        self._warn = warn
        self._is_on = config.keep_prefix and not load.record
        name = hashlib.blake2b(f"{repo}\0{load.path}".encode(), digest_size=16).hexdigest()
        self._folder = prefixes_dir() / name

    async def take_up(self) -> None:
        """Let the engine begin with what it had read; what it cannot use is said and left out."""
        if self._is_on and self._folder.is_dir():
            try:
                await self._client.context.restore(self._folder)
            except EngineError as error:
                self._warn(Warned(message=error.message, hint=error.hint))

    async def keep(self) -> None:
        """Leave to the next session what the engine has read."""
        if not self._is_on:
            return
        try:
            await asyncio.wait_for(self._client.context.save(self._folder), _SAVE_S)
        except (EngineError, TimeoutError) as error:
            message = error.message if isinstance(error, EngineError) else "it took too long"
            self._warn(Warned(message=f"what was read was not kept: {message}", hint=""))
