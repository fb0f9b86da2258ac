"""Rejected tokens leave no trace, whatever a model's memory is."""

import random

import llama_cpp
import numpy as np
import pytest

from agspec_tui.commands import Generate, LoadModel, Message
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.drafting.types import Draft, Match
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.probe import probe_rollback
from agspec_tui.engine.types import Cancelled, Part
from agspec_tui.events import GenerationFinished, StepCommitted
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.off import Off
from tests.engine.ngram_backend import NgramBackend
from tests.engine.stateful_models import write_lfm2, write_mamba
from tests.reference.naive_drafter import NaiveDrafter

pytestmark = pytest.mark.model

KINDS = {
    "recurrent, checkpoints": (write_mamba, 6),
    "hybrid, 6 snapshots": (write_lfm2, 6),
    "hybrid, 2 snapshots": (write_lfm2, 2),
    "hybrid, checkpoints": (write_lfm2, 0),
}
TEXT = "for price in prices:\n    result = result + price\nreturn result\n" * 6


@pytest.fixture(scope="module", params=KINDS)
def backend(request, smollm2, tmp_path_factory):
    write, n_snapshots = KINDS[request.param]
    path = write(tmp_path_factory.mktemp("models") / "model.gguf", smollm2)
    load = LoadModel(
        path=str(path), name="m", n_ctx=1024, n_batch=128, n_threads=1, n_snapshots=n_snapshots
    )
    backend = LlamaBackend(load)
    assert backend.memory == request.param
    yield backend
    backend.close()


def n_positions(backend, slot):
    return llama_cpp.llama_memory_seq_pos_max(backend._rollback._memory, slot) + 1


def plain_rows(backend, ids, slot=3):
    """The row behind each token, decoded one by one."""
    rows = [backend.decode([Part([token], at, slot, 1)])[0].copy() for at, token in enumerate(ids)]
    backend.trim(slot, 0)
    return rows


def is_same(backend, row, other):
    """Whether rows are equal; near enough where attention adds cells in the order they lie in.

    Between the cells of two sequences that grow in turn lie those of the other one.
    """
    if backend.memory.startswith("recurrent"):
        return np.array_equal(row, other)
    return np.allclose(row, other, atol=0.01)


def test_the_probe_finds_that_it_can_be_wound_back(clean):
    assert clean.no_rollback == ""
    assert clean.n_rollback in (2, 6, clean.n_ctx)
    assert [n_positions(clean, slot) for slot in range(4)] == [0] * 4


def test_sequences_in_turn_with_any_number_rejected_give_the_rows_of_plain_decoding(clean):
    """A pass over a draft, some of it rejected, then another sequence's."""
    texts = [clean.tokenize(text, special=False)[:48].tolist() for text in (TEXT, TEXT[::-1])]
    rows = [plain_rows(clean, ids) for ids in texts]
    draws = random.Random(5)
    n_done = [0, 0]
    n_checked = 0
    while min(n_done) < 40:
        slot = draws.randrange(2)
        ids, at = texts[slot], n_done[slot]
        if at >= 40:
            continue
        n_draft = draws.randint(0, clean.n_rollback if clean.n_rollback < 100 else 6)
        n_right = draws.randint(0, n_draft)
        wrong = [draws.randrange(clean.n_vocab) for _ in range(n_draft - n_right)]
        block = [*ids[at : at + 1 + n_right], *wrong]
        logits = clean.decode([Part(block, at, slot, len(block))])
        for row in range(1 + n_right):
            assert is_same(clean, logits[row], rows[slot][at + row])
            n_checked += 1
        n_done[slot] = at + 1 + n_right
        assert clean.trim(slot, n_done[slot])
        assert n_positions(clean, slot) == n_done[slot]
        assert clean.trim(slot, n_done[slot])  # nothing is left to drop
    assert n_checked >= 80


def test_a_sequence_that_was_wound_back_is_shared_as_it_is_now(clean):
    ids = clean.tokenize(TEXT, special=False)[:20].tolist()
    row = plain_rows(clean, ids)[-1]
    clean.decode([Part(ids[:10], 0, 0, 0)])
    clean.decode([Part([*ids[10:13], 5, 6], 10, 0, 5)])
    assert clean.trim(0, 13)
    assert clean.share(0, [1], 13)
    clean.decode([Part(ids[13:19], 13, 1, 0)])
    assert np.array_equal(clean.decode([Part(ids[19:], 19, 1, 1)])[0], row)
    # The cells of the other one lie between those of this one.
    clean.decode([Part(ids[13:19], 13, 0, 0)])
    assert is_same(clean, clean.decode([Part(ids[19:], 19, 0, 1)])[0], row)


