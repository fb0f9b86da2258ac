import ctypes

import llama_cpp
import numpy as np
import pytest

from agspec_tui.commands import LoadModel, Sampling
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.types import Part
from agspec_tui.errors import EngineError
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.off import Off
from tests.engine.one_reply import reply_of
from tests.properties.garbage_drafter import GarbageDrafter

pytestmark = pytest.mark.model

SETTINGS = [
    Sampling(temperature=0.8),
    Sampling(temperature=0.8, seed=7),
    Sampling(temperature=1.3, top_k=0, top_p=1.0, min_p=0.0, seed=1),
    Sampling(temperature=0.8, top_k=200, min_p=0.1, top_p=1.0),
    Sampling(temperature=0.7, repeat_penalty=1.3, repeat_last_n=32, presence_penalty=0.4),
    Sampling(temperature=0.9, top_k=5, frequency_penalty=0.5, logit_bias=((30, 12.0), (28, -5.0))),
    Sampling(temperature=1.0, repeat_penalty=0.8, repeat_last_n=9, seed=3),
    Sampling(repeat_penalty=1.2),
    Sampling(logit_bias=((198, -float("inf")), (253, 3.0))),
    Sampling(frequency_penalty=2.0, logit_bias=((28, 4.0),)),
]
TEXT = "def total(prices):\n    result = 0\n    for price in prices:\n        result"
GRAMMAR = 'root ::= "PASS" | "FAIL: " [a-z ]+ "."'


@pytest.fixture(scope="module")
def backend(smollm2):
    backend = LlamaBackend(
        LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=512, n_threads=1)
    )
    yield backend
    backend.close()


def plain_chain(n_vocab: int, sampling: Sampling, prompt: list[int]) -> object:
    """llama.cpp's chain over the whole vocabulary."""
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    bias = (llama_cpp.llama_logit_bias * len(sampling.logit_bias))(*sampling.logit_bias)
    penalties = (
        sampling.repeat_last_n,
        sampling.repeat_penalty,
        sampling.frequency_penalty,
        sampling.presence_penalty,
    )
    for sampler in (
        llama_cpp.llama_sampler_init_logit_bias(n_vocab, len(bias), bias),
        llama_cpp.llama_sampler_init_penalties(n_vocab, *penalties),
        llama_cpp.llama_sampler_init_top_k(sampling.top_k),
        llama_cpp.llama_sampler_init_top_p(sampling.top_p, 0),
        llama_cpp.llama_sampler_init_min_p(sampling.min_p, 0),
        llama_cpp.llama_sampler_init_temp(sampling.temperature),
        llama_cpp.llama_sampler_init_dist(sampling.seed),
    ):
        llama_cpp.llama_sampler_chain_add(chain, sampler)
    for token in prompt:
        llama_cpp.llama_sampler_accept(chain, token)
    return chain


@pytest.mark.parametrize("sampling", SETTINGS)
def test_choices_are_those_of_llama_cpps_own_chain_over_the_whole_vocabulary(clean, sampling):
    prompt = clean.tokenize(TEXT, special=False).tolist()
    chain = plain_chain(clean.n_vocab, sampling, prompt)
    chooser = clean.chooser(sampling, "", prompt)
    clean.decode([Part(prompt[:-1], 0, 0, 0)])
    newest, pos = prompt[-1], len(prompt) - 1
    for _ in range(24):
        row = clean.decode([Part([newest], pos, 0, 1)])
        _, token = chooser.verify(row, [])
        assert token == llama_cpp.llama_sampler_sample(chain, clean._context, -1)
        newest, pos = token, pos + 1
    llama_cpp.llama_sampler_free(chain)


def rows(rng, n: int, n_vocab: int):
    return rng.normal(0, 3, (n, n_vocab)).astype(np.float32)


@pytest.mark.parametrize("sampling", SETTINGS)
def test_accepted_and_rejected_drafts_draw_what_single_rows_draw(clean, sampling):
    rng = np.random.default_rng(sampling.seed)
    logits = rows(rng, 60, clean.n_vocab)
    prompt = list(range(24))
    alone = clean.chooser(sampling, "", prompt)
    expected = [alone.verify(row[None], [])[1] for row in logits]
    drafted = clean.chooser(sampling, "", prompt)
    said: list[int] = []
    while len(said) < len(logits) - 8:
        n = int(rng.integers(0, 7))
        draft = expected[len(said) : len(said) + n]
        if draft and rng.random() < 0.7:
            draft[int(rng.integers(len(draft)))] = int(rng.integers(clean.n_vocab))
        block = logits[len(said) : len(said) + n + 1]
        n_accepted, bonus = drafted.verify(block, draft)
        said += [*draft[:n_accepted], bonus]
    assert said == expected[: len(said)]


@pytest.mark.parametrize("grammar", ["", "root ::= [a-z]+"])
@pytest.mark.parametrize("sampling", SETTINGS)
def test_a_reply_that_is_gone_on_with_draws_the_same(clean, sampling, grammar):
    logits = rows(np.random.default_rng(2), 12, clean.n_vocab)
    prompt = list(range(100, 140))
    whole = clean.chooser(sampling, grammar, prompt)
    expected = [whole.verify(row[None], [])[1] for row in logits]
    said = expected[:6]
    resumed = clean.chooser(sampling, grammar, [*prompt, *said])
    resumed.resume(said)
    assert [resumed.verify(row[None], [])[1] for row in logits[6:]] == expected[6:]


def test_rows_behind_a_rejection_are_not_read(clean):
    block = rows(np.random.default_rng(1), 4, clean.n_vocab)
    block[1:] = np.nan
    chooser = clean.chooser(Sampling(temperature=0.8), "", [])
    n_accepted, token = chooser.verify(block, [-1, -1, -1])
    assert (n_accepted, token >= 0) == (0, True)


