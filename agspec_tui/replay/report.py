"""The document of a replay: rows of measures, made of tallies."""

from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec

from agspec_tui.replay.tally import (
    ALL,
    TURNS,
    Floats,
    Key,
    PassCost,
    Tallies,
    Tally,
    merge,
    pass_times,
)

SCHEMA = 1
MEAN = "mean"
"""`source` of the rows that stand for all sources: counts are sums, speed-ups unweighted means."""
ORACLE = "oracle"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Measures of a drafter under a policy, for a source, a role, a turn and a cost."""

    drafter: str
    """Name of the drafter."""
    policy: str
    """Name of the policy."""
    source: str
    """Stem of the trace file, or `mean` for all of them."""
    role: str
    """A role, or `all`."""
    turn: str
    """A turn or a range of turns, or `all`; the number of a call among its role's calls."""
    cost: str
    """Name of the cost that passes are timed with."""
    n_tokens: int
    """Tokens of the recorded outputs."""
    n_steps: int
    """Target passes."""
    n_drafted: int
    """ΣD, tokens drafted."""
    n_accepted: int
    """ΣA, tokens accepted."""
    accept_length: float
    """Mean of A + 1 over steps; 1.0 is plain decoding."""
    rejected_per_step: float
    """Mean of D − A over steps."""
    accept_rate: float
    """ΣA / ΣD; 0 where nothing was drafted."""
    draft_us_p50: float
    """Median time to match and draft, in µs."""
    draft_us_p99: float
    """99th percentile of it, in µs."""
    speedup: float
    """Modelled speed-up over plain decoding: n_tokens / pass_cost, of a batch plain_cost /
    pass_cost; in a row for all sources the unweighted mean over them."""
    share_of_oracle: float | None
    """Speed-up as a share of that of the oracle, K = R, on this drafter's drafts; where a drafter
    has no oracle, on those of the default drafter; null without either."""
    pass_cost: float
    """ΣT(1 + D) / T(1) over steps; of a batch what is paid of its passes, ΣT(b + ΣD) / T(1)."""
    plain_cost: float | None = None
    """The same for plain decoding of a batch; null for one sequence, where it is n_tokens."""


class Default(msgspec.Struct, frozen=True):
    """What agspec-tui drafts with unless it is told otherwise."""

    drafter: str
    """Name of the drafter."""
    policy: str
    """Name of the policy."""


class Skip(msgspec.Struct, frozen=True):
    """Something that was left out."""

    what: str
    """Name of it: a file, a line, a session, a call."""
    reason: str
    """Why, in a few words."""
    n: int = 1
    """How many."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `replay --json` writes."""

    schema: int = SCHEMA
    """Raised when a field is renamed."""
    model: str
    """Model whose tokenizer was used."""
    traces: tuple[str, ...]
    """Sources, by the stems of their files."""
    costs: tuple[str, ...]
    """Names of the costs that passes are timed with."""
    default: Default
    """Drafter and policy that are used unless told otherwise."""
    rows: tuple[Row, ...]
    """Measures; those with role and turn `all` are always there."""
    options: dict[str, object] = {}
    """What was replayed: corpora, views, batch, split, sessions."""
    pass_costs: dict[str, tuple[float, ...]] = {}
    """For each cost T(n)/T(1) at n = 1…65."""
    labels: dict[str, str] = {}
    """What must be said of a drafter beside its name."""
    n_sessions: dict[str, int] = {}
    """Sessions of each source."""
    n_calls: dict[str, int] = {}
    """Calls of each source."""
    n_prompt_tokens: int = 0
    """Tokens of prompts that were indexed, each once."""
    skips: tuple[Skip, ...] = ()
    """What was left out, and why."""
    seconds: float = 0.0
    """Wall-clock time of the run."""


def make_rows(
    tallies: Tallies, costs: Mapping[str, PassCost], default_drafter: str
) -> tuple[Row, ...]:
    """Rows for every tally and cost, and for all sources together.

    A tally whose policy decided by a cost is timed with that one, the others with each.

    Args:
        tallies: of sources, with sums over roles and turns among them.
        costs: what passes are timed with, by name.
        default_drafter: whose oracle is the yardstick of drafters without one.
    """
    rows: list[Row] = []
    for name, cost in costs.items():
        times = pass_times(cost)
        timed = {key: tally for key, tally in tallies.items() if key.walked in ("", name)}
        own = _with_shares(timed, name, times, default_drafter)
        rows += own + _means(timed, own, name, times)
    order = {name: place for place, name in enumerate(costs)}
    first = {key[:2]: place for place, key in reversed(list(enumerate(tallies)))}
    return tuple(
        sorted(
            rows,
            key=lambda row: (
                order[row.cost],
                first[row.drafter, row.policy],
                row.source != MEAN,
                row.source,
                row.role != ALL,
                row.role,
                _turn_place(row.turn),
            ),
        )
    )


def _turn_place(turn: str) -> int:
    return TURNS.index(turn) if turn in TURNS else -1


def _with_shares(
    tallies: Mapping[Key, Tally], cost: str, times: Floats, default_drafter: str
) -> list[Row]:
    """Rows of single sources."""
    speedups = {key: _speedup(tally, cost, times) for key, tally in tallies.items()}
    oracles = {
        (key.drafter, *key[3:]): speedup
        for key, speedup in speedups.items()
        if key.policy == ORACLE
    }
    rows = []
    for key, tally in tallies.items():
        oracle = oracles.get((key.drafter, *key[3:]), oracles.get((default_drafter, *key[3:])))
        share = speedups[key] / oracle if oracle else None
        rows.append(_row(key, tally, cost, times, speedups[key], share))
    return rows


def _means(
    tallies: Mapping[Key, Tally], rows: Sequence[Row], cost: str, times: Floats
) -> list[Row]:
    """Rows for all sources together, each source with the same weight."""
    sums: Tallies = {}
    for key, tally in tallies.items():
        merge(sums, {key._replace(source=MEAN): tally})
    of: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        of.setdefault((row.drafter, row.policy, row.role, row.turn), []).append(row)
    means = []
    for key, tally in sums.items():
        members = of[key.drafter, key.policy, key.role, key.turn]
        shares = [row.share_of_oracle for row in members if row.share_of_oracle is not None]
        speedup = fmean(row.speedup for row in members)
        means.append(_row(key, tally, cost, times, speedup, fmean(shares) if shares else None))
    return means


def _speedup(tally: Tally, cost: str, times: Floats) -> float:
    """Modelled speed-up over plain decoding, of one sequence or of a batch; 1.0 without a step."""
    shared = tally.shared.get(cost)
    if shared is None:
        return tally.speedup(times)
    return shared.plain / shared.spent


def _row(
    key: Key, tally: Tally, cost: str, times: Floats, speedup: float, share: float | None
) -> Row:
    shared = tally.shared.get(cost)
    return Row(
        drafter=key.drafter,
        policy=key.policy,
        source=key.source,
        role=key.role,
        turn=key.turn,
        cost=cost,
        n_tokens=tally.n_tokens,
        n_steps=tally.n_steps,
        n_drafted=tally.n_drafted,
        n_accepted=tally.n_accepted,
        accept_length=tally.accept_length,
        rejected_per_step=tally.rejected_per_step,
        accept_rate=tally.accept_rate,
        draft_us_p50=tally.draft_us(0.5),
        draft_us_p99=tally.draft_us(0.99),
        speedup=speedup,
        share_of_oracle=share,
        pass_cost=tally.pass_cost(times) if shared is None else shared.spent,
        plain_cost=None if shared is None else shared.plain,
    )
