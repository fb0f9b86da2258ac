import numpy as np
import pytest

from agspec_tui.commands import Generate, Message
from agspec_tui.drafting.chain import Chain
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Match, Piece
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.model_drafter import MODEL, N_MAX, ModelDrafter, top_probability
from agspec_tui.engine.types import Part
from agspec_tui.events import EngineEvent, GenerationFinished, StepCommitted
from agspec_tui.policy.agspec import AgSpec
from agspec_tui.policy.off import Off
from agspec_tui.policy.own import Own
from tests.engine.ngram_backend import EOG, N_VOCAB, NgramBackend

TEXT = "abc abd abc abe abc abd"


def say(backend, drafter, policy, *, text=TEXT, max_tokens=60, request=1, cancelled=None):
    events: list[EngineEvent] = []
    decoder = Decoder(backend, drafter, policy, events.append)
    command = Generate(
        request=request,
        sequence="a",
        turn=1,
        role="coder",
        messages=(Message("user", text),),
        max_tokens=max_tokens,
    )
    decoder.generate(command, cancelled or (lambda: False))
    assert isinstance(events[-1], GenerationFinished)
    return events[-1], [event for event in events if isinstance(event, StepCommitted)]


def small(seed=7, **more):
    backend = NgramBackend(seed, **more)
    return backend, ModelDrafter(backend, "small", N_VOCAB)


def prompt(*ids):
    return [Piece("user", ids)]