def test_draws_follow_the_distribution(clean):
    row = np.full((1, clean.n_vocab), -np.inf, dtype=np.float32)
    probabilities = np.array([0.5, 0.3, 0.15, 0.05])
    row[0, 10:14] = np.log(probabilities) * 0.8
    sampling = Sampling(temperature=0.8, top_p=1.0, min_p=0.0, seed=5)
    chooser = clean.chooser(sampling, "", [])
    n = 4000
    counts = np.zeros(4)
    for _ in range(n):
        counts[chooser.verify(row, [])[1] - 10] += 1
    expected = probabilities * n
    assert ((counts - expected) ** 2 / expected).sum() < 16.3  # 0.1 % of the χ² of 3


def generate(backend, drafter, policy, *, max_tokens=20, **more):
    wish = f"Repeat this word for word:\n{TEXT}\n"
    return reply_of(backend, drafter, policy, wish, max_tokens=max_tokens, **more)


@pytest.mark.parametrize(("seed", "penalty"), [(0, 1.0), (1, 1.1)])
def test_a_seed_gives_the_same_reply_whatever_is_drafted(clean, seed, penalty):
    sampling = Sampling(temperature=0.8, seed=seed, repeat_penalty=penalty)
    plain = generate(clean, make_drafter("none"), Off(), sampling=sampling)
    drafters = [make_drafter("agspec-sam"), GarbageDrafter(seed, clean.n_vocab)]
    for drafter in drafters:
        drafted = generate(clean, drafter, Fixed(6), sampling=sampling)
        assert (drafted.ids, drafted.text) == (plain.ids, plain.text)
        assert drafted.n_drafted > 0


def test_seeds_differ(clean):
    replies = {
        generate(
            clean,
            make_drafter("none"),
            Off(),
            sampling=Sampling(temperature=1.0, seed=seed),
            max_tokens=12,
        ).ids
        for seed in range(3)
    }
    assert len(replies) == 3


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_a_grammar_binds_sampled_replies_the_same_with_and_without_drafts(clean, temperature):
    sampling = Sampling(temperature=temperature, seed=1, repeat_penalty=1.1)
    more = {"grammar": GRAMMAR, "sampling": sampling, "max_tokens": 10}
    plain = generate(clean, make_drafter("none"), Off(), **more)
    garbage = generate(clean, GarbageDrafter(1, clean.n_vocab), Fixed(4), **more)
    assert plain.text.startswith(("PASS", "FAIL: "))
    assert garbage.ids == plain.ids


def test_what_a_grammar_allows_keeps_its_proportions(clean):
    # Tokens outside the grammar hold half of the probability; those inside share it as before.
    ids = [clean.tokenize(text, special=False).tolist() for text in ("a", "b", "c", "7")]
    assert [len(each) for each in ids] == [1, 1, 1, 1]
    row = np.full((1, clean.n_vocab), -np.inf, dtype=np.float32)
    for (token,), share in zip(ids, (0.30, 0.15, 0.05, 0.50), strict=True):
        row[0, token] = np.log(share)
    counts = dict.fromkeys((token for (token,) in ids), 0)
    n = 400
    for seed in range(n):
        sampling = Sampling(temperature=1.0, top_p=1.0, min_p=0.0, seed=seed)
        counts[clean.chooser(sampling, "root ::= [a-z]+", []).verify(row, [])[1]] += 1
    a, b, c, digit = counts.values()
    assert digit == 0
    expected = np.array([0.6, 0.3, 0.1]) * n
    assert ((np.array([a, b, c]) - expected) ** 2 / expected).sum() < 13.8


def test_a_forbidden_token_is_never_chosen(clean):
    row = np.zeros((1, clean.n_vocab), dtype=np.float32)
    row[0, 5] = 9.0
    row[0, 6] = 8.0
    forbidden = ((5, -float("inf")),)
    for sampling in (
        Sampling(logit_bias=forbidden),
        Sampling(temperature=0.1, logit_bias=forbidden),
    ):
        assert clean.chooser(sampling, "", []).verify(row, [])[1] == 6


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        (Sampling(temperature=-0.1), "temperature is -0.1"),
        (Sampling(temperature=float("nan")), "temperature is nan"),
        (Sampling(top_p=1.5), "top_p is 1.5"),
        (Sampling(repeat_penalty=0.0), "repeat_penalty is 0.0"),
        (Sampling(seed=2**32 - 1), "seed is"),
        (Sampling(logit_bias=((10**6, 1.0),)), "token 1000000"),
        (Sampling(logit_bias=((1, 1.0), (1, 2.0))), "twice"),
        (Sampling(logit_bias=((1, float("inf")),)), "finite"),
    ],
)
def test_values_out_of_range_are_refused(clean, sampling, message):
    with pytest.raises(EngineError, match=message):
        clean.chooser(sampling, "", [])


def test_a_row_without_a_number_is_an_error_and_not_a_crash(clean):
    row = np.full((1, clean.n_vocab), np.nan, dtype=np.float32)
    with pytest.raises(EngineError, match="no token that may be chosen"):
        clean.chooser(Sampling(temperature=0.8), "", []).verify(row, [])


def test_candidates_have_the_layout_of_the_library():
    from agspec_tui.engine.verify import CANDIDATE

    assert CANDIDATE.itemsize == ctypes.sizeof(llama_cpp.llama_token_data)
    for name in ("id", "logit", "p"):
        assert CANDIDATE.fields[name][1] == getattr(llama_cpp.llama_token_data, name).offset
