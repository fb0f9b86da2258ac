"""A whole replay: read, tokenise, draft, decide, and report."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from agspec_tui.config import Config, tokens_dir
from agspec_tui.drafting.choose import LABELS, default_policy
from agspec_tui.errors import DraftError, UsageError
from agspec_tui.policy.choose import NAMES
from agspec_tui.policy.cost import K_MAX, Cost, read_cost, shipped
from agspec_tui.policy.cost import NAMES as SHAPES
from agspec_tui.policy.profile import Profile, require_vocabulary
from agspec_tui.replay.batches import Drafts, Profiles, charge, decide_together, place_of, together
from agspec_tui.replay.halves import build_halves
from agspec_tui.replay.plan import ReplayPlan
from agspec_tui.replay.processes import map_unordered
from agspec_tui.replay.read import Entry, ReadReport, load, prepare
from agspec_tui.replay.report import ORACLE, Default, Report, Skip, make_rows
from agspec_tui.replay.session_replay import (
    WITH_STATIC,
    Replayed,
    Setup,
    decide_session,
    draft_session,
)
from agspec_tui.replay.tally import Tallies, merge, total
from agspec_tui.replay.token_cache import TokenCache
from agspec_tui.replay.tokens import Tokenizer, half_of

Stage = Literal["reading", "drafting", "deciding", "sharing"]
Progress = Callable[[Stage, float, int], None]
POLICY_NAMES = (*NAMES, ORACLE)
"""Policies that can be replayed."""
_MOST_GLOBAL = 2_000_000
_TABLE = 65


def parse_costs(names: str, batch: int = 1) -> dict[str, Cost]:
    """Costs of a list with commas, each the name of a shape or a file of `calibrate`.

    Args:
        names: the list.
        batch: sequences that share a pass.

    Raises:
        UsageError: there is no such shape or file, it cannot be read, or what was measured ends
            before the passes of such a batch.
    """
    costs: dict[str, Cost] = {}
    for name in filter(None, (part.strip() for part in names.split(","))):
        try:
            cost = shipped(name) if name in SHAPES else _from_file(name, batch)
            costs[cost.name] = cost
        except DraftError as error:
            raise UsageError(error.message, error.hint) from error
    if not costs:
        raise UsageError("no cost is named", f"choose of {', '.join(SHAPES)}, or name a file")
    return costs


def _from_file(name: str, batch: int) -> Cost:
    path = Path(name)
    if not path.exists():
        raise DraftError(f"unknown cost {name!r}", f"choose of {', '.join(SHAPES)}, or name a file")
    cost = read_cost(path)
    n_last = cost.points[-1][0]
    if n_last < min(K_MAX, 2 * batch):
        raise DraftError(
            f"{path} ends at passes over {n_last} tokens, too few for {batch} sequences at once",
            "measure more: agspec-tui calibrate --json FILE",
        )
    return cost


@dataclass
class _Run:
    """What is gathered on the way."""

    entries: list[Entry] = field(default_factory=list)
    """Sessions that are replayed, the largest first."""
    read: ReadReport = field(default_factory=ReadReport)
    """What was read and what not."""
    tallies: Tallies = field(default_factory=dict)
    """Counts of all steps."""
    drafts: Drafts = field(default_factory=dict)
    """Of a batch: what was drafted in each call."""
    profiles: dict[tuple[str, int], Profile] = field(default_factory=dict)
    """By drafter and half: counts of the sessions of that half."""
    skips: list[Skip] = field(default_factory=list)
    """What was left out beside what could not be read."""
    n_refused: int = 0
    """Files that the workspace corpus had no room for."""


def replay_traces(
    traces: Iterable[Path],
    model: str,
    tokenizer: Tokenizer,
    plan: ReplayPlan,
    costs: Mapping[str, Cost],
    *,
    share: float = 0.0,
    profile: Profile | None = None,
    n_processes: int = 1,
    progress: Progress = lambda stage, done, n_left: None,
) -> Report:
    """Replay recorded sessions.

    Args:
        traces: trace files, or folders of them.
        model: name of the model in the report.
        tokenizer: its tokenizer, which is all that is needed of it.
        plan: what is replayed.
        costs: what passes cost, by name.
        share: sessions of each source: a number, or a share below 1; 0 for all.
        profile: what policies start from instead of the other half's counts.
        n_processes: processes to work with.
        progress: called with the stage, the share of it that is done and the sessions left.

    Raises:
        UsageError: there is no session, or something cannot be read or written.
        EngineError: a process died.
        DraftError: the profile was made for another vocabulary.
    """
    if profile is not None:
        require_vocabulary(profile, tokenizer.fingerprint().hex())
    begun = time.monotonic()
    run = _Run()
    tokens = tokens_dir()
    with tempfile.TemporaryDirectory(prefix="agspec-replay-") as folder:
        _read(run, prepare(traces, tokenizer, TokenCache(tokens), report=run.read), progress)
        run.entries = subset(run.entries, share)
        setup = Setup(plan, costs, tokens, Path(folder))
        if plan.global_corpus or WITH_STATIC & set(plan.drafters):
            setup = _with_statics(setup, run, tokenizer)
        _draft(run, setup, n_processes, progress)
        profiles = _profiles(run, setup, profile)
        _decide(run, setup, profiles, n_processes, progress)
        _share(run, setup, profiles, n_processes, progress)
    charge(run.tallies, run.drafts, costs, plan.batch)
    return _report(run, plan, costs, model, share, begun)


def subset(entries: Sequence[Entry], share: float) -> list[Entry]:
    """The sessions that are replayed, the largest first.

    Of each source those with the lowest keys are taken, which are hashes: no choice by hand.
    """
    by_source: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.key):
        by_source.setdefault(entry.source, []).append(entry)
    kept: list[Entry] = []
    for members in by_source.values():
        n = len(members) if not share else round(share * len(members)) if share < 1 else int(share)
        kept += members[: max(1, n)]
    return sorted(kept, key=lambda entry: (-_size(entry), entry.key))


def _read(run: _Run, found: Iterable[Entry], progress: Progress) -> None:
    for entry in found:
        run.entries.append(entry)
        progress("reading", 0.0, len(run.entries))


def _with_statics(setup: Setup, run: _Run, tokenizer: Tokenizer) -> Setup:
    """Two global corpora, each of one half of the tasks for the sessions of the other."""
    cache = TokenCache(setup.tokens)
    in_order = sorted(run.entries, key=lambda entry: (entry.source, entry.session_id))
    sessions = (load(cache, entry) for entry in in_order)
    corpora = build_halves(sessions, setup.folder, tokenizer, _MOST_GLOBAL)
    for half, n_left_out in enumerate(corpora.n_left_out):
        if n_left_out:
            run.skips.append(
                Skip(f"global corpus, half {half}", "messages without room", n_left_out)
            )
    return replace(setup, corpora=corpora)


def _draft(run: _Run, setup: Setup, n_processes: int, progress: Progress) -> None:
    work = partial(draft_session, setup)
    for entry, done in _worked(run, work, n_processes, "drafting", progress):
        _keep(run, entry, done)
        run.n_refused += done.n_refused
        for drafter, profile in done.profiles.items():
            run.profiles.setdefault((drafter, half_of(entry.task)), Profile()).merge(profile)


def _profiles(run: _Run, setup: Setup, given: Profile | None) -> Profiles:
    """By drafter and half: what policies start from in a session of this half."""
    profiles: dict[tuple[str, int], Profile] = {}
    for drafter, half in run.profiles:
        if given is not None:
            profiles[drafter, half] = given
        elif setup.plan.split and (drafter, 1 - half) in run.profiles:
            profiles[drafter, half] = run.profiles[drafter, 1 - half]
        elif setup.plan.split:
            why = "no session of the other half of the tasks; the shipped one decides"
            run.skips.append(Skip(f"profile of {drafter}, half {half}", why))
    return profiles


def _decide(
    run: _Run, setup: Setup, profiles: Profiles, n_processes: int, progress: Progress
) -> None:
    plan = setup.plan
    if any(each.needs_profile and not plan.is_shared(each) for each in plan.policies):
        work = partial(decide_session, setup, profiles)
        for entry, done in _worked(run, work, n_processes, "deciding", progress):
            _keep(run, entry, done)


def _share(
    run: _Run, setup: Setup, profiles: Profiles, n_processes: int, progress: Progress
) -> None:
    """Walk the calls of each source side by side."""
    items = together(setup, run.entries)
    if not items:
        return
    work = partial(decide_together, setup, profiles)
    progress("sharing", 0.0, len(run.entries))
    for n_done, (place, done) in enumerate(map_unordered(work, items, n_processes), 1):
        progress("sharing", n_done / len(items), len(run.entries))
        for entry, each in zip(items[place].entries, done, strict=True):
            _keep(run, entry, each)


def _keep(run: _Run, entry: Entry, done: Replayed) -> None:
    merge(run.tallies, done.tallies)
    for call in done.drafts:
        run.drafts.setdefault(call.key[:4], {}).setdefault(place_of(entry), []).append(call)


def _worked(
    run: _Run,
    work: Callable[[Entry], Replayed],
    n_processes: int,
    stage: Stage,
    progress: Progress,
) -> Iterator[tuple[Entry, Replayed]]:
    """Every session with what came of it, as it is ready."""
    n_all = sum(_size(entry) for entry in run.entries)
    n_done = 0
    n_left = len(run.entries)
    progress(stage, 0.0, n_left)
    for place, done in map_unordered(work, run.entries, n_processes):
        entry = run.entries[place]
        n_done, n_left = n_done + _size(entry), n_left - 1
        progress(stage, n_done / n_all, n_left)
        yield entry, done


def _size(entry: Entry) -> int:
    """How long a session takes, about: an output token costs a step, a prompt token is indexed."""
    return 1 + entry.n_prompt + 10 * entry.n_output


def _report(
    run: _Run, plan: ReplayPlan, costs: Mapping[str, Cost], model: str, share: float, begun: float
) -> Report:
    config = Config()
    policy = default_policy(config.drafter) if config.policy == "auto" else config.policy
    counted = total(_in_order(run.tallies, plan), "role" in plan.by, "turn" in plan.by)
    sources = sorted({entry.source for entry in run.entries})
    return Report(
        model=model,
        traces=tuple(sources),
        costs=tuple(costs),
        default=Default(config.drafter, policy),
        rows=make_rows(counted, costs, config.drafter),
        options={
            "session": plan.session,
            "workspace": plan.workspace,
            "global": plan.global_corpus,
            "views": plan.views,
            "resume": plan.resume,
            "batch": plan.batch,
            "split_by": "task" if _is_split(plan) else "",
            "sessions": share,
        },
        pass_costs={
            name: tuple(round(cost.at(n), 6) for n in range(1, _TABLE + 1))
            for name, cost in costs.items()
        },
        labels={name: LABELS[name] for name in plan.drafters if name in LABELS},
        n_sessions=dict(Counter(entry.source for entry in run.entries)),
        n_calls=_calls(run, plan),
        n_prompt_tokens=sum(entry.n_prompt for entry in run.entries),
        skips=(*_unread(run.read), *run.skips, *_refused(run)),
        seconds=round(time.monotonic() - begun, 3),
    )


def _is_split(plan: ReplayPlan) -> bool:
    """Whether anything that was learnt from sessions decided over others."""
    return plan.split and any(choice.needs_profile for choice in plan.policies)


def _in_order(tallies: Tallies, plan: ReplayPlan) -> Tallies:
    """Tallies in the order of the plan, whichever process was ready first."""
    names = [(d, choice.label) for d in plan.drafters for choice in plan.policies_of(d)]
    place = {name: number for number, name in enumerate(names)}
    keys = sorted(tallies, key=lambda key: (place[key.drafter, key.policy], key))
    return {key: tallies[key] for key in keys}


def _calls(run: _Run, plan: ReplayPlan) -> dict[str, int]:
    """Calls that wrote something, by source: all drafters and policies walk the same ones."""
    first = next(iter(_in_order(run.tallies, plan)), None)
    calls: Counter[str] = Counter()
    for key, tally in run.tallies.items():
        if first is not None and key[:3] == first[:3]:
            calls[key.source] += tally.n_calls
    return dict(calls)


def _unread(read: ReadReport) -> Iterator[Skip]:
    """What was not read, or not understood."""
    for skipped in read.skipped:
        place = f"{skipped.file}, line {skipped.line}" if skipped.line else skipped.file
        yield Skip(place, skipped.reason)
    for name in read.left_out:
        yield Skip(name, "left out of every average: it repeats itself")
    for source, n in sorted(read.n_samples_left_out.items()):
        yield Skip(f"{source}: calls", "further samples of one prompt", n)
    for name, n in sorted(read.unknown_fields.items()):
        yield Skip(f"field {name}", "unknown, ignored", n)
    for name, n in sorted(read.unknown_roles.items()):
        yield Skip(f"role {name}", "unknown; its calls are replayed under this name", n)


def _refused(run: _Run) -> Iterator[Skip]:
    if run.n_refused:
        yield Skip("shown files", "the workspace corpus had no room for them", run.n_refused)
