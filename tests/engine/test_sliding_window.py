"""A model whose layers mostly see a window of 512 tokens (K09, K10)."""

import llama_cpp
import numpy as np
import pytest

from agspec_tui.commands import Generate, LoadModel, Message
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.types import Part
from agspec_tui.events import GenerationFinished
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.off import Off

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]

N_WINDOW = 512
LINES = "".join(
    f"def clamp_{n}(value, low={n}, high={n * n}):\n    return max(low, min(value, high))\n\n"
    for n in range(40)
)


@pytest.fixture(scope="module")
def backend(gemma3):
    backend = LlamaBackend(LoadModel(path=str(gemma3), name="gemma3-270m", n_ctx=2048))
    yield backend
    backend.close()


def generate(decoder, events, text, **more):
    command = Generate(
        turn=1, role="coder", sequence="coder", messages=(Message("user", text),), **more
    )
    decoder.generate(command, lambda: False)
    return [event for event in events if isinstance(event, GenerationFinished)][-1]


def test_the_load_says_what_memory_it_is_and_that_it_can_be_wound_back(backend):
    assert backend.memory == f"attention, a window of {N_WINDOW} tokens"
    assert backend.no_rollback == ""
    assert backend.n_rollback == backend.n_ctx
    assert backend.n_exact >= 4


def test_a_cell_older_than_the_window_is_still_there_when_a_draft_is_rejected(clean):
    ids = clean.tokenize(LINES, special=False)[:1100].tolist()
    for start in range(0, 1024, 256):
        clean.decode([Part(ids[start : start + 256], start, 0, 0)])
    expected = clean.decode([Part(ids[1024:1025], 1024, 0, 1)])[0].copy()
    # Back over more than a window, then forward again.
    assert clean.trim(0, 512)
    for start in range(512, 1024, 256):
        clean.decode([Part(ids[start : start + 256], start, 0, 0)])
    wrong = [9, 9, 9]
    rows = clean.decode([Part([ids[1024], *wrong], 1024, 0, 4)])
    assert np.array_equal(rows[0], expected)
    assert clean.trim(0, 1024)
    assert np.array_equal(clean.decode([Part(ids[1024:1025], 1024, 0, 1)])[0], expected)


def test_replies_beyond_the_window_are_equal_with_and_without_drafts(clean):
    replies = {}
    for name, policy in (("none", Off()), ("agspec-sam", Fixed(6))):
        events = []
        decoder = Decoder(clean, make_drafter(name), policy, events.append)
        replies[name] = generate(
            decoder, events, f"Repeat this file.\n{LINES[:1500]}", request=1, max_tokens=64
        )
        pos = llama_cpp.llama_memory_seq_pos_max(clean._rollback._memory, 0) + 1
        assert pos == replies[name].n_prompt + replies[name].n_tokens - 1
        decoder.drop_cache()
    assert replies["none"].n_prompt > N_WINDOW
    assert replies["agspec-sam"].ids == replies["none"].ids
    assert replies["agspec-sam"].n_accepted < replies["agspec-sam"].n_drafted


def test_a_second_chat_reuses_the_prefix_and_answers_as_a_fresh_one(clean):
    events = []
    decoder = Decoder(clean, make_drafter("none"), Off(), events.append)
    generate(decoder, events, f"{LINES[:1600]}\nName a bug.", request=1, max_tokens=8)
    second = generate(decoder, events, f"{LINES[:1600]}\nName a test.", request=2, max_tokens=12)
    assert second.n_reused > N_WINDOW
    decoder.drop_cache()
    fresh = generate(decoder, events, f"{LINES[:1600]}\nName a test.", request=3, max_tokens=12)
    assert fresh.n_reused == 0
    assert second.ids == fresh.ids
