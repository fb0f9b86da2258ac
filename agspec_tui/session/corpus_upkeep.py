"""The workspace corpus of a session: what an agent opens goes in, and is followed from then on."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from agspec_tui.config import Config
from agspec_tui.engine.client import EngineClient
from agspec_tui.events import DocumentIndexed, Event
from agspec_tui.session.corpus_feed import CorpusFeed, digest
from agspec_tui.session.interrupt import InterruptSwitch
from agspec_tui.session.roles import Team
from agspec_tui.session.skipping import skip_reason
from agspec_tui.session.watcher import Watcher


class CorpusUpkeep:
    """Fills the workspace corpus, and follows the files in it if that is wanted."""

    def __init__(
        self,
        client: EngineClient,
        publish: Callable[[Event], object],
        interrupts: InterruptSwitch,
        *,
        repo: Path,
        config: Config,
        team: Team,
    ) -> None:
        """Begin to follow; nothing is indexed before `index`.

        Args:
            client: the engine.
            publish: puts an event on the bus.
            interrupts: the user's stop.
            repo: the resolved root of the repository.
            config: the settings.
            team: its coder's forms decide which views are indexed.
        """
        self._publish = publish
        self._interrupts = interrupts
        self._repo = repo
        self._feed = CorpusFeed(client, team.coder.settings.forms.in_use(), publish)
        self._watcher: Watcher | None = None
        if config.watch:
            self._watcher = Watcher(repo, self._feed, publish, scope=config.corpus_scope)
            self._watcher.start()

    async def index(self, path: str, text: str) -> None:
        """Put a file that an agent opened into the corpus, and follow it from then on."""
        if self._feed.holds(path) != digest(text):
            await self._interrupts.guard(self._put(path, text))

    async def _put(self, path: str, text: str) -> None:
        reason = await asyncio.to_thread(skip_reason, self._repo, path, text.encode())
        if reason:
            skipped = DocumentIndexed(path=path, n_tokens=0, n_corpus_tokens=0, skipped=reason)
            self._publish(skipped)
            return
        await self._feed.put(path, text)
        if self._watcher is not None:
            await self._watcher.follow(path)

    async def refresh(self) -> None:
        """Bring the corpus up to the files on disk."""
        if self._watcher is not None:
            await self._interrupts.guard(self._watcher.refresh())

    async def stop(self) -> None:
        """Follow nothing any more."""
        if self._watcher is not None:
            await self._watcher.stop()
