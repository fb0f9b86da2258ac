"""Commands about the context: count a transcript, save the cache, take it up again."""

from dataclasses import dataclass
from pathlib import Path

from agspec_tui.commands import CountTokens, LoadModel, RestoreCache, SaveCache
from agspec_tui.engine import saved_cache
from agspec_tui.engine.cache import KvCache
from agspec_tui.engine.prompt import PromptBuilder
from agspec_tui.engine.types import Backend
from agspec_tui.errors import EngineError
from agspec_tui.events import CacheRestored, CacheSaved, TokensCounted

ContextCommand = CountTokens | SaveCache | RestoreCache


@dataclass(frozen=True, slots=True)
class ContextCommands:
    """Carries them out for a loaded model."""

    load: LoadModel
    """How it was loaded."""
    backend: Backend
    """The target."""
    prompts: PromptBuilder
    """What makes prompts of transcripts."""
    cache: KvCache
    """Its cached sequences."""

    def answer(self, command: ContextCommand) -> TokensCounted | CacheSaved | CacheRestored:
        """Carry out a command; counting is callable from any thread during a decode.

        Raises:
            EngineError: the cache cannot be written, or the session is recorded.
        """
        match command:
            case CountTokens():
                return self._count(command)
            case SaveCache():
                return self._save(command)
            case RestoreCache():
                return self._restore(command)

    def _count(self, command: CountTokens) -> TokensCounted:
        pieces = self.prompts.pieces("", command.messages)
        n_tokens = sum(len(piece.ids) for piece in pieces)
        return TokensCounted(request=command.request, n_tokens=n_tokens)

    def _save(self, command: SaveCache) -> CacheSaved:
        bound_to = saved_cache.binding(self.load, self.backend)
        index, n_bytes = saved_cache.save(self.cache, bound_to, Path(command.folder))
        return CacheSaved(
            request=command.request,
            sequences=tuple(one.name for one in index.sequences),
            n_tokens=sum(one.n_tokens for one in index.sequences),
            n_bytes=n_bytes,
        )

    def _restore(self, command: RestoreCache) -> CacheRestored:
        if self.load.record:
            raise EngineError(
                "a recorded session reads every prompt itself", "resume it without recording"
            )
        bound_to = saved_cache.binding(self.load, self.backend)
        taken, notes = saved_cache.restore(self.cache, bound_to, Path(command.folder))
        return CacheRestored(
            request=command.request,
            sequences=tuple(one.name for one in taken),
            n_tokens=sum(one.n_tokens for one in taken),
            notes=notes,
        )
