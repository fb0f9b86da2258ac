"""From the settings to a drafter, those with a smaller model in this process included."""

from pathlib import Path

import msgspec

from agspec_tui.commands import ConfigureDrafting, LoadModel
from agspec_tui.drafting.chain import Chain
from agspec_tui.drafting.choose import MODEL_NAMES, make_drafter, require_drafter
from agspec_tui.drafting.global_corpus import GlobalCorpus, open_global
from agspec_tui.drafting.types import Drafter
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.model_drafter import ModelDrafter
from agspec_tui.engine.types import Backend
from agspec_tui.errors import DraftError, EngineError
from agspec_tui.policy.choose import make_policy

MAX_VOCAB_DIFFERENCE = 128
"""Vocabularies of one family are padded to different sizes; llama.cpp allows for as much."""
_HINT = "choose a smaller model of the target's family"


class DrafterMaker:
    """Makes drafters for one loaded target; keeps the draft model loaded while methods alternate.

    A draft model is loaded when a drafter first needs it, and freed when another one is named.
    """

    def __init__(self, target: Backend, load: LoadModel) -> None:
        """Make drafters for a target that was loaded as `load` says."""
        self._target = target
        self._load = load
        self._path = ""
        self._model: ModelDrafter | None = None

    def make(self, settings: ConfigureDrafting) -> Drafter:
        """Make the drafter that the settings name, with empty live corpora.

        Raises:
            DraftError: the name is unknown, the global corpus cannot be read, no draft model is
                named, it cannot be loaded, or either was made for another tokenizer.
        """
        name = settings.drafter
        require_drafter(name)
        static = self._open_static(settings.global_corpus)
        if name not in MODEL_NAMES:
            return make_drafter(name, static, resume=settings.resume)
        model = self._draft_model(settings)
        if name == ModelDrafter.name:
            return model
        first = name.removesuffix(f"+{ModelDrafter.name}")
        return Chain(name, make_drafter(first, static, resume=settings.resume), model)

    def _open_static(self, path: str) -> GlobalCorpus | None:
        if not path:
            return None
        return open_global(Path(path), self._target.fingerprint(), self._target.n_vocab)

    def close(self) -> None:
        """Free the draft model, if one is loaded."""
        if self._model is not None:
            self._model.close()
        self._model, self._path = None, ""

    def _draft_model(self, settings: ConfigureDrafting) -> ModelDrafter:
        path = settings.draft_model
        if not path:
            raise DraftError(f"the drafter {settings.drafter} needs a draft model", _HINT)
        if self._model is None or path != self._path:
            model = self._open(path)
            self.close()
            self._model, self._path = model, path
        return self._model

    def _open(self, path: str) -> ModelDrafter:
        name = Path(path).stem
        # Loaded here and not above: other drafters must be made where llama.cpp does not run.
        from agspec_tui.engine.llama import LlamaBackend

        load = msgspec.structs.replace(
            self._load, path=path, name=name, n_threads=self._target.n_threads
        )
        beside = self._target if isinstance(self._target, LlamaBackend) else None
        try:
            backend = LlamaBackend(load, beside)
        except EngineError as error:
            raise DraftError(f"the draft model: {error.message}", error.hint) from error
        try:
            require_same_vocabulary(self._target, backend, name)
        except DraftError:
            backend.close()
            raise
        return ModelDrafter(backend, name, self._target.n_vocab, n_slots=load.n_seq_max)


def reconfigure(
    decoder: Decoder, maker: DrafterMaker, then: ConfigureDrafting, now: ConfigureDrafting
) -> None:
    """Put new settings in the place of older ones; another drafter starts with empty corpora.

    Raises:
        DraftError: they cannot be had; nothing has changed then.
    """
    policy = make_policy(now)
    require_drafter(now.drafter)
    if drafter_of(now) != drafter_of(then):
        decoder.drafter = maker.make(now)
        decoder.lines.clear()
    decoder.policy = policy


def drafter_of(settings: ConfigureDrafting) -> tuple[str, str, str, bool]:
    """What makes a drafter another one, with corpora of its own."""
    return settings.drafter, settings.draft_model, settings.global_corpus, settings.resume


def require_same_vocabulary(target: Backend, draft: Backend, name: str) -> None:
    """Compare two vocabularies: their sizes, then the text of every token.

    The rule is llama.cpp's (`common_speculative_are_compatible`): padding at the end may differ.

    Raises:
        DraftError: they differ.
    """
    if abs(target.n_vocab - draft.n_vocab) > MAX_VOCAB_DIFFERENCE:
        raise DraftError(
            f"{name} has another vocabulary than the target:"
            f" {draft.n_vocab} tokens, not {target.n_vocab}",
            _HINT,
        )
    for token in range(min(target.n_vocab, draft.n_vocab)):
        if target.detokenize([token]) != draft.detokenize([token]):
            raise DraftError(
                f"{name} has another vocabulary than the target: token {token} differs", _HINT
            )