def test_a_model_that_drafts_for_itself_is_always_right():
    plain, _ = say(NgramBackend(7, eog=False), make_drafter("none"), Off())
    _, drafter = small(eog=False)
    drafted, steps = say(NgramBackend(7, eog=False), drafter, Own())
    assert drafted.ids == plain.ids
    assert drafted.n_accepted == drafted.n_drafted
    assert drafted.n_steps <= -(-plain.n_steps // (N_MAX + 1)) + 1
    assert {step.source for step in steps if step.n_drafted} == {MODEL}
    assert {step.document for step in steps if step.n_drafted} == {"small"}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("policy", [Own, AgSpec])
def test_a_model_that_is_often_wrong_changes_no_token(seed, policy):
    plain, _ = say(NgramBackend(7), make_drafter("none"), Off())
    _backend, drafter = small(seed)
    drafted, steps = say(NgramBackend(7), drafter, policy())
    assert (drafted.ids, drafted.stop_reason) == (plain.ids, plain.stop_reason)
    assert max((step.n_drafted for step in steps), default=0) <= N_MAX
    assert not drafter.off


@pytest.mark.parametrize("k", [0, 1, 2, 3, 50])
def test_a_draft_is_what_the_small_model_says_next_up_to_its_own_length(k):
    _backend, drafter = small(eog=False)
    drafter.begin("a", prompt(1, 2, 3, 4))
    assert drafter.match() == Match(N_MAX, MODEL)
    draft = drafter.draft(drafter.match(), k)
    alone = NgramBackend(7, eog=False)
    expected, context = [], [1, 2, 3, 4]
    for _ in range(min(k, N_MAX)):
        alone.trim(0, 0)
        token = int(alone.decode([Part(context, 0, 0, 1)])[0].argmax())
        expected.append(token)
        context.append(token)
    assert list(draft.ids) == expected


def test_the_cache_keeps_what_was_accepted_and_drops_what_was_not():
    backend, drafter = small(eog=False)
    drafter.begin("a", prompt(1, 2, 3, 4))
    draft = drafter.draft(drafter.match(), 3)
    wrong = draft.ids[1] % (N_VOCAB - 1) + 1
    drafter.observe(3, 1)
    drafter.feed([draft.ids[0], wrong])
    n_before = backend.n_decodes
    drafter.draft(drafter.match(), 1)
    assert backend.cache[0] == [1, 2, 3, 4, draft.ids[0], wrong]
    assert backend.n_decodes == n_before + 1


def test_committed_tokens_are_read_in_one_batch_when_a_draft_is_asked_for():
    backend, drafter = small(eog=False)
    drafter.begin("a", prompt(1, 2, 3))
    n_before = backend.n_decodes
    for token in (4, 5, 6, 7, 8):
        drafter.feed([token])
    assert backend.n_decodes == n_before
    drafter.draft(drafter.match(), 1)
    assert backend.n_decodes == n_before + 1
    assert backend.cache[0] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_prompt_is_read_from_where_it_left_the_cache():
    backend, drafter = small(n_batch=4, eog=False)
    drafter.begin("a", prompt(*range(1, 11)))
    assert backend.n_decodes == 3  # nine tokens, at most four at once; the last one waits
    drafter.reset()
    assert drafter.match() == NO_MATCH
    drafter.begin("a", prompt(*range(1, 11), 5))
    assert backend.n_decodes == 4
    assert backend.cache[0] == list(range(1, 11))


def test_sequences_share_the_small_context_and_the_oldest_makes_room():
    backend, drafter = small(n_ctx=32, eog=False)
    for name in "abcdef":
        drafter.begin(name, prompt(*[1, 2, 3, 4] * 3))
        assert drafter.draft(drafter.match(), 3).ids
    assert sum(map(len, backend.cache.values())) <= 32


def test_an_end_of_generation_token_ends_a_draft():
    for seed in range(40):
        _backend, drafter = small(seed)
        drafter.begin("a", prompt(1, 2, 3))
        for _ in range(30):
            draft = drafter.draft(drafter.match(), 3)
            assert EOG not in draft.ids
            if len(draft.ids) < 3:
                return
            drafter.feed(draft.ids)
    pytest.fail("no text ended")


def test_a_draft_stops_before_a_token_that_is_too_unlikely_and_short_drafts_are_dropped():
    rows = {seed: NgramBackend(seed).decode([Part([1, 2, 3], 0, 0, 1)])[0] for seed in range(200)}
    seed = min(rows, key=lambda one: top_probability(rows[one]))
    p = top_probability(rows[seed])
    assert 0.4 < p < 0.9
    for p_min, n_min, n_drafted in ((p - 0.01, 0, 1), (p + 0.01, 0, 0), (0.0, 2, 0)):
        backend = NgramBackend(seed, eog=False)
        drafter = ModelDrafter(backend, "small", N_VOCAB, n_max=1, p_min=p_min, n_min=n_min)
        drafter.begin("a", prompt(1, 2, 3))
        assert len(drafter.draft(drafter.match(), 1).ids) == n_drafted


def test_a_probability_is_taken_over_the_ten_most_likely_tokens():
    row = np.array([2.0] * 10 + [-1.0] * 90, dtype=np.float32)
    assert top_probability(row) == pytest.approx(0.1)
    assert top_probability(row[:4]) == pytest.approx(0.25)


def test_a_prompt_beyond_its_context_is_decoded_without_drafts_and_the_next_one_with(capsys):
    target = NgramBackend(7, n_ctx=512)
    _, drafter = small(n_ctx=128, eog=False)
    long, _ = say(target, drafter, Own(), text="abcdefgh" * 30)
    assert long.n_drafted == 0
    assert long.n_tokens > 0
    assert "do not fit its context of 128" in drafter.off
    assert drafter.off in capsys.readouterr().err
    target.trim(0, 0)
    short, _ = say(target, drafter, Own(), text="abc")
    assert short.n_drafted > 0
    assert not drafter.off


def test_a_reply_that_outgrows_its_context_goes_on_without_drafts():
    target = NgramBackend(7, n_ctx=512, eog=False)
    _backend, drafter = small(n_ctx=96, eog=False)
    finished, steps = say(target, drafter, Own(), text="ab", max_tokens=200)
    assert finished.n_tokens == 200
    assert steps[1].n_drafted > 0
    assert steps[-2].n_drafted == 0
    assert drafter.off


def test_a_cache_that_cannot_be_rolled_back_ends_drafting_and_says_so():
    _backend, drafter = small(1, can_trim=False)
    plain, _ = say(NgramBackend(7), make_drafter("none"), Off())
    drafted, _ = say(NgramBackend(7), drafter, Own())
    assert drafted.ids == plain.ids
    assert drafter.off == "its cache cannot be rolled back"
    drafter.begin("a", prompt(1, 2))
    assert drafter.match() == NO_MATCH
    assert drafter.draft(Match(3, MODEL), 3) == NO_DRAFT


def test_tokens_that_only_one_of_them_knows_are_not_drafted_and_not_read():
    _backend, drafter = small(eog=False)
    drafter.begin("a", prompt(1, 2, N_VOCAB, 3))
    assert "does not know" in drafter.off
    narrow = ModelDrafter(NgramBackend(7, eog=False), "small", 1)
    narrow.begin("a", prompt(1, 2, 3))
    assert narrow.draft(narrow.match(), 3) == NO_DRAFT


@pytest.mark.parametrize("at", range(1, 12))
def test_a_cancel_inside_the_small_model_leaves_it_in_step(at):
    backend, drafter = small(3, eog=False)
    target = NgramBackend(7, eog=False)
    backend.abort_at = at
    first, _ = say(target, drafter, Own(), max_tokens=30, cancelled=lambda: backend.n_decodes >= at)
    assert first.stop_reason == "cancelled"
    backend.abort_at = -1
    plain, _ = say(NgramBackend(7, eog=False), make_drafter("none"), Off(), max_tokens=30)
    second, _ = say(target, drafter, Own(), max_tokens=30, request=2)
    assert second.ids == plain.ids
    assert not drafter.off


def test_nothing_is_drafted_before_a_prompt_or_after_it_is_closed():
    _, drafter = small()
    assert drafter.match() == NO_MATCH
    drafter.begin("a", [Piece("reply", ())])
    assert drafter.match() == NO_MATCH
    assert drafter.draft(Match(3, MODEL), 3) == NO_DRAFT
    drafter.begin("a", prompt(1, 2))
    drafter.close()
    assert drafter.match() == NO_MATCH
    drafter.begin("a", prompt(1, 2))
    assert drafter.match() == NO_MATCH


# ── the chain ────────────────────────────────────────────────────────────────────────────────────


def chain(seed=7, **more):
    _, model = small(seed, **more)
    return Chain("agspec-sam+draft-model", make_drafter("agspec-sam"), model)


def test_the_chain_copies_where_three_tokens_match_and_asks_the_model_elsewhere():
    drafter = chain(eog=False)
    drafter.begin("a", prompt(1, 2, 3, 4, 5, 9, 8))
    assert drafter.match() == Match(N_MAX, MODEL)
    assert drafter.draft(drafter.match(), 2).source == MODEL
    drafter.feed([2, 3])
    assert drafter.match().source == MODEL  # two tokens match
    drafter.feed([4])
    assert drafter.match() == Match(3, "session")
    draft = drafter.draft(drafter.match(), 2)
    assert (draft.ids, draft.source) == ((5, 9), "session")
    drafter.observe(2, 2)


def test_the_chain_copies_from_short_matches_where_the_model_is_off():
    drafter = chain(n_ctx=8)
    drafter.begin("a", prompt(1, 2, 3, 4, 5, 6, 7, 8, 9, 1))
    assert drafter.match() == Match(1, "session")
    assert drafter.draft(drafter.match(), 2).ids == (2, 3)


def test_the_chain_asks_the_model_where_nothing_follows_the_match():
    drafter = chain(eog=False)
    drafter.index("a.py", [("raw", (1, 2, 3, 4))])
    drafter.begin("a", prompt(9, 1, 2, 3, 4))
    assert drafter.match() == Match(4, "workspace")
    assert drafter.draft(drafter.match(), 2).source == MODEL
    drafter.forget("a.py")
    drafter.reset()
    assert drafter.match() == NO_MATCH


@pytest.mark.parametrize("seed", range(6))
def test_the_chain_gives_the_plain_tokens(seed):
    plain, _ = say(NgramBackend(7), make_drafter("none"), Off())
    drafted, _ = say(NgramBackend(7), chain(seed), AgSpec())
    assert drafted.ids == plain.ids
