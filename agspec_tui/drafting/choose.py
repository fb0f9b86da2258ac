"""From a name to a drafter."""

from collections.abc import Callable

from agspec_tui.drafting.agspec import Agspec, SessionStore, StaticCorpus
from agspec_tui.drafting.baselines.fastcoder import FastCoder
from agspec_tui.drafting.baselines.llama_ngram_map_k import LlamaNgramMapK
from agspec_tui.drafting.baselines.llama_ngram_mod import LlamaNgramMod
from agspec_tui.drafting.baselines.llama_ngram_simple import LlamaNgramSimple
from agspec_tui.drafting.baselines.pld import Pld
from agspec_tui.drafting.baselines.rest import Rest
from agspec_tui.drafting.baselines.sam import Sam
from agspec_tui.drafting.baselines.suffix import Suffix
from agspec_tui.drafting.global_corpus import GlobalCorpus
from agspec_tui.drafting.plain import Plain
from agspec_tui.drafting.session_corpus import SessionCorpus
from agspec_tui.drafting.session_scopes import SessionScope, scoped
from agspec_tui.drafting.session_tree import SessionTree
from agspec_tui.drafting.types import Drafter
from agspec_tui.errors import DraftError

_AGSPEC: dict[str, Callable[[], SessionStore]] = {
    "agspec-sam": SessionCorpus,
    "agspec-suffix": lambda: SessionCorpus(SessionTree()),
}
_MAKERS: dict[str, Callable[[StaticCorpus | None], Drafter]] = {
    "none": lambda static: Plain(),
    "pld": lambda static: Pld(),
    "rest": lambda static: Rest(static.file if isinstance(static, GlobalCorpus) else None),
    "sam": Sam,
    "fastcoder": FastCoder,
    "suffix": lambda static: Suffix(),
    "llama-ngram-simple": lambda static: LlamaNgramSimple(),
    "llama-ngram-map-k": lambda static: LlamaNgramMapK(),
    "llama-ngram-mod": lambda static: LlamaNgramMod(),
}

NAMES = ("none", *_AGSPEC, *(name for name in _MAKERS if name != "none"))
"""Drafters by their names on the command line."""

MODEL_NAMES = ("draft-model", "agspec-sam+draft-model")
"""Drafters with a smaller model, which the engine makes, since it runs models."""

LABELS = {"fastcoder": "from its abstract"}
"""What a report must say of a drafter beside its name."""

_DEFAULT_POLICY = {
    "none": "goodput",
    "agspec-sam": "goodput",
    "agspec-suffix": "goodput",
    # No counts tell how far a model's drafts hold; α learns it.
    "agspec-sam+draft-model": "agspec",
}
"""Drafters whose draft length is a policy's matter, and the policy."""


def make_drafter(
    name: str,
    static: StaticCorpus | None = None,
    session: SessionScope = "session",
    *,
    resume: bool = False,
) -> Drafter:
    """Make the named drafter, with empty live corpora.

    Args:
        name: one of `NAMES`.
        static: the global corpus, for the drafters that use one; it serves one drafter at a time.
        session: what the session corpus of AgSpec holds; the others have a rule of their own.
        resume: whether AgSpec goes on with a copy where an edit interrupted it.

    Raises:
        DraftError: the name is unknown, or that of a drafter with a smaller model.
    """
    require_drafter(name)
    if name in MODEL_NAMES:
        raise DraftError(f"{name} needs a draft model", "name one with draft_model")
    if name in _AGSPEC:
        return Agspec(name, scoped(_AGSPEC[name], session), static, resume=resume)
    return _MAKERS[name](static)


def require_drafter(name: str) -> None:
    """Check a drafter's name without making it.

    Raises:
        DraftError: the name is unknown.
    """
    known = (*NAMES, *MODEL_NAMES)
    if name not in known:
        raise DraftError(f"unknown drafter {name!r}", f"choose one of {', '.join(known)}")


def default_policy(name: str) -> str:
    """The policy a drafter is meant for: `own` for those with a length rule of their own.

    Why `goodput` for the others: docs/adr/003-default-draft-length.md.
    """
    return _DEFAULT_POLICY.get(name, "own")
