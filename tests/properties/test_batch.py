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
    batch: int
    """Replies that are meant to be decoded at once, as its command says."""


WISHES = st.lists(
    st.builds(
        Wish,
        TEXTS,
        st.integers(1, 40),
        st.integers(0, 12),
        st.integers(0, 8) | st.just(0),
        st.sampled_from([1, 4]),
    ),
    min_size=1,
    max_size=8,
)


def command_of(number: int, wish: Wish) -> Generate:
    messages = tuple(Message("user", text) for text in wish.texts)
    return Generate(
        request=number + 1,
        sequence=f"s{number}",
        turn=1,
        role="coder",
        messages=messages,
        max_tokens=wish.max_tokens,
        batch=wish.batch,
    )


def batch_in(decoder: Decoder, slot: int) -> int:
    """What the command of the reply in a slot of the cache says."""
    return next(one.command.batch for one in decoder.active if one.sequence.slot == slot)


def decode_together(
    backend: NgramBackend,
    decoder: Decoder,
    wishes: list[Wish],
    after_pass: Callable[[], None] = lambda: None,
) -> None:
    waiting = list(enumerate(wishes))
    stopped: set[int] = set()
    n_passes = 0
    backend.is_alone = lambda slot: batch_in(decoder, slot) == 1
    while waiting or decoder.active:
        for number, wish in list(waiting):
            command = command_of(number, wish)
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
    st.sampled_from([0, 2, 5, 7, 32]),
    st.sampled_from([2, 4, 8]),
)
@settings(max_examples=200, deadline=None)
def test_replies_decoded_together_are_those_decoded_alone(
    seed, drafter, policy, k, wishes, n_exact, n_slots
):
    events: list[EngineEvent] = []
    backend = NgramBackend(seed, n_ctx=2000, n_exact=n_exact)
    made = drafter_of(drafter, seed)
    decoder = Decoder(backend, made, policy_of(policy, k), events.append, n_slots)

    def check_cache() -> None:
        for one in decoder.active:
            cached = backend.cache[one.sequence.slot]
            assert cached == one.sequence.tokens == one.transcript[: len(cached)]
            if not one.is_put_off and not one.n_unread:
                assert len(cached) == len(one.transcript) - 1
            assert len(cached) < len(one.transcript)
        held = [tokens for tokens in backend.cache.values() if tokens]
        assert sorted(held) == sorted(tokens for _, tokens in decoder.cache.named())

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
    wishes = [Wish([f"{number} abc"], 60, 0, 0, n_replies) for number in range(n_replies)]
    waiting = [command_of(number, wish) for number, wish in enumerate(wishes)]
    while waiting or decoder.active:
        if waiting and decoder.begin(waiting[0]) is not None:
            waiting.pop(0)
        decoder.step(lambda request: False)
        assert backend.n_used <= n_ctx
    for number, wish in enumerate(wishes):
        uncut: list[EngineEvent] = []
        alone = Decoder(NgramBackend(seed, eog=False), GarbageDrafter(1), Fixed(3), uncut.append)
        alone.generate(command_of(number, wish), lambda: False)
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
    first, second = (command_of(number, Wish(["abc"], 30, 0, 0, 2)) for number in range(2))
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
        decoder.begin(command_of(number, Wish([f"{number}"], 30, 0, 0, n_replies)))
    backend.abort_at = 12
    # Where the abort comes late, the cancelled reply has ended by the time a pass is aborted.
    while decoder.active:
        at = backend.abort_at - (0 if in_time else 1)
        decoder.step(lambda request: request == 1 and backend.n_decodes >= at)  # noqa: B023
    ended = finished_of(events)
    reasons = [ended[number].stop_reason for number in sorted(ended)]
    assert reasons == ["cancelled", *["length"] * (n_replies - 1)]
    assert all(len(ended[number].ids) == 30 for number in sorted(ended)[1:])


@pytest.mark.parametrize("n_exact", [0, 7, 32])
@pytest.mark.parametrize(("batch", "of_long_one"), [(1, 1), (4, 1), (1, 4), (4, 4)])
@pytest.mark.parametrize("k", [4, 40])  # 40 alone would fill a pass
def test_a_long_prompt_holds_up_nobody_for_more_than_a_chunk(n_exact, batch, of_long_one, k):
    events: list[EngineEvent] = []
    backend = NgramBackend(7, n_ctx=4000, n_exact=n_exact, eog=False)
    decoder = Decoder(backend, GarbageDrafter(7), Fixed(k), events.append, 8)
    backend.is_alone = lambda slot: batch_in(decoder, slot) == 1
    decoder.begin(command_of(0, Wish(["a"], 200, 0, 0, batch)))
    decoder.step(lambda request: False)
    while decoder.active[0].n_unread:
        decoder.step(lambda request: False)
    decoder.begin(command_of(1, Wish(["b" * 600], 5, 0, 0, of_long_one)))
    long_one = decoder.active[-1]
    turns = []
    while long_one.n_unread:
        events.clear()
        decoder.step(lambda request: False)
        turns.append({event.request for event in events})
    assert len(turns) > 15
    assert all({1, 2} <= first | second for first, second in pairwise(turns))
    if batch == of_long_one == 4:  # the chunk comes along
        assert all(turn == {1, 2} for turn in turns)


@pytest.mark.parametrize("n_exact", [0, 7, 32])
def test_replies_at_once_draft_as_much_as_a_pass_holds(n_exact):
    events: list[EngineEvent] = []
    backend = NgramBackend(7, n_ctx=2000, n_batch=30, n_exact=n_exact, eog=False)
    decoder = Decoder(backend, GarbageDrafter(7), Fixed(9), events.append, 8)
    wishes = [Wish([f"{number}"], 40, 0, 0, 4) for number in range(4)]
    drafted: list[list[int]] = []

    def note_drafts() -> None:
        drafted.append([event.n_drafted for event in events if isinstance(event, StepCommitted)])
        ended.extend(event for event in events if isinstance(event, GenerationFinished))
        events.clear()

    ended: list[EngineEvent] = []
    decode_together(backend, decoder, wishes, note_drafts)
    assert max(len(each) + sum(each) for each in drafted) == 30
    assert any(len(each) == 4 and sum(each) > 20 for each in drafted)
    # Whoever is left drafts as before, in passes of the same kind.
    assert max(each[0] for each in drafted if len(each) == 1) == 9
    for number, wish in enumerate(wishes):
        alone = NgramBackend(7, eog=False)
        uncut: list[EngineEvent] = []
        Decoder(alone, GarbageDrafter(1), Fixed(3), uncut.append).generate(
            command_of(number, wish), lambda: False
        )
        assert finished_of(ended)[number + 1].ids == finished_of(uncut)[number + 1].ids
