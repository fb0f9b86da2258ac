from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agspec_tui.engine.cache import KvCache
from agspec_tui.engine.sequence import Sequence
from agspec_tui.engine.types import Part
from tests.engine.ngram_backend import NgramBackend

N_CTX = 200
N_SLOTS = 4
NAMES = st.sampled_from(["planner", "coder", "executor", "reviewer", "author", "judge"])
RUNS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 40)), min_size=1, max_size=4)


class CacheModel(RuleBasedStateMachine):
    """Generations come, read, grow and end; the backend numbers its cells and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.backend = NgramBackend(1, n_ctx=N_CTX, n_batch=64)
        self.cache = KvCache(self.backend, N_SLOTS)
        self.busy: list[Sequence] = []
        self.n_requests = 0

    @rule(name=NAMES, runs=RUNS)
    def begin(self, name: str, runs: list[tuple[int, int]]) -> None:
        ids = [token for token, n in runs for _ in range(n)][: N_CTX - 64]
        self.n_requests += 1
        busy = [(one, list(one.tokens)) for one in self.busy]
        placed = self.cache.place(name, self.n_requests, ids)
        assert all(one.tokens == tokens for one, tokens in busy)
        if placed is None:
            assert self.busy
            return
        assert placed.sequence.tokens == ids[: placed.n_reused]
        assert placed.n_reused < len(ids)
        self.busy.append(placed.sequence)

    @precondition(lambda self: self.busy)
    @rule(which=st.integers(0, 9), n=st.integers(1, 30))
    def read(self, which: int, n: int) -> None:
        sequence = self.busy[which % len(self.busy)]
        if not self.cache.may_read(sequence):
            return
        start = len(sequence.tokens)
        self.add(sequence, sequence.prompt[start : min(start + n, len(sequence.prompt) - 1)])

    @precondition(lambda self: self.busy)
    @rule(which=st.integers(0, 9), n=st.integers(1, 20), n_kept=st.integers(0, 20))
    def step(self, which: int, n: int, n_kept: int) -> None:
        sequence = self.busy[which % len(self.busy)]
        if sequence.reads or not self.cache.make_room(n):
            return
        n_before = len(sequence.tokens)
        self.add(sequence, sequence.prompt[n_before:] or [1 + (n + i) % 3 for i in range(n)])
        self.cache.trim(
            sequence, max(n_before, len(sequence.prompt), len(sequence.tokens) - n_kept)
        )

    @precondition(lambda self: self.busy)
    @rule(which=st.integers(0, 9))
    def end(self, which: int) -> None:
        self.cache.release(self.busy.pop(which % len(self.busy)))

    @rule(n=st.integers(0, N_CTX))
    def want_room(self, n: int) -> None:
        before = [(one, list(one.tokens)) for one in self.busy]
        assert self.cache.make_room(n) == (self.cache.n_free >= n)
        assert all(one.tokens == tokens for one, tokens in before)

    def add(self, sequence: Sequence, ids: list[int]) -> None:
        for start in range(0, len(ids), self.backend.n_batch):
            part = ids[start : start + self.backend.n_batch]
            self.backend.decode([Part(part, len(sequence.tokens), sequence.slot, 0)])
            sequence.tokens += part

    @invariant()
    def cells_are_counted_exactly(self) -> None:
        assert self.cache.n_used == self.backend.n_used
        assert 0 <= self.cache.n_free <= N_CTX - self.backend.n_used

    @invariant()
    def every_sequence_has_its_committed_tokens_in_the_backend(self) -> None:
        for sequence in self.busy:
            assert self.backend.cache.get(sequence.slot, []) == sequence.tokens

    @invariant()
    def every_prompt_under_way_fits(self) -> None:
        n_unread = sum(len(one.prompt) - len(one.tokens) for one in self.busy if not one.source)
        assert n_unread <= N_CTX - self.backend.n_used


TestCacheModel = CacheModel.TestCase
TestCacheModel.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
