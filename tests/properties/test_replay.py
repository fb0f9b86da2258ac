import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.drafting.choose import NAMES, make_drafter
from agspec_tui.replay.read import read_sessions
from agspec_tui.replay.steps import CallSteps, walk_policy, walk_steps
from agspec_tui.replay.tokens import TokenisedSession
from agspec_tui.replay.walk import walk_session
from tests.reference.naive_drafter import NaiveDrafter
from tests.reference.replay import Step, replay
from tests.replay.policies import Whim
from tests.replay.words import Words

STEADY = [name for name in NAMES if make_drafter(name).steady]

phrases = st.sampled_from(["a b c d", "b c", "x = f(x)", "d a b c", "c", "q r s t u v w"])
texts = st.lists(phrases, max_size=14).map("\n".join)
messages = st.builds(lambda text: {"role": "user", "content": text}, texts)
calls = st.fixed_dictionaries(
    {
        "prompt": st.lists(messages, max_size=2),
        "output": texts,
        "role": st.sampled_from(["coder", "agent"]),
        "agent_id": st.sampled_from(["one", "two"]),
        "ctx": st.sampled_from(["append", "append", "new"]),
    }
)
sessions = st.lists(calls, min_size=1, max_size=5).map(
    lambda made: {"session_id": "s", "calls": [*made, {"prompt": [], "output": "a b c d a b"}]}
)


def tokenised(session: dict[str, object]) -> TokenisedSession:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        path.write_text(json.dumps(session) + "\n")
        [found] = read_sessions([path], Words())
    return found


def steps_of(found: list[CallSteps], session: dict[str, object]) -> list[Step]:
    numbers = [n for n, call in enumerate(session["calls"]) if call["output"]]
    return [
        Step(number, i, d, a)
        for number, call in zip(numbers, found, strict=True)
        for i, d, a in zip(call.positions, call.n_drafted, call.n_accepted, strict=True)
    ]


def words(text: str) -> list[int]:
    return Words().tokenize(text, special=False).tolist()


@pytest.mark.parametrize("name", STEADY)
@settings(max_examples=25)
@given(session=sessions, seed=st.integers(0, 2**31), resume=st.booleans())
def test_walking_over_positions_equals_asking_at_every_step(name, session, seed, resume):
    asked, walked = Whim(seed), Whim(seed)
    found = tokenised(session)

    def make():
        return make_drafter(name, resume=resume)

    by_step = list(walk_steps(found, make, asked))
    over = list(walk_policy(walk_session(found, make), walked))
    assert steps_of(by_step, session) == steps_of(over, session)
    assert asked.told == walked.told


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(session=sessions, seed=st.integers(0, 2**31))
def test_steps_equal_a_replay_by_hand(name, session, seed):
    by_hand, policy = Whim(seed), Whim(seed)
    expected = replay(session, words, make_drafter(name), by_hand)
    found = list(walk_steps(tokenised(session), lambda: make_drafter(name), policy))
    assert steps_of(found, session) == expected
    assert policy.told == by_hand.told


@settings(max_examples=50)
@given(session=sessions, seed=st.integers(0, 2**31))
def test_a_recording_walks_as_plain_lists_do(session, seed):
    by_hand, policy = Whim(seed), Whim(seed)
    expected = replay(session, words, NaiveDrafter(), by_hand)
    walk = walk_session(tokenised(session), NaiveDrafter)
    assert steps_of(list(walk_policy(walk, policy)), session) == expected
    assert policy.told == by_hand.told
