from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.commands import Generate, Message
from agspec_tui.engine.loop import Decoder
from agspec_tui.events import EngineEvent, GenerationFinished, StepCommitted
from agspec_tui.policy.fixed import Fixed
from tests.engine.ngram_backend import NgramBackend
from tests.properties.garbage_drafter import GarbageDrafter
from tests.properties.test_lossless import (
    DRAFTERS,
    POLICIES,
    TEXTS,
    drafter_of,
    plain,
    policy_of,
)


@dataclass(frozen=True)
class Wish:
    """A reply to be decoded among others."""

    texts: list[str]
    max_tokens: int
    begins_at: int
    """Pass before which it is asked for."""
    cancelled_at: int
    """Pass before which it is cancelled; 0 for never."""


WISHES = st.lists(
    st.builds(Wish, TEXTS, st.integers(1, 40), st.integers(0, 12), st.integers(0, 8) | st.just(0)),
    min_size=1,
    max_size=8,
)


def command_of(number: int, wish: Wish, batch: int) -> Generate:
    messages = tuple(Message("user", text) for text in wish.texts)
    return Generate(
        request=number + 1,
        sequence=f"s{number}",
        turn=1,
        role="coder",
        messages=messages,
        max_tokens=wish.max_tokens,
        batch=batch,
    )


def decode_together(
    backend: NgramBackend,
    decoder: Decoder,
    wishes: list[Wish],
    after_pass: Callable[[], None] = lambda: None,
) -> None:
    waiting = list(enumerate(wishes))
    stopped: set[int] = set()
    n_passes = 0
    while waiting or decoder.active:
        for number, wish in list(waiting):
            command = command_of(number, wish, len(wishes))
            if wish.begins_at <= n_passes and decoder.begin(command) is not None:
                waiting.remove((number, wish))
        for number, wish in enumerate(wishes):
            if 0 < wish.cancelled_at <= n_passes:
                stopped.add(number + 1)
        decoder.step(stopped.__contains__)
        after_pass()
        n_passes += 1
        assert n_passes < 5000, "it does not come to an end"


def finished_of(events: list[EngineEvent]) -> dict[int, GenerationFinished]:
    ended = [event for event in events if isinstance(event, GenerationFinished)]
    assert len(ended) == len({event.request for event in ended})
    return {event.request: event for event in ended}


@given(
    st.integers(0, 255),
    DRAFTERS,
    POLICIES,
    st.integers(1, 20),
    WISHES,
    st.sampled_from([(0, 0), (2, 0), (7, 8), (5, 8), (32, 1)]),
    st.sampled_from([2, 4, 8]),
)
@settings(max_examples=200, deadline=None)
def test_replies_decoded_together_are_those_decoded_alone(
    seed, drafter, policy, k, wishes, exactness, n_slots
):
    events: list[EngineEvent] = []
    backend = NgramBackend(seed, n_ctx=2000, n_exact=exactness[0], n_wide=exactness[1])
    made = drafter_of(drafter, seed)
    decoder = Decoder(backend, made, policy_of(policy, k), events.append, n_slots)

    def check_cache() -> None:
        for one in decoder.active:
            cached = backend.cache[one.sequence.slot]
            assert cached == one.sequence.tokens == one.transcript[: len(cached)]
            if not one.is_put_off and not one.n_unread:
                assert len(cached) == len(one.transcript) - 1
            assert len(cached) < len(one.transcript)
        assert backend.cache.get(backend.pad_slot, []) == []

    decode_together(backend, decoder, wishes, check_cache)
    ended = finished_of(events)
    assert sorted(ended) == list(range(1, len(wishes) + 1))
    for number, wish in enumerate(wishes):
        mine = ended[number + 1]
        alone = plain(seed, wish.texts, max_tokens=wish.max_tokens)
        if mine.stop_reason == "cancelled":
            assert wish.cancelled_at
            assert mine.ids == alone.ids[: len(mine.ids)]
        else:
            assert (mine.ids, mine.text, mine.stop_reason) == (
                alone.ids,
                alone.text,
                alone.stop_reason,
            )
        steps = [e for e in events if isinstance(e, StepCommitted) and e.request == number + 1]
        assert tuple(token for step in steps for token in step.ids) == mine.ids
        assert [step.step for step in steps] == list(range(1, len(steps) + 1))


