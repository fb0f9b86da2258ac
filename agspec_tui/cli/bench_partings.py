"""`agspec-tui bench`: why replies of two methods differ, where they do."""

from collections.abc import Iterator, Sequence
from contextlib import closing

from agspec_tui.commands import LoadModel
from agspec_tui.engine.near_tie import compare, first_parting, ways_of
from agspec_tui.engine.prompt import PromptBuilder
from agspec_tui.engine.types import Backend
from agspec_tui.session.bench import Run, said_before
from agspec_tui.session.bench_report import Parting


def partings_of(load: LoadModel, runs: Sequence[Run], batch: int = 1) -> tuple[Parting, ...]:
    """Where replies part from those of `none`, each with what it is put down to.

    The model is loaded once more, in this process; nothing else of it may be in memory.

    Args:
        load: the model.
        runs: what was decoded.
        batch: how many prompts were decoded at once.

    Raises:
        EngineError: the model cannot be loaded.
    """
    found = list(_pairs(runs))
    if not found:
        return ()
    from agspec_tui.engine.llama import LlamaBackend

    with closing(LlamaBackend(load)) as backend:
        return tuple(_parting(backend, plain, run, batch) for plain, run in found)


def _pairs(runs: Sequence[Run]) -> Iterator[tuple[Run, Run]]:
    """Runs whose token ids are not those of `none`, with the run of `none` in the same round."""
    plain = [run for run in runs if run.method == "none"]
    for method in dict.fromkeys(run.method for run in runs):
        mine = (run for run in runs if run.method == method)
        for one, other in zip(plain, mine, strict=False):
            if one.ids != other.ids:
                yield one, other


def _parting(backend: Backend, plain: Run, run: Run, batch: int) -> Parting:
    """The first difference of two runs, which have the same prompt up to there."""
    turn = next(i for i, (a, b) in enumerate(zip(plain.ids, run.ids, strict=True)) if a != b)
    replies = plain.turns[turn], run.turns[turn]
    position = first_parting(replies[0].ids, replies[1].ids) or 0
    pieces = PromptBuilder(backend).pieces("bench", said_before(plain.prompt, plain.turns[:turn]))
    ids = [token for piece in pieces for token in piece.ids]
    tie = None
    if all(position < len(reply.ids) or reply.stop_reason == "eog" for reply in replies):
        one, other = (r.ids[position] if position < len(r.ids) else None for r in replies)
        text = [*ids, *replies[0].ids[:position]]
        tie = compare(backend, text, one, other, ways_of(backend, batch))
    return Parting(
        method=run.method,
        kind=run.prompt.kind,
        prompt=run.prompt.name,
        turn=turn + 1,
        position=position,
        gap=tie.gap if tie else None,
        rounding=tie.rounding if tie else None,
        near_tie=tie is not None and tie.is_proven,
    )
