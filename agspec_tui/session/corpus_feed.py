"""What the engine's workspace corpus holds: files are sent to it when they differ."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence

from agspec_tui.commands import DocumentView, IndexDocument
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import EngineError
from agspec_tui.events import Event, Warned
from agspec_tui.forms.choose import views_of

_INDEX_S = 30.0


def digest(text: str) -> bytes:
    """Names a text: 16 bytes that differ for different texts."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


class CorpusFeed:
    """Sends files to the engine one at a time, in the forms that the coder may emit."""

    def __init__(
        self, client: EngineClient, forms: Sequence[str], publish: Callable[[Event], object]
    ) -> None:
        """Send views in `forms`; warnings go to `publish`."""
        self.full = False
        """The engine refused a file because the corpus holds all it may."""
        self._client = client
        self._forms = tuple(forms)
        self._publish = publish
        self._held: dict[str, bytes] = {}
        self._sending = asyncio.Lock()

    def holds(self, path: str) -> bytes | None:
        """Digest of the text that the corpus holds of a file; None if it holds none."""
        return self._held.get(path)

    async def put(self, path: str, text: str) -> None:
        """Put a file's text into the corpus in place of its older one; the same text sends nothing.

        Raises:
            EngineError: the engine died; the next one is given the file.
        """
        name = digest(text)
        async with self._sending:
            if self._held.get(path) == name:
                return
            command = await asyncio.to_thread(self._command, path, text)
            try:
                async with asyncio.timeout(_INDEX_S):
                    indexed = await self._client.index(command)
            except TimeoutError:
                self._publish(
                    Warned(message=f"{path} was not indexed", hint="drafts will be shorter")
                )
                return
            except EngineError:
                self._held[path] = name  # the client keeps it for the next engine
                raise
            if indexed.skipped:
                self.full = True
                self._held.pop(path, None)
                await self._client.forget(path)  # its older text must not be drafted either
            else:
                self._held[path] = name

    async def drop(self, path: str) -> None:
        """Take a file out of the corpus."""
        async with self._sending:
            if self._held.pop(path, None) is not None:
                self.full = False
                await self._client.forget(path)

    def _command(self, path: str, text: str) -> IndexDocument:
        views: dict[str, DocumentView] = {}
        for form in self._forms:
            for view in views_of(form, text):
                views.setdefault(view.name, view)
        return IndexDocument(path=path, views=tuple(views.values()))
