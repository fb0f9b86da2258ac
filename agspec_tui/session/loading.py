"""From the settings to what the engine is asked to load, checked before anything is started."""

from pathlib import Path

import msgspec

from agspec_tui.commands import ConfigureDrafting, LoadModel
from agspec_tui.config import Config
from agspec_tui.drafting.choose import MODEL_NAMES, default_policy, require_drafter
from agspec_tui.drafting.corpus_file import read_header
from agspec_tui.engine.choose_drafter import MAX_VOCAB_DIFFERENCE
from agspec_tui.engine.devices import choose, names_of, servers_of
from agspec_tui.errors import DraftError, EngineError
from agspec_tui.models.gguf import GgufHeader
from agspec_tui.models.memory import available_bytes
from agspec_tui.models.needs import Wanted
from agspec_tui.models.plan import MemoryPlan, Room, check_fits, plan, trained_n_ctx
from agspec_tui.models.resolve import resolve
from agspec_tui.policy.choose import make_policy
from agspec_tui.session.devices import found_devices


def plan_load(config: Config, there: Room | None = None, n_at_once: int = 1) -> LoadModel:
    """The model of the settings, with a context that it was trained for and that fits.

    A context that does not fit is refused here, since the kernel would kill the engine over it.

    Args:
        config: the settings.
        there: memory that may be taken; by default what is free now.
        n_at_once: sequences that are decoded at once, where they are more than a session has.

    Raises:
        ModelError: the model is unknown, missing or damaged, or does not fit.
        UsageError: the context or the batch is too small.
    """
    model = resolve(config.model)
    n_roles = Wanted(n_ctx=config.n_ctx).n_seq_max
    n_seq_max = max(n_roles + config.candidates - 1, n_at_once)
    n_ctx, n_gpu_layers = config.n_ctx, config.n_gpu_layers
    if model.header is not None:
        n_ctx = wanted_n_ctx(config, model.header)
        made = check_fits(model.header, wanted(config, n_ctx, n_seq_max), there or room(config))
        n_gpu_layers = made.n_gpu_layers
    return LoadModel(
        path=model.path,
        name=model.name,
        n_ctx=n_ctx,
        n_batch=config.n_batch,
        n_threads=config.n_threads,
        n_threads_batch=config.n_threads_batch,
        n_gpu_layers=n_gpu_layers,
        devices=names_of(config.device),
        split=config.split,
        rpc=servers_of(config.rpc),
        exact=config.exact,
        packed_weights=config.packed_weights,
        own_kernels=config.own_kernels,
        flash_attention=config.flash_attention,
        cache_type_k=config.cache_type_k,
        cache_type_v=config.cache_type_v,
        n_snapshots=config.n_snapshots,
        n_seq_max=n_seq_max,
    )


def wanted(config: Config, n_ctx: int, n_seq_max: int = 4) -> Wanted:
    """What the settings want of memory, with a context of `n_ctx` tokens for so many sequences."""
    return Wanted(
        n_ctx=n_ctx,
        n_batch=config.n_batch,
        type_k=config.cache_type_k,
        type_v=config.cache_type_v,
        flash_attention=config.flash_attention,
        n_gpu_layers=config.n_gpu_layers,
        n_snapshots=config.n_snapshots,
        n_seq_max=n_seq_max,
    )


def room(config: Config) -> Room:
    """The memory that is free here, and on the devices that the settings name.

    Raises:
        EngineError: a device is unknown, or RPC servers cannot be used.
        UsageError: an address makes no sense.
    """
    known = found_devices(servers_of(config.rpc))
    chosen = choose(known, names_of(config.device), config.split) if known else []
    if config.device and not known and config.device.upper() != "CPU":
        raise EngineError(f"there is no device {config.device}", "known here: CPU")
    return Room(host=available_bytes(), devices=tuple(chosen))


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
        resume=config.resume,
        global_corpus=config.global_corpus,
        draft_model=_draft_model(config) if config.drafter in MODEL_NAMES else "",
    )
    make_policy(drafting)
    if drafting.global_corpus:
        read_header(Path(drafting.global_corpus))
    return drafting


def wanted_n_ctx(config: Config, header: GgufHeader) -> int:
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
    n_ctx = wanted_n_ctx(config, target.header)
    there = room(config)
    beside = plan(target.header, wanted(config, n_ctx), there)
    left = _left(there, beside)
    check_fits(draft.header, wanted(config, trained_n_ctx(draft.header, n_ctx)), left)
    return draft.path


def _left(there: Room, taken: MemoryPlan) -> Room:
    """What a plan leaves of a room; the process is there once."""
    n_taken = taken.devices.total
    devices = []
    for device in there.devices:
        n = min(n_taken, device.free_bytes)
        n_taken -= n
        devices.append(msgspec.structs.replace(device, free_bytes=device.free_bytes - n))
    host = there.host - taken.total_bytes + taken.process_bytes
    return Room(host=host, devices=tuple(devices))