@given(st.integers(0, 255), st.integers(1, 12), st.integers(150, 320), st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_a_full_context_puts_the_youngest_off_and_loses_nothing(seed, k, n_ctx, n_replies):
    events: list[EngineEvent] = []
    backend = NgramBackend(seed, n_ctx=n_ctx, eog=False)
    decoder = Decoder(backend, GarbageDrafter(seed), Fixed(k), events.append, 8)
    wishes = [Wish([f"{number} abc"], 60, 0, 0) for number in range(n_replies)]
    waiting = [command_of(number, wish, n_replies) for number, wish in enumerate(wishes)]
    while waiting or decoder.active:
        if waiting and decoder.begin(waiting[0]) is not None:
            waiting.pop(0)
        decoder.step(lambda request: False)
        assert backend.n_used <= n_ctx
    for number, wish in enumerate(wishes):
        uncut: list[EngineEvent] = []
        alone = Decoder(NgramBackend(seed, eog=False), GarbageDrafter(1), Fixed(3), uncut.append)
        alone.generate(command_of(number, wish, 1), lambda: False)
        assert finished_of(events)[number + 1].ids == finished_of(uncut)[number + 1].ids


class Counting(NgramBackend):
    """Counts the prompts that are made of transcripts."""

    n_prompts = 0

    def scaffold(self, roles):
        self.n_prompts += 1
        return super().scaffold(roles)


def test_a_reply_that_waits_for_room_has_its_prompt_made_once():
    events: list[EngineEvent] = []
    backend = Counting(3, n_ctx=200, eog=False)
    decoder = Decoder(backend, GarbageDrafter(7), Fixed(4), events.append, 1)
    first, second = (command_of(number, Wish(["abc"], 30, 0, 0), 2) for number in range(2))
    decoder.begin(first)
    n_asked = 0
    while decoder.begin(second) is None:
        decoder.step(lambda request: False)
        n_asked += 1
    assert n_asked > 3
    assert backend.n_prompts == 2


@pytest.mark.parametrize("n_replies", [1, 3, 8])
@pytest.mark.parametrize("in_time", [True, False])
def test_an_abort_of_a_pass_ends_the_cancelled_reply_only(n_replies, in_time):
    events: list[EngineEvent] = []
    backend = NgramBackend(7, n_ctx=2000, eog=False)
    decoder = Decoder(backend, GarbageDrafter(7), Fixed(4), events.append, 8)
    for number in range(n_replies):
        decoder.begin(command_of(number, Wish([f"{number}"], 30, 0, 0), n_replies))
    backend.abort_at = 12
    # Where the abort comes late, the cancelled reply has ended by the time a pass is aborted.
    while decoder.active:
        at = backend.abort_at - (0 if in_time else 1)
        decoder.step(lambda request: request == 1 and backend.n_decodes >= at)  # noqa: B023
    ended = finished_of(events)
    reasons = [ended[number].stop_reason for number in sorted(ended)]
    assert reasons == ["cancelled", *["length"] * (n_replies - 1)]
    assert all(len(ended[number].ids) == 30 for number in sorted(ended)[1:])


@pytest.mark.parametrize("exactness", [(0, 0), (7, 8), (32, 1)])
def test_a_long_prompt_holds_up_nobody_for_more_than_a_chunk(exactness):
    events: list[EngineEvent] = []
    backend = NgramBackend(7, n_ctx=4000, n_exact=exactness[0], n_wide=exactness[1], eog=False)
    decoder = Decoder(backend, GarbageDrafter(7), Fixed(4), events.append, 8)
    decoder.begin(command_of(0, Wish(["a"], 200, 0, 0), 1))
    decoder.step(lambda request: False)
    while decoder.active[0].n_unread:
        decoder.step(lambda request: False)
    decoder.begin(command_of(1, Wish(["b" * 600], 5, 0, 0), 1))
    long_one = decoder.active[-1]
    turns = []
    while long_one.n_unread:
        events.clear()
        decoder.step(lambda request: False)
        turns.append({event.request for event in events})
    assert len(turns) > 15
    assert all({1, 2} <= first | second for first, second in pairwise(turns))
