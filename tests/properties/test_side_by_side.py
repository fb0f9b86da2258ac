import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.policy.choose import make_policy
from agspec_tui.policy.cost import shipped
from agspec_tui.policy.sharing import share
from agspec_tui.policy.types import Ask, Evidence
from agspec_tui.replay.oracle import Oracle, SharedOracle
from agspec_tui.replay.shared_pass import first_passes, paid
from agspec_tui.replay.side_by_side import walk_together
from agspec_tui.replay.steps import walk_policy
from agspec_tui.replay.walk import CallPositions, SessionPositions
from tests.properties.test_policy import COSTS
from tests.reference.side_by_side import cost_of, passes_of, shares_of, walk

DRAFTED = st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=9), max_size=12)
POSITION = st.tuples(
    st.integers(0, 40), st.integers(0, 3), st.integers(0, 3), st.integers(0, 50), st.integers(0, 50)
)
CALL = st.tuples(st.sampled_from(["coder", "planner"]), st.lists(POSITION, min_size=1, max_size=25))
CALLS = st.lists(CALL, min_size=1, max_size=7)
SOURCES = ["", "session", "workspace", "global"]


def walked(calls) -> SessionPositions:
    """Positions of calls: match, corpus, occurrences, tokens of the longest draft, right ones."""
    out = SessionPositions("s", "source", "task", "agspec-sam", sources=SOURCES)
    for turn, (role, positions) in enumerate(calls, 1):
        left = range(len(positions) - 1, -1, -1)
        n_draft = [min(p[3], n) if p[0] else 0 for p, n in zip(positions, left, strict=True)]
        reusable = [min(p[4], n) for p, n in zip(positions, n_draft, strict=True)]
        columns = [np.array(column, np.int32) for column in zip(*positions, strict=True)]
        out.calls.append(
            CallPositions(
                role=role,
                turn=turn,
                max_tokens=len(positions),
                match_len=columns[0],
                source=columns[1].astype(np.uint8),
                n_seen=columns[2],
                n_group=columns[2],
                n_draft=np.array(n_draft, np.int32),
                reusable=np.array(reusable, np.int32),
                draft_us=np.ones(len(positions), np.float32),
            )
        )
    return out


def listed(positions: SessionPositions):
    """The same as plain lists."""
    return [
        (
            call.role,
            [
                (Evidence(m, SOURCES[source], seen, group), n_draft, reusable)
                for m, source, seen, group, n_draft, reusable in zip(
                    *(
                        column.tolist()
                        for column in (
                            call.match_len,
                            call.source,
                            call.n_seen,
                            call.n_group,
                            call.n_draft,
                            call.reusable,
                        )
                    ),
                    strict=True,
                )
            ],
        )
        for call in positions.calls
    ]


def pairs(steps):
    return [list(zip(each.n_drafted, each.n_accepted, strict=True)) for each in steps]


@given(DRAFTED, st.integers(1, 6), COSTS)
def test_calls_pay_together_what_their_passes_cost_and_each_its_part(drafted, batch, cost):
    passes = passes_of(drafted, batch)
    found = paid([np.array(each, np.int32) for each in drafted], batch, cost)
    assert sum(found) == pytest.approx(cost_of(passes, cost.at))
    assert found == pytest.approx(shares_of(passes, cost.at, len(drafted)))


@given(DRAFTED, st.integers(1, 6))
def test_calls_begin_in_order_as_soon_as_a_place_is_free(drafted, batch):
    passes = passes_of(drafted, batch)
    begun = [
        next(number for number, each in enumerate(passes) if call in dict(each))
        for call in range(len(drafted))
    ]
    assert first_passes([len(each) for each in drafted], batch) == begun


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), COSTS)
def test_a_call_alone_pays_every_pass(drafted, cost):
    found = paid([np.array(drafted, np.int32)], 1, cost)
    assert found == pytest.approx([sum(cost.at(1 + d) for d in drafted)])


@settings(max_examples=25, deadline=None)
@given(CALLS, st.integers(1, 5), COSTS, st.sampled_from(["goodput", "fixed", "agspec"]))
def test_calls_are_walked_as_by_hand(calls, batch, cost, name):
    positions = walked(calls)
    walking, by_hand = (make_policy(ConfigureDrafting(policy=name), cost) for _ in range(2))
    if name == "agspec":  # it would learn, which the twin does not let it
        walking.observe = by_hand.observe = lambda *told: None

    def decide(asked):
        return [budget.k for budget in share(by_hand, [Ask(*each) for each in asked], 10_000)]

    found = walk_together([positions], [walking], batch)
    assert pairs(found) == walk(listed(positions), batch, decide)
    assert [each.n_tokens for each in found] == [len(call[1]) for call in calls]
    assert all(len(each.draft_us) == each.n_steps for each in found)


@settings(max_examples=25, deadline=None)
@given(CALLS, COSTS, st.sampled_from(["goodput", "survival", "agspec"]))
def test_one_call_at_a_time_is_a_walk_over_the_session(calls, cost, name):
    first, second = (make_policy(ConfigureDrafting(policy=name), cost) for _ in range(2))
    positions = walked(calls)
    together = walk_together([positions], [first], 1)
    assert pairs(together) == pairs(walk_policy(positions, second))


@settings(max_examples=25, deadline=None)
@given(CALLS, st.integers(1, 5), COSTS)
def test_the_oracle_is_never_wrong_and_drafts_all_it_can_where_time_is_dear(calls, batch, cost):
    positions = walked(calls)
    steps = walk_together([positions], [SharedOracle(cost, 1e9)], batch)
    assert all(d == a for each in pairs(steps) for d, a in each)
    assert pairs(steps) == pairs(walk_policy(positions, Oracle()))
    nothing = walk_together([positions], [SharedOracle(shipped("cpu"), 0.0)], batch)
    assert all(each.n_steps == each.n_tokens for each in nothing)
