"""The report of `bench`: runs summed by method and kind."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from agspec_tui.events import ModelLoaded
from agspec_tui.session.bench import Run


class BenchRow(msgspec.Struct, frozen=True):
    """One row of the report: a method over the prompts of a kind."""

    method: str
    """The method's name."""
    kind: str
    """Kind of the prompts; `all` is the whole set."""
    n_tokens: int
    """Tokens generated."""
    tok_per_s: float
    """Decoding rate, prefill left out; of prompts decoded at once, that of all together."""
    speedup: float | None
    """Rate over that of `none` in the same run; None if `none` was not run."""
    accept_length: float
    """Tokens per target pass, Σ(A + 1)/steps; 1.0 is plain decoding."""
    rejected_per_step: float
    """(ΣD − ΣA)/steps."""
    ids_equal: bool | None
    """Whether every token id equals that of `none`; None if `none` was not run."""
    share_of_oracle: float | None
    """The speed-up over that of the oracle, which drafts what will be accepted of each proposal,
    each reply weighed by its time; None where that is not known: of several prompts at once, of
    drafters whose proposals depend on their earlier ones."""


class Parting(msgspec.Struct, frozen=True):
    """Where the replies to a prompt part from those of `none`."""

    method: str
    """The method's name."""
    kind: str
    """Kind of the prompt."""
    prompt: str
    """The prompt."""
    turn: int
    """Turn, from 1."""
    position: int
    """Tokens of the reply before it."""
    gap: float | None
    """Difference of the logits of both tokens; None if a reply just broke off."""
    rounding: float | None
    """Largest difference of a logit there between the smallest and the largest passes that such
    replies have; 0 where they are exact to the bit."""
    near_tie: bool
    """Whether rounding alone may have swapped them: gap ≤ 2·rounding, or so small that the order of
    cells in the cache does it."""


class BenchReport(msgspec.Struct, frozen=True):
    """The JSON document of `bench`."""

    schema: int
    """Version of this document's shape."""
    model: str
    """The model."""
    device: str
    """What it ran on."""
    threads: int
    """Threads used for decoding."""
    n_exact: int
    """Most tokens in one decode that are exact to the bit, as probed at load."""
    batch: int
    """Prompts that were decoded at once."""
    rows: tuple[BenchRow, ...]
    """A row a method and kind, `all` last; of mixed prompts decoded at once only `all`."""
    partings: tuple[Parting, ...]
    """What keeps `ids_equal` from being true."""


def make_report(
    loaded: ModelLoaded,
    runs: Sequence[Run],
    shares: Mapping[int, float],
    partings: Sequence[Parting] = (),
    batch: int = 1,
) -> BenchReport:
    """Sum the runs by method and kind.

    Args:
        loaded: the model.
        runs: what was decoded.
        shares: by request, the time of the oracle over that of its own draft lengths.
        partings: where replies part from those of `none`.
        batch: prompts that were decoded at once.
    """
    return BenchReport(
        schema=1,
        model=loaded.model,
        device=loaded.device,
        threads=loaded.n_threads,
        n_exact=loaded.n_exact,
        batch=batch,
        rows=tuple(_rows(runs, shares, batch)),
        partings=tuple(partings),
    )


def _rows(runs: Sequence[Run], shares: Mapping[int, float], batch: int) -> Iterator[BenchRow]:
    kinds = list(dict.fromkeys(run.prompt.kind for run in runs))
    if batch > 1 and len(kinds) > 1:
        kinds = []  # the wall time of mixed prompts belongs to no kind
    for kind in (*kinds, "all"):
        of_kind = [run for run in runs if kind in (run.prompt.kind, "all")]
        plain = [run for run in of_kind if run.method == "none"]
        for method in dict.fromkeys(run.method for run in runs):
            mine = [run for run in of_kind if run.method == method]
            yield _row(method, kind, mine, plain, shares)


def _row(
    method: str, kind: str, mine: Sequence[Run], plain: Sequence[Run], shares: Mapping[int, float]
) -> BenchRow:
    turns = [turn for run in mine for turn in run.turns]
    n_steps = max(1, sum(turn.n_steps for turn in turns))
    n_accepted = sum(turn.n_accepted for turn in turns)
    n_rejected = sum(turn.n_drafted for turn in turns) - n_accepted
    n_tokens = sum(turn.n_tokens for turn in turns)
    rate = _rate(mine)
    speedup = rate / _rate(plain) if plain else None
    share = None
    if all(turn.request in shares for turn in turns):
        seconds = sum(turn.decode_s for turn in turns)
        share = sum(turn.decode_s * shares[turn.request] for turn in turns) / (seconds or 1.0)
    return BenchRow(
        method=method,
        kind=kind,
        n_tokens=n_tokens,
        tok_per_s=rate,
        speedup=speedup,
        accept_length=1 + n_accepted / n_steps,
        rejected_per_step=n_rejected / n_steps,
        ids_equal=[run.ids for run in mine] == [run.ids for run in plain] if plain else None,
        share_of_oracle=share,
    )


def _rate(runs: Sequence[Run]) -> float:
    seconds = sum(run.decode_s for run in runs)
    return sum(run.n_tokens for run in runs) / seconds if seconds else 0.0
