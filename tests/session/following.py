"""A watcher over a real folder, with a real engine process that speaks a script."""

import asyncio
import json
import subprocess
import time

from agspec_tui.commands import ConfigureDrafting, LoadModel
from agspec_tui.engine.client import EngineClient
from agspec_tui.events import DocumentIndexed
from agspec_tui.session.corpus_feed import CorpusFeed, digest
from agspec_tui.session.repo import check_repo
from agspec_tui.session.watcher import Watcher


def put(root, path, data="text\n"):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data if isinstance(data, bytes) else data.encode())
    return target


def git(root, *arguments):
    name = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0")
    subprocess.run(("git", "-C", str(root), *name, *arguments), check=True, capture_output=True)


async def until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        await asyncio.sleep(0.01)


class Following:
    """Everything between a file on disk and the corpus of the engine."""

    def __init__(self, root, folder, replies=("ok",), step_delay_s=0.0):
        self.root = root
        self.events, self.warnings = [], []
        self.sent = []
        """Paths that the engine was sent, in order."""
        self._folder, self._replies, self._delay = folder, list(replies), step_delay_s
        self.client = EngineClient(self._take, folder / "logs")

    async def start(self, scope="opened", *paths):
        script = self._folder / "script.json"
        script.write_text(json.dumps({"replies": self._replies, "step_delay_s": self._delay}))
        load = LoadModel(path=f"scripted:{script}", name="script", n_ctx=100_000)
        await self.client.start(load, ConfigureDrafting())
        self.feed = CorpusFeed(self.client, ("whole",), self.warnings.append)
        repo = check_repo(self.root)
        self.watcher = Watcher(repo, self.feed, self.warnings.append, scope=scope)
        self.watcher.start()
        await self.watcher.started.wait()
        await self.open(*paths)
        return self

    async def open(self, *paths):
        """As an agent that reads files."""
        for path in paths:
            await self.feed.put(path, (self.root / path).read_text())
            await self.watcher.follow(path)

    async def stop(self):
        if hasattr(self, "watcher"):
            await self.watcher.stop()
        await self.client.close()

    def _take(self, event):
        self.events.append(event)
        if isinstance(event, DocumentIndexed):
            self.sent.append(event.path)

    def holds(self, path, text):
        """Whether the corpus holds this very text of a file; None means none at all."""
        return self.feed.holds(path) == (None if text is None else digest(text))

    async def until_holds(self, path, text):
        await until(lambda: self.holds(path, text))

    async def still(self):
        """Wait until whatever has happened on disk must have been dealt with."""
        await asyncio.sleep(0.6)
        await self.watcher.refresh()
