"""From the settings to what the engine is asked to load, checked before anything is started."""

from pathlib import Path

from agspec_tui.commands import ConfigureDrafting, LoadModel
from agspec_tui.config import Config
from agspec_tui.drafting.choose import MODEL_NAMES, default_policy, require_drafter
from agspec_tui.drafting.corpus_file import read_header
from agspec_tui.engine.choose_drafter import MAX_VOCAB_DIFFERENCE
from agspec_tui.errors import DraftError
from agspec_tui.models.gguf import GgufHeader
from agspec_tui.models.memory import available_bytes
from agspec_tui.models.plan import check_fits, plan, trained_n_ctx
from agspec_tui.models.resolve import resolve
from agspec_tui.policy.choose import make_policy


def plan_load(config: Config) -> LoadModel:
    """The model of the settings, with a context that it was trained for and that fits.

    A context that does not fit is refused here, since the kernel would kill the engine over it.

    Raises:
        ModelError: the model is unknown, missing or damaged, or does not fit.
        UsageError: the context or the batch is too small.
    """
    model = resolve(config.model)
    n_ctx = config.n_ctx
    if model.header is not None:
        n_ctx = _wanted_n_ctx(config, model.header)
        check_fits(model.header, n_ctx, config.n_batch)
    return LoadModel(
        path=model.path,
        name=model.name,
        n_ctx=n_ctx,
        n_batch=config.n_batch,
        n_threads=config.n_threads,
        n_gpu_layers=config.n_gpu_layers,
    )


def plan_drafting(config: Config) -> ConfigureDrafting:
    """Drafter, policy and draft model of the settings, checked before anything is loaded.

    Raises:
        DraftError: a name is unknown, a value is out of its range, the global corpus cannot be
            read, or the drafter needs a draft model and has none with the target's vocabulary.
        ModelError: the draft model is unknown, missing or damaged, or does not fit.
    """
    require_drafter(config.drafter)
    drafting = ConfigureDrafting(
        drafter=config.drafter,
        policy=default_policy(config.drafter) if config.policy == "auto" else config.policy,
        fixed_k=config.fixed_k,
        cap=config.cap,
        eta=config.eta,
        break_even=config.break_even,
        min_match=config.min_match,
        scale=config.scale,
        log_alpha=config.log_alpha,
        alpha_per_source=config.alpha_per_source,
        global_corpus=config.global_corpus,
        draft_model=_draft_model(config) if config.drafter in MODEL_NAMES else "",
    )
    make_policy(drafting)
    if drafting.global_corpus:
        read_header(Path(drafting.global_corpus))
    return drafting


def _wanted_n_ctx(config: Config, header: GgufHeader) -> int:
    """The context of the settings: the default is a wish, a chosen size is a demand."""
    if config.n_ctx == Config().n_ctx:
        return trained_n_ctx(header, config.n_ctx)
    return config.n_ctx


def _draft_model(config: Config) -> str:
    """File of the draft model, which fits beside the target and may have its vocabulary."""
    if not config.draft_model:
        raise DraftError(
            f"the drafter {config.drafter} needs a draft model",
            "name a smaller model of the target's family: --draft-model of bench, or draft_model"
            " in config.toml",
        )
    draft, target = resolve(config.draft_model), resolve(config.model)
    if draft.header is None or target.header is None:
        raise DraftError("a script neither drafts nor has a draft model", "name GGUF files")
    n_draft, n_target = draft.header.n_vocab, target.header.n_vocab
    if abs(n_draft - n_target) > MAX_VOCAB_DIFFERENCE:
        raise DraftError(
            f"{draft.name} cannot draft for {target.name}: it has another vocabulary,"
            f" {n_draft} tokens, not {n_target}",
            "choose a smaller model of the target's family",
        )
    n_ctx = _wanted_n_ctx(config, target.header)
    beside = plan(target.header, n_ctx, config.n_batch)
    check_fits(
        draft.header,
        trained_n_ctx(draft.header, n_ctx),
        config.n_batch,
        available_bytes() - beside.total_bytes + beside.process_bytes,
    )
    return draft.path
