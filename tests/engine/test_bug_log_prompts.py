import ctypes

import jinja2
import llama_cpp
import pytest
from gguf_writer import pair, read_pairs, write_gguf
from random_gguf import Shape, n_tokens_of, qwen2_keys, qwen2_tensors

from agspec_tui.commands import ConfigureDrafting, Generate, LoadModel, Message, Sampling
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.prompt import PromptBuilder
from agspec_tui.errors import EngineError
from agspec_tui.events import GenerationFinished
from agspec_tui.policy.off import Off

pytestmark = pytest.mark.model

SHAPES = (
    ("user",),
    ("system", "user"),
    ("system", "user", "assistant"),
    ("system", "user", "assistant", "user"),
    ("system", "user", "assistant", "user", "assistant", "user"),
)
CALL = '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>'
REPLIES = {
    "empty": "",
    "white space": " \n\n",
    "a call": CALL,
    "reasoning and a call": f"<think>\nI read it.\n</think>\n\n{CALL}",
    "reasoning alone": "<think>\nand no more\n</think>",
    "reasoning cut off": "<think>\nand no more",
}
WITHOUT_SYSTEM = {"yandex"}  # this template drops what a system message says


def builtin_templates():
    names = (ctypes.c_char_p * 200)()
    n_names = llama_cpp.llama_chat_builtin_templates(names, len(names))
    assert n_names > 40
    return [names[number].decode() for number in range(n_names)]


@pytest.fixture(scope="module")
def backend(smollm2):
    backend = LlamaBackend(LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=1024))
    yield backend
    backend.close()


def text_of(backend, messages):
    pieces = PromptBuilder(backend).pieces("coder", messages)
    return backend.detokenize([token for piece in pieces for token in piece.ids]).decode()


# ── T12 ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", builtin_templates())
def test_t12_every_template_of_the_library_holds_messages_of_every_shape(clean, monkeypatch, name):
    monkeypatch.setattr(clean, "_template", name.encode())
    for roles in SHAPES:
        if name in WITHOUT_SYSTEM and "system" in roles:
            with pytest.raises(EngineError, match="cannot hold the messages") as refused:
                clean.scaffold(roles)
            assert refused.value.hint
            continue
        assert len(clean.scaffold(roles)) == len(roles) + 1
        for reply in REPLIES.values():
            said = [Message(role, reply if role == "assistant" else f"{role} S") for role in roles]
            text = text_of(clean, said)
            at = 0
            for message in said:  # in their order, and none of them changed
                at = text.index(message.text, at) + len(message.text)


@pytest.mark.parametrize("reply", REPLIES)
def test_t12_a_reply_of_every_shape_is_rendered_as_the_models_own_jinja_does(clean, reply):
    source = llama_cpp.llama_model_chat_template(clean._model, None).decode()
    template = jinja2.Environment().from_string(source)
    for roles in SHAPES[1:]:
        texts = [REPLIES[reply] if role == "assistant" else f"{role} text" for role in roles]
        expected = template.render(
            messages=[{"role": r, "content": t} for r, t in zip(roles, texts, strict=True)],
            add_generation_prompt=True,
        )
        around = clean.scaffold(roles)
        rendered = "".join(map("".join, zip(around, [*texts, ""], strict=True)))
        assert rendered == expected


@pytest.mark.parametrize("reply", REPLIES)
def test_t12_the_target_goes_on_behind_a_reply_of_every_shape(clean, reply):
    events = []
    messages = (
        Message("system", ""),
        Message("user", "Go."),
        Message("assistant", REPLIES[reply]),
        Message("user", ""),
    )
    command = Generate(
        request=1, sequence="coder", turn=1, role="coder", messages=messages, max_tokens=4
    )
    Decoder(clean, make_drafter("none"), Off(), events.append).generate(command, lambda: False)
    assert isinstance(events[-1], GenerationFinished)
    assert events[-1].stop_reason in ("max_tokens", "length", "eog")


