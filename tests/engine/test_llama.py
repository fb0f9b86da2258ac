import threading
import time

import numpy as np
import pytest

from agspec_tui.commands import Generate, LoadModel, Message
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.types import Cancelled, Part
from agspec_tui.errors import EngineError
from agspec_tui.events import EngineEvent, GenerationFinished, PrefillProgressed
from agspec_tui.policy.agspec import AgSpec
from agspec_tui.policy.off import Off
from tests.engine.one_reply import reply_of

pytestmark = pytest.mark.model

SOURCE = '''def total(prices, tax):
    """Sum of prices with tax."""
    result = 0
    for price in prices:
        result = result + price
    return result + result * tax
'''
GRAMMAR = 'root ::= "PASS" | "FAIL: " [a-z ]+ "."'


@pytest.fixture(scope="module")
def backend(smollm2):
    backend = LlamaBackend(LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=2048))
    yield backend
    backend.close()


def generate(backend, drafter, policy, *, max_tokens=120, **more):
    wish = f"Repeat this file word for word:\n{SOURCE}"
    return reply_of(backend, drafter, policy, wish, max_tokens=max_tokens, **more)


def test_the_probe_finds_batches_exact_to_the_bit(backend):
    # Q4_1 weights take no path of their own for larger batches.
    assert backend.n_exact == backend.n_batch


def test_drafting_gives_the_plain_ids_in_fewer_steps(clean):
    plain = generate(clean, make_drafter("none"), Off())
    clean.trim(0, 0)
    drafted = generate(clean, make_drafter("agspec-sam"), AgSpec())
    assert drafted.ids == plain.ids
    assert drafted.n_steps < 0.8 * plain.n_steps
    assert plain.n_steps == plain.n_tokens


def test_e05_contents_are_tokenised_with_special_tokens_off(clean):
    text = "a <|im_end|> b"
    with_special = clean.tokenize(text, special=True).tolist()
    without = clean.tokenize(text, special=False).tolist()
    assert any(clean.is_eog(token) for token in with_special)
    assert not any(clean.is_eog(token) for token in without)
    assert clean.detokenize(without).decode() == text


@pytest.mark.parametrize("text", ["", "naïve ☃ \r\n\t x", "\ud800 lone", "a" * 5000])
def test_texts_survive_tokens(clean, text):
    encoded = text.encode("utf-8", "surrogatepass")
    assert clean.detokenize(clean.tokenize(text, special=False).tolist()) == encoded


def test_the_scaffold_is_the_models_own_template(clean):
    jinja2 = pytest.importorskip("jinja2")
    llama_cpp = pytest.importorskip("llama_cpp")
    source = llama_cpp.llama_model_chat_template(clean._model, None).decode()
    messages = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U"},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "V"},
    ]
    template = jinja2.Environment().from_string(source)
    expected = template.render(messages=messages, add_generation_prompt=True)
    scaffolds = clean.scaffold([message["role"] for message in messages])
    contents = [*(message["content"] for message in messages), ""]
    assert "".join(map("".join, zip(scaffolds, contents, strict=True))) == expected


def test_a_grammar_binds_the_reply_with_and_without_drafts(clean):
    replies = []
    for drafter, policy in ((make_drafter("none"), Off()), (make_drafter("agspec-sam"), AgSpec())):
        clean.trim(0, 0)
        finished = generate(clean, drafter, policy, grammar=GRAMMAR, max_tokens=40)
        replies.append(finished.text)
        assert finished.text.startswith(("PASS", "FAIL: "))
    assert replies[0] == replies[1]


def test_an_aborted_decode_leaves_a_cache_that_can_be_trimmed(clean):
    ids = clean.tokenize(SOURCE * 8, special=False)[:512]
    reference = clean.decode([Part(ids[:1], 0, 0, 1)])[0].copy()
    clean.trim(0, 0)
    clean.abort(on=True)
    with pytest.raises(Cancelled):
        clean.decode([Part(ids, 0, 0, 1)])
    clean.abort(on=False)
    assert clean.trim(0, 0)
    assert np.array_equal(clean.decode([Part(ids[:1], 0, 0, 1)])[0], reference)


def test_a_cancel_from_another_thread_reaches_the_prefill(clean):
    events: list[EngineEvent] = []
    decoder = Decoder(clean, make_drafter("none"), Off(), events.append)
    cancelled = threading.Event()
    at: list[float] = []

    def cancel():
        while not any(isinstance(e, PrefillProgressed) and e.n_done > 0 for e in events):
            time.sleep(0.001)
        at.append(time.perf_counter())
        cancelled.set()
        clean.abort(on=True)

    watcher = threading.Thread(target=cancel)
    watcher.start()
    command = Generate(
        request=1,
        sequence="a",
        turn=1,
        role="coder",
        messages=(Message("user", SOURCE * 20),),
        max_tokens=5,
    )
    decoder.generate(command, cancelled.is_set)
    ended = time.perf_counter()
    watcher.join()
    finished = events[-1]
    assert isinstance(finished, GenerationFinished)
    assert finished.stop_reason == "cancelled"
    assert finished.n_tokens == 0
    assert ended - at[0] < 0.5


def test_a_context_beyond_the_memory_is_refused_and_not_fatal(smollm2, monkeypatch):
    # The address space is bounded in the engine process; here the library itself must say no.
    load = LoadModel(path=str(smollm2), name="x", n_ctx=256, n_seq_max=100_000)
    with pytest.raises(EngineError, match="could not be made"):
        LlamaBackend(load)


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "no.gguf"
    path.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(EngineError, match="could not be loaded"):
        LlamaBackend(LoadModel(path=str(path), name="x", n_ctx=256))


def test_without_exactness_nothing_bounds_a_pass(smollm2):
    load = LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=512, exact=False)
    backend = LlamaBackend(load)
    assert backend.n_exact == 0
    assert backend.n_rollback == backend.n_ctx  # rejected tokens are dropped all the same
    backend.close()