def test_a_sequence_that_was_taken_up_from_a_file_goes_on_where_it_was(clean, tmp_path):
    ids = clean.tokenize(TEXT, special=False)[:20].tolist()
    row = plain_rows(clean, ids)[-1]
    clean.decode([Part(ids[:13], 0, 0, 0)])
    path = tmp_path / "one.cells"
    path.touch()
    assert clean.save(0, path, ids[:13]) == path.stat().st_size
    assert clean.load(1, path) == ids[:13]
    assert clean.trim(1, 13)
    clean.decode([Part(ids[13:19], 13, 1, 0)])
    assert np.array_equal(clean.decode([Part(ids[19:], 19, 1, 1)])[0], row)
    assert not clean.trim(1, 12)  # of what was before, the file holds nothing


def test_a_part_of_a_state_cannot_be_shared_and_nothing_is_left_of_the_attempt(clean):
    ids = clean.tokenize(TEXT, special=False)[:20].tolist()
    clean.decode([Part(ids, 0, 0, 0)])
    assert not clean.share(0, [1], 7)
    assert n_positions(clean, 1) == 0


def test_what_cannot_be_dropped_is_said_and_left(clean):
    ids = clean.tokenize(TEXT, special=False)[:40].tolist()
    clean.decode([Part(ids, 0, 0, 0)])
    clean.decode([Part(ids[:1], 40, 0, 1)])
    # The newest pass had one token: snapshots of the one before it are of no use.
    assert not clean.trim(0, 38)
    assert n_positions(clean, 0) == 41
    assert clean.trim(0, 0)
    assert n_positions(clean, 0) == 0


def test_an_aborted_verification_leaves_no_state_that_is_taken_for_a_good_one(clean):
    ids = clean.tokenize(TEXT, special=False)[:60].tolist()
    row = plain_rows(clean, ids[:31])[-1]
    clean.decode([Part(ids[:30], 0, 0, 0)])
    clean.abort(on=True)
    with pytest.raises(Cancelled):
        clean.decode([Part(ids[30:40], 30, 0, 10)])
    clean.abort(on=False)
    n_kept = 30
    if not clean.trim(0, 30):
        assert clean.trim(0, 0)
        n_kept = 0
    if n_kept == 0:
        clean.decode([Part(ids[:30], 0, 0, 0)])
    assert np.array_equal(clean.decode([Part(ids[30:31], 30, 0, 1)])[0], row)


class Garbage(NaiveDrafter):
    """Drafts tokens that are nearly always wrong."""

    def match(self):
        return Match(9, "session")

    def draft(self, match, k):
        return Draft(tuple(range(100, 100 + k)), "session", "garbage", 0)


def say(backend, drafter, policy, n_tokens=60):
    events = []
    decoder = Decoder(backend, drafter, policy, events.append)
    messages = (Message("user", TEXT),)
    command = Generate(
        request=1, sequence="coder", turn=1, role="coder", messages=messages, max_tokens=n_tokens
    )
    decoder.generate(command, lambda: False)
    steps = [event for event in events if isinstance(event, StepCommitted)]
    finished = next(event for event in events if isinstance(event, GenerationFinished))
    decoder.drop_cache()
    return finished, steps


@pytest.mark.parametrize("k", [1, 6, 30])
@pytest.mark.parametrize("name", ["agspec-sam", "garbage"])
def test_replies_with_and_without_drafts_are_equal(clean, name, k):
    plain, _ = say(clean, make_drafter("none"), Off())
    drafter = Garbage() if name == "garbage" else make_drafter(name)
    drafted, steps = say(clean, drafter, Fixed(k))
    assert drafted.ids == plain.ids
    assert drafted.n_drafted > 0
    assert max(step.n_drafted for step in steps) <= clean.n_rollback


class WrongRollback(NgramBackend):
    """Says that it dropped the tail, and keeps a token of it."""

    def trim(self, slot, n_keep):
        del self.cache.setdefault(slot, [])[n_keep + (1 if n_keep else 0) :]
        return True

    def decode(self, parts):
        (part,) = parts
        cache = self.cache.setdefault(part.slot, [])
        cache += part.ids
        begin = len(cache) - part.n_logits
        rows = [self._row(cache[: begin + row + 1]) for row in range(part.n_logits)]
        return np.array(rows, dtype=np.float32)


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (NgramBackend(1), ""),
        (NgramBackend(1, can_trim=False), "cannot be wound back"),
        (WrongRollback(1, n_exact=7), "is wound back wrongly"),
        (WrongRollback(1), "is wound back wrongly"),
    ],
    ids=["right", "refuses", "wrong and exact", "wrong and inexact"],
)
def test_the_probe_tells_a_memory_that_refuses_from_one_that_errs(backend, reason):
    assert reason in (found := probe_rollback(backend))
    assert bool(found) == bool(reason)
    assert backend.cache[0] == []