# ── T13 ──────────────────────────────────────────────────────────────────────────────────────────

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
UNKNOWN = ("{% for m in messages %}{{ m.role }} says: {{ m.content }}\n{% endfor %}", "")
LLAMA3 = "<|start_header_id|>{{ role }}<|end_header_id|>\n\n{{ content }}<|eot_id|>"


@pytest.mark.parametrize(
    ("source", "before"),
    [
        (CHATML, "<|im_start|>user\n"),
        (LLAMA3, "<|start_header_id|>user<|end_header_id|>\n\n"),
        (f"{CHATML}<function=name><parameter=path></parameter></function>", "<|im_start|>user\n"),
        (UNKNOWN[0], "<|im_start|>user\n"),
        (UNKNOWN[1], "<|im_start|>user\n"),
    ],
    ids=["ChatML", "headers", "ChatML with calls as XML", "unknown", "none"],
)
def test_t13_the_template_counts_and_not_the_architecture(smollm2, tmp_path, source, before):
    pairs = read_pairs(smollm2, "tokenizer.")
    pairs["tokenizer.chat_template"] = pair("tokenizer.chat_template", source)
    if not source:
        del pairs["tokenizer.chat_template"]
    shape = Shape(n_layers=1, n_embd=256, n_ff=256, n_head=4, n_head_kv=2)
    path = tmp_path / "qwen2.gguf"
    keys = qwen2_keys("qwen2", shape, pairs)
    write_gguf(path, keys, qwen2_tensors(shape, n_tokens_of(pairs)), seed=0)
    backend = LlamaBackend(LoadModel(path=str(path), name="qwen2", n_ctx=256, exact=False))
    try:
        assert backend.scaffold(("user",))[0].endswith(before)
        assert bool(backend.no_template) is (source in UNKNOWN)
    finally:
        backend.close()


# ── T14 ──────────────────────────────────────────────────────────────────────────────────────────

GRAMMARS = {
    "rule name with _": 'root ::= my_rule\nmy_rule ::= "x"',
    "no root": 'answer ::= "x"',
    "unknown rule": "root ::= answer",
    "left recursion": 'root ::= root "x" | "x"',
    "no grammar": "nonsense",
    "half a surrogate pair": 'root ::= "\ud800"',
    "behind a NUL": 'root ::= "x"\0 | "y"',
    "very deep": "root ::= " + "(" * 100_000 + '"x"' + ")" * 100_000,
}


@pytest.mark.parametrize("what", GRAMMARS)
def test_t14_a_grammar_that_cannot_be_read_is_an_error_with_a_hint(clean, what):
    with pytest.raises(EngineError, match="the grammar cannot be parsed") as refused:
        clean.chooser(Sampling(), GRAMMARS[what], [])
    assert refused.value.hint
    assert "\n" not in refused.value.message


def test_t14_groups_in_a_literal_are_no_nesting(clean):
    literal = "(" * 5000
    clean.chooser(Sampling(), f'root ::= "{literal}" [(((] # {literal}\n', [])


@pytest.mark.parametrize("what", ["rule name with _", "behind a NUL", "very deep"])
async def test_t14_no_token_is_generated_without_the_grammar_and_the_engine_lives(
    make_client, smollm2, what
):
    client, events = make_client()
    load = LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=256, exact=False)
    await client.start(load, ConfigureDrafting())
    pid = client.pid

    def ask(request, grammar):
        return Generate(
            request=request,
            sequence="executor",
            turn=1,
            role="executor",
            messages=(Message("user", "Say it."),),
            max_tokens=4,
            grammar=grammar,
        )

    with pytest.raises(EngineError, match="the grammar cannot be parsed"):
        await client.generate(ask(1, GRAMMARS[what]))
    assert not [event for event in events if isinstance(event, GenerationFinished)]
    assert (await client.generate(ask(2, 'root ::= "yes"'))).text == "yes"
    assert client.pid == pid
