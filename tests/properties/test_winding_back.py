"""A memory that cannot be wound back where it should be costs time, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.drafting.choose import make_drafter
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.types import Cancelled
from agspec_tui.events import EngineEvent, PrefillProgressed
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.off import Off
from tests.engine.ngram_backend import NgramBackend
from tests.properties.garbage_drafter import GarbageDrafter
from tests.properties.test_lossless import say


class Refusing(NgramBackend):
    """Winds back some times only: else it refuses, or is aborted while it does."""

    def __init__(self, seed: int, refused: set[int], aborted: set[int]) -> None:
        super().__init__(seed, eog=False)
        self.refused, self.aborted = refused, aborted
        self.n_trims = 0

    def trim(self, slot: int, n_keep: int) -> bool:
        if 0 < n_keep < len(self.cache.get(slot, [])):
            self.n_trims += 1
            if self.n_trims in self.aborted:
                self._aborted = True
                super().trim(slot, n_keep - 1)
                raise Cancelled
            if self.n_trims in self.refused:
                return False
        return super().trim(slot, n_keep)


TRIMS = st.sets(st.integers(1, 12), max_size=4)


@given(st.integers(0, 255), TRIMS, TRIMS, st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_a_draft_that_cannot_be_dropped_is_read_away_and_the_reply_is_the_same(
    seed, refused, aborted, k
):
    events: list[EngineEvent] = []
    backend = Refusing(seed, refused, aborted)
    decoder = Decoder(backend, GarbageDrafter(seed), Fixed(k), events.append)
    for request, text in enumerate(("abc abc", "abc abd"), 1):
        said = say(decoder, events, [text], request=request, max_tokens=20)
        alone: list[EngineEvent] = []
        plain = Decoder(NgramBackend(seed, eog=False), make_drafter("none"), Off(), alone.append)
        assert said.ids == say(plain, alone, [text], max_tokens=20).ids
        assert backend.cache[0][said.n_prompt :] == list(said.ids[:-1])


@pytest.mark.parametrize("can_trim", [True, False])
def test_what_is_read_again_is_not_told_of_as_reused(can_trim):
    events: list[EngineEvent] = []
    decoder = Decoder(
        NgramBackend(3, can_trim=can_trim), make_drafter("none"), Off(), events.append
    )
    say(decoder, events, ["one and the same", "two"], max_tokens=5)
    again = say(decoder, events, ["one and the same", "three"], request=2, max_tokens=5)
    told = [e for e in events if isinstance(e, PrefillProgressed) and e.request == 2]
    assert (again.n_reused > 0) == can_trim
    assert told[0].n_done == again.n_reused
    assert again.broken_by == "a: user message 2"
