from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.commands import Generate, Message
from agspec_tui.drafting.choose import NAMES, make_drafter
from agspec_tui.drafting.types import Draft, Drafter, Match
from agspec_tui.engine.loop import Decoder
from agspec_tui.errors import EngineError
from agspec_tui.events import EngineEvent, GenerationFinished, StepCommitted
from agspec_tui.policy.agspec import AgSpec
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.off import Off
from agspec_tui.policy.own import Own
from agspec_tui.policy.types import Policy
from tests.engine.ngram_backend import EOG, NgramBackend
from tests.properties.garbage_drafter import GarbageDrafter
from tests.reference.naive_drafter import NaiveDrafter

RESUMED = " resumed"


def drafter_of(name: str, seed: int) -> Drafter:
    if name == "naive":
        return NaiveDrafter()
    if name == "garbage":
        return GarbageDrafter(seed)
    return make_drafter(name.removesuffix(RESUMED), resume=name.endswith(RESUMED))


def policy_of(name: str, k: int) -> Policy:
    match name:
        case "off":
            return Off()
        case "fixed":
            return Fixed(k)
    return Own() if name == "own" else AgSpec(cap=k)


def say(
    decoder: Decoder,
    events: list[EngineEvent],
    texts: Sequence[str],
    request: int = 1,
    cancelled: Callable[[], bool] = lambda: False,
    **more: int,
) -> GenerationFinished:
    messages = tuple(Message("user", text) for text in texts)
    command = Generate(
        request=request, sequence="a", turn=1, role="coder", messages=messages, **more
    )
    decoder.generate(command, cancelled)
    finished = events[-1]
    assert isinstance(finished, GenerationFinished)
    return finished


def plain(seed: int, texts: Sequence[str], **more: int) -> GenerationFinished:
    events: list[EngineEvent] = []
    backend = NgramBackend(seed, n_ctx=N_CTX)
    decoder = Decoder(backend, make_drafter("none"), Off(), events.append)
    return say(decoder, events, texts, **more)


DRAFTERS = st.sampled_from([*NAMES, f"agspec-sam{RESUMED}", "naive", "garbage"])
POLICIES = st.sampled_from(["fixed", "agspec", "own"])
TEXTS = st.lists(st.text("abcdef \n", max_size=30), min_size=1, max_size=3)
N_CTX = 260
"""Three of the longest leave the room that a reply is promised, and less than it may ask for."""


@given(st.integers(0, 255), DRAFTERS, POLICIES, st.integers(1, 40), TEXTS, st.integers(1, 90))
@settings(max_examples=150, deadline=None)
def test_any_drafter_and_policy_gives_the_plain_tokens(seed, drafter, policy, k, texts, max_tokens):
    events: list[EngineEvent] = []
    backend = NgramBackend(seed, n_ctx=N_CTX)
    decoder = Decoder(backend, drafter_of(drafter, seed), policy_of(policy, k), events.append)
    drafted = say(decoder, events, texts, max_tokens=max_tokens)
    expected = plain(seed, texts, max_tokens=max_tokens)
    assert (drafted.ids, drafted.stop_reason) == (expected.ids, expected.stop_reason)
    assert drafted.n_tokens == expected.n_tokens <= max_tokens
    steps = [event for event in events if isinstance(event, StepCommitted)]
    assert tuple(token for step in steps for token in step.ids) == drafted.ids
    assert "".join(step.text for step in steps) == drafted.text
    # The cache: the prompt and all committed tokens but the newest, nothing else.
    prompt = backend.cache[0][: drafted.n_prompt]
    assert backend.cache[0] == (prompt + list(drafted.ids))[: len(backend.cache[0])]
    assert len(backend.cache[0]) >= drafted.n_prompt + len(drafted.ids) - 1


@given(st.integers(0, 255), DRAFTERS, st.integers(1, 20), st.integers(1, 60))
@settings(max_examples=80, deadline=None)
def test_a_cancel_at_any_decode_leaves_the_committed_tokens_in_the_cache(seed, drafter, k, at):
    events: list[EngineEvent] = []
    backend = NgramBackend(seed, eog=False)
    decoder = Decoder(backend, drafter_of(drafter, seed), Fixed(k), events.append)
    backend.abort_at = at
    stopped = lambda: backend.n_decodes >= at  # noqa: E731
    first = say(decoder, events, ["abc abc abc"], cancelled=stopped, max_tokens=40)
    committed = list(first.ids)
    cache = backend.cache[0]
    if first.stop_reason == "cancelled" and committed:
        assert cache[first.n_prompt :] == committed[: len(cache) - first.n_prompt]
        assert len(cache) == first.n_prompt + len(committed) - 1
    backend.abort_at = -1
    again = say(decoder, events, ["abc abc abc"], request=2, max_tokens=40)
    uncut = Decoder(NgramBackend(seed, eog=False), make_drafter("none"), Off(), events.append)
    assert again.ids == say(uncut, events, ["abc abc abc"], max_tokens=40).ids


