import math
from collections import deque

from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.commands import Generate, Message, Sampling
from agspec_tui.drafting.choose import NAMES, make_drafter
from agspec_tui.drafting.types import Drafter
from agspec_tui.engine.loop import Decoder
from agspec_tui.events import EngineEvent, GenerationFinished
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.off import Off
from agspec_tui.policy.types import Policy
from tests.engine.ngram_backend import N_VOCAB, NgramBackend
from tests.properties.garbage_drafter import GarbageDrafter

BIAS = st.lists(
    st.tuples(st.integers(1, N_VOCAB - 1), st.sampled_from([-math.inf, -50.0, 40.0, 200.0])),
    max_size=3,
    unique_by=lambda pair: pair[0],
).map(tuple)
SAMPLINGS = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.8, 20.0]),
    top_k=st.sampled_from([0, 1, 4, 40]),
    top_p=st.sampled_from([0.5, 0.95, 1.0]),
    min_p=st.sampled_from([0.0, 0.05]),
    repeat_penalty=st.sampled_from([1.0, 1.5]),
    repeat_last_n=st.sampled_from([0, 1, 7, 64]),
    presence_penalty=st.sampled_from([0.0, 30.0]),
    frequency_penalty=st.sampled_from([0.0, 10.0]),
    seed=st.integers(0, 2**32 - 2),
    logit_bias=BIAS,
)


def say(
    backend: NgramBackend, drafter: Drafter, policy: Policy, sampling: Sampling, text: str
) -> GenerationFinished:
    events: list[EngineEvent] = []
    command = Generate(
        request=1,
        sequence="a",
        turn=1,
        role="coder",
        messages=(Message("user", text),),
        sampling=sampling,
        max_tokens=70,
    )
    Decoder(backend, drafter, policy, events.append).generate(command, lambda: False)
    finished = events[-1]
    assert isinstance(finished, GenerationFinished)
    return finished


@given(
    st.integers(0, 255),
    SAMPLINGS,
    st.sampled_from([*NAMES, "garbage"]),
    st.integers(1, 20),
    st.text("abc\n", max_size=20),
)
@settings(max_examples=120, deadline=None)
def test_a_seed_gives_the_plain_tokens_whatever_is_drafted(seed, sampling, name, k, text):
    drafter = GarbageDrafter(seed) if name == "garbage" else make_drafter(name)
    drafted = say(NgramBackend(seed), drafter, Fixed(k), sampling, text)
    plain = say(NgramBackend(seed), make_drafter("none"), Off(), sampling, text)
    assert (drafted.ids, drafted.stop_reason) == (plain.ids, plain.stop_reason)


def penalised(row: list[float], said: deque[int], sampling: Sampling) -> list[float]:
    """Bias and penalties spelled out; the penalties as llama.cpp defines them."""
    changed = list(row)
    for token, bias in sampling.logit_bias:
        changed[token] += bias
    for token in set(said) if sampling.penalises else ():
        factor = sampling.repeat_penalty
        changed[token] = changed[token] * factor if changed[token] <= 0 else changed[token] / factor
        n_said = said.count(token)
        changed[token] -= n_said * sampling.frequency_penalty + sampling.presence_penalty
    return changed


@given(st.integers(0, 255), SAMPLINGS.filter(lambda sampling: sampling.temperature == 0.0))
@settings(max_examples=60, deadline=None)
def test_greedy_takes_the_largest_logit_after_bias_and_penalties(seed, sampling):
    backend = NgramBackend(seed, eog=False)
    reply = say(backend, make_drafter("none"), Off(), sampling, "abcabc")
    cache = backend.cache[0]
    n_prompt = reply.n_prompt
    window = sampling.repeat_last_n
    said = deque(cache[:n_prompt][-window:] if window else [], maxlen=window)
    for index, token in enumerate(reply.ids):
        context = [*cache[:n_prompt], *reply.ids[:index]]
        row = penalised(backend._row(context), said, sampling)
        assert row[token] >= max(row) - 1e-3
        said.append(token)
