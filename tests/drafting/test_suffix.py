import os
import random
from pathlib import Path

import numpy as np
import pytest

from agspec_tui.drafting.baselines.suffix import Suffix
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece
from tests.reference.suffix_tree import Trie

REPLY = Piece("coder: reply", (90, 91))


def drafter(*pieces, output=()):
    made = Suffix()
    made.begin("coder", [*pieces, REPLY])
    made.feed(output)
    return made


def test_a_draft_is_no_longer_than_its_match():
    made = drafter(Piece("p", tuple(range(1, 30))), output=(5, 6, 7))
    assert made.match() == Match(3, "context")
    assert made.draft(made.match(), 20) == Draft((8, 9, 10), "context", "p", 7)


def test_a_draft_ends_where_its_probability_falls_below_a_tenth():
    branches = [(1, 2, token, 50 + token) for token in range(3, 15)]
    made = drafter(Piece("p", sum(branches, ())), output=(77, 1, 2))
    assert made.match() == NO_MATCH
    assert made.draft(Match(2, "context"), 8) == NO_DRAFT


def test_prompts_of_earlier_calls_are_forgotten_and_outputs_are_not():
    made = drafter(Piece("p", (1, 2, 3, 4)), output=(20, 21, 22, 23))
    made.begin("planner", [Piece("planner: reply", (80,))])
    made.feed((1, 2))
    assert made.match() == NO_MATCH
    made.feed((20, 21))
    assert made.match() == Match(2, "outputs")
    assert made.draft(made.match(), 8) == Draft((22, 23), "outputs", "coder: reply", 4)


def test_a_tie_between_the_trees_goes_to_the_local_one():
    made = drafter(Piece("p", (1, 2, 3)), output=(20, 21, 22, 23))
    made.begin("coder", [Piece("p", (20, 21, 22, 23)), REPLY])
    made.feed((20, 21))
    assert made.match().source == "context"
    assert made.draft(made.match(), 8) == Draft((22, 23), "context", "p", 2)


def test_fewer_tokens_asked_for_are_searched_for_anew():
    made = drafter(Piece("p", (1, 2, 3, 4, 5, 6, 70, 3, 4, 50, 3, 4, 50)), output=(1, 2, 3, 4))
    long, short = made.draft(made.match(), 8), made.draft(made.match(), 1)
    assert long.ids == (5, 6, 70, 3)
    assert short.ids == (5,)
    assert made.draft(made.match(), 8) == long


def test_an_empty_prompt_is_a_context_too():
    made = Suffix()
    assert made.match() == NO_MATCH
    made.begin("coder", [Piece("p", ())])
    assert made.match() == NO_MATCH
    made.feed((1, 2, 3, 1, 2))
    assert made.draft(made.match(), 4).ids == (3, 1)


class Slow:
    """The same drafter over slow trees."""

    def __init__(self):
        self.outputs = Trie(64)
        self.n_calls = 0

    def begin(self, prompt):
        self.context = list(prompt)
        self.local = Trie(64)
        self.local.append(0, prompt)
        self.n_calls += 1

    def feed(self, ids):
        self.context += ids
        self.local.append(0, ids)
        self.outputs.append(self.n_calls, ids)

    def draft(self, k):
        local = self.local.draft(self.context[-64:], k)
        outputs = self.outputs.draft(self.context[-64:], k)
        return local if local[1] >= outputs[1] else outputs


def session(seed):
    """Prompts and outputs that repeat each other; every second prompt goes on from the last."""
    source = random.Random(seed)
    said: list[int] = [source.randrange(30) for _ in range(40)]
    prompt: list[int] = []
    for call in range(6):
        start = source.randrange(len(said))
        fresh = [source.randrange(9) for _ in range(8)]
        prompt = (prompt if call % 2 else []) + said[start : start + 90] + fresh
        start = source.randrange(len(said))
        output = said[start : start + 25] + [source.randrange(9) for _ in range(10)]
        output += output[:9] * 3
        yield prompt, output
        prompt = prompt + output
        said += prompt[-120:]


@pytest.mark.parametrize("seed", range(3))
def test_a_session_is_drafted_as_the_slow_trees_do(seed):
    fast, slow = Suffix(), Slow()
    for prompt, output in session(seed):
        fast.begin("coder", [Piece("prompt", tuple(prompt))])
        slow.begin(prompt)
        for start in range(0, len(output), 3):
            fast.feed(output[start : start + 3])
            slow.feed(output[start : start + 3])
            for k in (64, 5):
                ids, _, length = slow.draft(k)
                match = fast.match()
                assert fast.draft(match, k).ids == tuple(ids)
                if k == 64:
                    assert match.length == (length if ids else 0)


def test_a_session_is_drafted_as_arctic_inference_does(monkeypatch):
    folder = Path(os.environ.get("AGSPEC_PEERS", "no folder"))
    packages = next(iter(folder.glob("lib/python3*/site-packages")), None)
    if packages is None or not (packages / "arctic_inference").is_dir():
        pytest.skip("AGSPEC_PEERS names no environment with arctic-inference")
    monkeypatch.syspath_prepend(str(packages))
    cache_module = pytest.importorskip("arctic_inference.suffix_decoding.cache")
    ours, peer = Suffix(), cache_module.SuffixDecodingCache(64)
    n_drafted = 0
    for call, (prompt, output) in enumerate(s for seed in range(3) for s in session(seed)):
        ours.begin("coder", [Piece("prompt", tuple(prompt))])
        peer.start_request(call, np.array(prompt, dtype=np.int32))
        context = list(prompt)
        for start in range(0, len(output), 2):
            new = output[start : start + 2]
            context += new
            ours.feed(new)
            peer.add_active_response(call, np.array(new, dtype=np.int32))
            for k in (64, 16, 3):
                wanted = peer.speculate(call, np.array(context, dtype=np.int32), k).token_ids
                assert ours.draft(ours.match(), k).ids == tuple(wanted)
                n_drafted += len(wanted)
        peer.stop_request(call)
    assert n_drafted > 1000