@given(st.integers(0, 255), DRAFTERS, st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_a_memory_that_cannot_be_trimmed_stays_lossless_and_is_not_drafted_for(seed, drafter, k):
    events: list[EngineEvent] = []
    backend = NgramBackend(seed, can_trim=False)
    decoder = Decoder(backend, drafter_of(drafter, seed), Fixed(k), events.append)
    finished = say(decoder, events, ["abcabcabc"], max_tokens=60)
    assert finished.ids == plain(seed, ["abcabcabc"], max_tokens=60).ids
    assert (decoder.rollback, finished.n_drafted) == (False, 0)


@pytest.mark.parametrize("n_exact", [2, 5, 7])
def test_drafts_stay_below_the_exact_batch_size(n_exact):
    events: list[EngineEvent] = []
    backend = NgramBackend(3, n_exact=n_exact, eog=False)  # asserts the size of every decode
    decoder = Decoder(backend, GarbageDrafter(1), Fixed(30), events.append)
    say(decoder, events, ["abc"], max_tokens=30)
    steps = [event for event in events if isinstance(event, StepCommitted)]
    assert max(step.n_drafted for step in steps) == n_exact - 1


def test_a_reply_fills_the_context_and_stops_there():
    events: list[EngineEvent] = []
    backend = NgramBackend(5, n_ctx=160, eog=False)
    decoder = Decoder(backend, GarbageDrafter(1), Fixed(30), events.append)
    finished = say(decoder, events, ["abcdef"], max_tokens=4000)
    assert finished.stop_reason == "context"
    assert len(backend.cache[0]) == 159


def test_a_prompt_beyond_the_context_is_refused():
    decoder = Decoder(NgramBackend(5, n_ctx=160), NaiveDrafter(), Fixed(3), print)
    with pytest.raises(EngineError, match="does not fit a context of 160"):
        say(decoder, [], ["abcdef" * 30])


def test_an_unused_sequence_makes_room_for_another():
    events: list[EngineEvent] = []
    backend = NgramBackend(5, n_ctx=300, eog=False)
    decoder = Decoder(backend, NaiveDrafter(), Fixed(3), events.append)
    say(decoder, events, ["abc" * 30], max_tokens=40)
    command = Generate(
        request=2, sequence="b", turn=1, role="planner", messages=(Message("user", "x" * 80),)
    )
    decoder.generate(command, lambda: False)
    left = backend.cache[0]
    assert 0 < len(left) < 30, "what both transcripts begin with stays, in one cell a token"
    assert backend.cache[1][: len(left)] == left


def test_a_grown_transcript_is_reused_and_a_changed_one_names_the_message():
    events: list[EngineEvent] = []
    decoder = Decoder(NgramBackend(7, n_ctx=900), NaiveDrafter(), Fixed(4), events.append)
    first = say(decoder, events, ["one"], max_tokens=12)
    messages = (
        Message("user", "one"),
        Message("assistant", first.text, first.ids),
        Message("user", "two"),
    )
    command = Generate(
        request=2, sequence="a", turn=2, role="coder", messages=messages, max_tokens=5
    )
    decoder.generate(command, lambda: False)
    grown = events[-1]
    assert isinstance(grown, GenerationFinished)
    assert grown.broken_by == ""
    assert grown.n_reused == first.n_prompt + len(first.ids) - 1
    changed = say(decoder, events, ["one", "three"], request=3, max_tokens=5)
    assert changed.broken_by == "a: user message 2"
    assert 0 < changed.n_reused < grown.n_reused


class EndDrafter(GarbageDrafter):
    """Drafts an end-of-generation token in the middle."""

    def draft(self, match: Match, k: int) -> Draft:
        return Draft((1, EOG, 1)[:k], "session", "garbage", 0)


def test_end_of_generation_tokens_are_never_drafted():
    events: list[EngineEvent] = []
    decoder = Decoder(NgramBackend(3), EndDrafter(1), Fixed(3), events.append)
    say(decoder, events, ["abc"], max_tokens=30)
    steps = [event for event in events if isinstance(event, StepCommitted)]
    assert {step.n_drafted for step in steps} <= {0, 1}
    assert steps[0].n_drafted == 1
