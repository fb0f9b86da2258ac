"""Prompts on the real model: what is in the cache is never read again."""

import asyncio

import pytest

from agspec_tui.commands import ConfigureDrafting, Generate, LoadModel, Message
from agspec_tui.engine.cache import KvCache
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.types import Part
from agspec_tui.errors import EngineError
from agspec_tui.events import PrefillProgressed

RULES = Message("system", "You answer with one word. Here is the list that you look it up in.")
N_NEW = 16
"""Prompt tokens beside a new message's own that a turn may read: marks of the chat template."""


def listing(n_lines):
    return "\n".join(f"{n}: item {n * 7919 % 1000} of shelf {n % 17}" for n in range(n_lines))


def ask(request, sequence, *messages):
    return Generate(
        request=request,
        sequence=sequence,
        turn=request,
        role=sequence,
        messages=(RULES, *messages),
        max_tokens=6,
    )


def n_read(events, request):
    """Tokens that the prefill of a generation covered, by its events, and those of its prompt."""
    prefills = [
        event
        for event in events
        if isinstance(event, PrefillProgressed) and event.request == request
    ]
    return prefills[-1].n_total - prefills[-1].n_reused, prefills[-1].n_total


@pytest.fixture
async def engine(make_client, smollm2):
    client, events = make_client()
    load = LoadModel(path=str(smollm2), name="smollm2", n_ctx=6144, n_threads=2)
    await client.start(load, ConfigureDrafting())
    return client, events


@pytest.mark.timeout(600)
async def test_a_second_turn_over_four_thousand_tokens_reads_only_what_is_new(engine):
    client, events = engine
    first = Message("user", listing(290))
    reply = await client.generate(ask(1, "coder", first))
    assert reply.n_prompt > 4000
    second = Message("user", "And which shelf has item 512?")
    grown = (first, Message("assistant", reply.text, reply.ids), second)
    before = await client.context.count((RULES, *grown[:2]))
    after = await client.context.count((RULES, *grown))
    finished = await client.generate(ask(2, "coder", *grown))
    n_prefilled, n_prompt = n_read(events, 2)
    assert n_prompt == after
    assert n_prefilled <= after - before + N_NEW
    assert finished.broken_by == ""


async def test_roles_and_candidates_read_what_their_prompts_share_once(engine):
    client, events = engine
    shared = Message("user", listing(40))
    await client.generate(ask(1, "planner", shared, Message("user", "Which shelves are there?")))
    _, n_prompt = n_read(events, 1)
    assert n_prompt > 500
    for request, sequence in [(2, "coder"), (3, "candidate")]:
        last = Message("user", f"Which item is on shelf {request}?")
        finished = await client.generate(ask(request, sequence, shared, last))
        assert n_read(events, request)[0] <= 2 * N_NEW
        assert finished.broken_by == ""
    alone = await client.generate(ask(4, "planner", Message("user", "Another list?")))
    assert alone.broken_by == "planner: user message 2"


def test_cells_are_counted_as_the_context_itself_counts_them(smollm2):
    backend = LlamaBackend(LoadModel(path=str(smollm2), name="smollm2", n_ctx=256, n_threads=2))
    cache = KvCache(backend, 4)

    def read(name, request, ids):
        sequence = cache.place(name, request, ids).sequence
        start = len(sequence.tokens)
        backend.decode([Part(ids[start:], start, sequence.slot, 0)])
        sequence.tokens += ids[start:]
        cache.release(sequence)
        return sequence

    shared = list(range(100, 180))
    planner = read("planner", 1, [*shared, *range(200, 220)])
    read("coder", 2, [*shared, *range(300, 340)])
    read("executor", 3, [*shared[:40], *range(400, 410)])
    cache.trim(planner, 60)
    assert cache.n_used == 80 + 40 + 10
    n_free = backend.n_ctx - cache.n_used
    backend.decode([Part([7] * n_free, 0, 3, 0)])
    assert backend.trim(3, 0)
    with pytest.raises(EngineError, match="the context is full"):
        backend.decode([Part([7] * (n_free + 1), 0, 3, 0)])
    backend.close()


async def test_candidates_decoded_at_once_read_their_prompt_once(engine):
    client, events = engine
    shared = Message("user", listing(60))
    names = ["first", "second", "third"]
    asked = [ask(request, name, shared) for request, name in enumerate(names, 1)]
    replies = await asyncio.gather(*(client.generate(command) for command in asked))
    assert len({reply.ids for reply in replies}) == 1
    n_prefilled = [n_read(events, request)[0] for request in (1, 2, 3)]
    assert replies[0].n_prompt > 700
    assert sum(n_prefilled) <= replies[0].n_prompt + 2 * N_NEW
