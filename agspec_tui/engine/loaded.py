"""What the world is told of a model that was loaded."""

from agspec_tui.commands import LoadModel
from agspec_tui.engine.types import Backend
from agspec_tui.events import ModelLoaded


def loaded_event(
    command: LoadModel, backend: Backend, load_s: float, *, rollback: bool
) -> ModelLoaded:
    """The event of a load.

    Args:
        command: what was to be loaded.
        backend: what was.
        load_s: seconds it took.
        rollback: whether rejected tokens can be dropped.
    """
    return ModelLoaded(
        model=command.name,
        device=backend.device,
        n_ctx=backend.n_ctx,
        n_vocab=backend.n_vocab,
        n_threads=backend.n_threads,
        load_s=load_s,
        n_exact=backend.n_exact,
        rollback=rollback,
        tokenizer=backend.fingerprint().hex(),
        memory=backend.memory,
        no_rollback=backend.no_rollback,
        no_template=backend.no_template,
        servers=command.rpc,
    )
