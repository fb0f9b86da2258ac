from dataclasses import dataclass
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.drafting.baselines import llama_ngram_map_k, llama_ngram_mod
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.drafting.types import Match, Piece
from tests.reference import baselines as slow


@dataclass
class Call:
    """One call of a session: how its prompt comes about, and what is generated."""

    sequence: str
    n_kept: int  # tokens of the sequence's old context that the prompt begins with
    new: list[int]
    cut: int  # where the prompt is cut into two pieces
    reply: list[int]


def blocks(n_blocks, size):
    """Texts that repeat long runs: a few fixed blocks, now and then a stray token."""
    block = st.integers(0, n_blocks - 1).map(
        lambda number: [7 * number + i % (5 + number) for i in range(size + number)]
    )
    stray = st.integers(0, 3).map(lambda token: [token])
    return st.lists(st.one_of(block, block, stray), max_size=7).map(lambda parts: [*chain(*parts)])


def sessions(texts):
    call = st.builds(
        Call,
        sequence=st.sampled_from("aab"),
        n_kept=st.one_of(st.just(10**6), st.integers(0, 150)),
        new=texts,
        cut=st.integers(0, 60),
        reply=texts,
    )
    return st.lists(call, min_size=1, max_size=4)


small = st.lists(st.integers(0, 2), max_size=40)
long = blocks(4, 45)
rooms = st.lists(st.one_of(st.integers(1, 9), st.just(64)), min_size=1, max_size=5)


def reference_of(name, n_slots):
    match name:
        case "llama-ngram-map-k":
            return slow.NgramMapK(n_slots)
        case "llama-ngram-mod":
            return slow.NgramMod(n_slots)
    rules = {"pld": slow.pld, "sam": slow.sam, "llama-ngram-simple": slow.ngram_simple}
    return slow.Stateless(rules[name])


def walk(name, session, rooms, n_slots):
    """Decode a session with a drafter and its reference side by side; returns tokens drafted."""
    fast, reference = make_drafter(name), reference_of(name, n_slots)
    contexts = {}
    n_drafted = n_steps = 0
    for call in session:
        text = contexts.get(call.sequence, [])[: call.n_kept] + call.new
        head, tail = text[: call.cut], text[call.cut :]
        fast.begin(call.sequence, [Piece("head", tuple(head)), Piece("tail", tuple(tail))])
        reference.begin(call.sequence, text)
        done = 0
        while done < len(call.reply):
            room = min(rooms[n_steps % len(rooms)], len(call.reply) - done)
            n_steps += 1
            length, expected = reference.search(text) if text else slow.NOTHING
            match = fast.match()
            draft = fast.draft(match, room)
            assert (match.length, list(draft.ids)) == (length, expected[:room])
            if draft.document in ("head", "tail"):
                at = draft.offset + (len(head) if draft.document == "tail" else 0)
                assert text[at : at + len(draft.ids)] == list(draft.ids)
            n_accepted = 0
            while n_accepted < len(draft.ids) and (
                draft.ids[n_accepted] == call.reply[done + n_accepted]
            ):
                n_accepted += 1
            if draft.ids:
                fast.observe(len(draft.ids), n_accepted)
                reference.observe(n_accepted)
            n_drafted += len(draft.ids)
            taken = call.reply[done : done + n_accepted + 1]
            fast.feed(taken)
            text = text + taken
            done += len(taken)
        contexts[call.sequence] = text
    return n_drafted


@settings(max_examples=80, deadline=None)
@given(sessions(st.one_of(small, long)), rooms)
@pytest.mark.parametrize("name", ["pld", "sam", "llama-ngram-simple"])
def test_a_drafter_of_the_context_equals_its_slow_rules(name, session, rooms):
    walk(name, session, rooms, 0)


@settings(max_examples=80, deadline=None)
@given(sessions(long), rooms, st.sampled_from([1 << 18, 64]))
def test_llama_ngram_map_k_equals_its_slow_rules(session, rooms, n_slots):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llama_ngram_map_k, "_N_SLOTS", n_slots)  # few slots: hashes meet
        walk("llama-ngram-map-k", session, rooms, n_slots)


@settings(max_examples=80, deadline=None)
@given(sessions(long), rooms, st.sampled_from([1 << 16, 1 << 10]))
def test_llama_ngram_mod_equals_its_slow_rules(session, rooms, n_slots):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llama_ngram_mod, "_N_SLOTS", n_slots)
        walk("llama-ngram-mod", session, rooms, n_slots)


@pytest.mark.parametrize(
    "name", ["pld", "sam", "llama-ngram-simple", "llama-ngram-map-k", "llama-ngram-mod"]
)
def test_a_repeated_text_is_drafted_by_every_rule(name):
    text = [7 * i % 97 for i in range(97)]
    n_slots = llama_ngram_mod._N_SLOTS if name.endswith("mod") else llama_ngram_map_k._N_SLOTS
    session = [Call("a", 0, text * 2, 5, text * 2), Call("a", 10**6, [98], 50, text)]
    assert walk(name, session, [64], n_slots) > 150


def test_an_unused_match_is_not_drafted_from():
    drafter = make_drafter("pld")
    drafter.begin("a", [Piece("p", tuple(range(20)) * 2)])
    assert drafter.draft(Match(0, ""), 8).ids == ()
