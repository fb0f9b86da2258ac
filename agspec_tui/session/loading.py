"""From the settings to what the engine is asked to load, checked before anything is started."""

from agspec_tui.commands import ConfigureDrafting, LoadModel
from agspec_tui.config import Config
from agspec_tui.drafting.choose import default_policy, require_drafter
from agspec_tui.models.plan import check_fits, trained_n_ctx
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
        if n_ctx == Config().n_ctx:  # the default is a wish, a chosen size is a demand
            n_ctx = trained_n_ctx(model.header, n_ctx)
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
    """Drafter and policy of the settings, checked before anything is loaded.

    Raises:
        DraftError: a name is unknown, or a value is out of its range.
    """
    drafting = ConfigureDrafting(
        drafter=config.drafter,
        policy=default_policy(config.drafter) if config.policy == "auto" else config.policy,
        fixed_k=config.fixed_k,
        cap=config.cap,
        eta=config.eta,
        break_even=config.break_even,
        min_match=config.min_match,
        global_corpus=config.global_corpus,
    )
    require_drafter(drafting.drafter)
    make_policy(drafting)
    return drafting
