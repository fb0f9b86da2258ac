import json
import stat

import pytest

from agspec_tui.commands import ConfigureDrafting, Generate, LoadModel, Message
from agspec_tui.engine import saved_cache
from agspec_tui.engine.cache import KvCache
from agspec_tui.engine.types import Part
from agspec_tui.errors import EngineError
from tests.engine.ngram_backend import NgramBackend

RULES = Message("system", "You answer with one word, and you never explain what you say. " * 12)


def load_of(path, n_ctx=1024):
    return LoadModel(path=str(path), name="smollm2", n_ctx=n_ctx, n_threads=2)


def ask(request, sequence, text):
    messages = (RULES, Message("user", text))
    return Generate(
        request=request, sequence=sequence, turn=1, role="coder", messages=messages, max_tokens=8
    )


def filled(names, n_ctx=400):
    backend = NgramBackend(1, n_ctx=n_ctx)
    cache = KvCache(backend, 4)
    for number, name in enumerate(names):
        placed = cache.place(name, number + 1, [1 + number] * 40)
        assert placed is not None
        placed.sequence.tokens += placed.sequence.prompt
        backend.decode([Part([1 + number] * 20, 0, placed.sequence.slot, 0)])
        backend.decode([Part([1 + number] * 20, 20, placed.sequence.slot, 0)])
        cache.release(placed.sequence)
    return backend, cache


async def test_a_saved_cache_is_taken_up_by_a_new_engine_with_the_same_reply(
    make_client, smollm2, tmp_path
):
    folder = tmp_path / "kept" / "session"
    client, _ = make_client()
    await client.start(load_of(smollm2), ConfigureDrafting())
    first = await client.generate(ask(1, "coder", "Name a colour."))
    await client.generate(ask(2, "planner", "Name an animal."))
    saved = await client.context.save(folder)
    assert saved.sequences == ("planner", "coder")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert saved.n_bytes == sum(path.stat().st_size for path in folder.glob("*.cells"))
    await client.close()

    again, _ = make_client()
    await again.start(load_of(smollm2), ConfigureDrafting())
    restored = await again.context.restore(folder)
    assert (restored.sequences, restored.notes) == (("planner", "coder"), ())
    assert restored.n_tokens == saved.n_tokens
    resumed = await again.generate(ask(1, "coder", "Name a colour."))
    assert resumed.ids == first.ids
    assert resumed.n_reused == resumed.n_prompt - 1
    assert resumed.broken_by in ("", "coder: reply")


async def test_what_another_context_saved_is_left_out_with_a_note(make_client, smollm2, tmp_path):
    client, _ = make_client()
    await client.start(load_of(smollm2), ConfigureDrafting())
    await client.generate(ask(1, "coder", "Name a colour."))
    await client.context.save(tmp_path / "kept")
    await client.close()
    other, _ = make_client()
    await other.start(load_of(smollm2, n_ctx=768), ConfigureDrafting())
    restored = await other.context.restore(tmp_path / "kept")
    assert restored.sequences == ()
    assert restored.notes == ("what is saved there is of another model, context or build",)
    empty = await other.context.restore(tmp_path / "nothing")
    assert empty.notes == ("nothing is saved there",)


async def test_counting_is_exact_and_leaves_the_cache_alone(make_client, smollm2):
    client, _ = make_client()
    await client.start(load_of(smollm2), ConfigureDrafting())
    command = ask(1, "coder", "Name a colour.")
    counted = await client.context.count(command.messages)
    finished = await client.generate(command)
    assert counted == finished.n_prompt
    assert await client.context.count(ask(2, "coder", "Something else entirely").messages) > 0
    again = await client.generate(ask(3, "coder", "Name a colour."))
    assert again.n_reused == again.n_prompt - 1


def test_a_damaged_file_is_left_out_and_the_others_are_taken_up(tmp_path):
    _, cache = filled(["a", "b", "c"])
    index, _ = saved_cache.save(cache, "bound", tmp_path)
    damaged = tmp_path / index.sequences[1].file
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\x09")
    backend = NgramBackend(1, n_ctx=400)
    taken, notes = saved_cache.restore(KvCache(backend, 4), "bound", tmp_path)
    assert [one.name for one in taken] == ["c", "a"]
    assert notes == ("b: its file is damaged",)
    assert backend.n_used == 80


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("{", "what is saved there cannot be read"),
        ("{}", "what is saved there cannot be read"),
        ('{"schema": 2, "binding": "bound", "sequences": []}', "of another model"),
        ('{"schema": 1, "binding": "foreign", "sequences": []}', "of another model"),
    ],
)
def test_a_foreign_or_damaged_index_is_left_out_with_a_note(tmp_path, text, note):
    (tmp_path / "index.json").write_text(text)
    taken, notes = saved_cache.restore(KvCache(NgramBackend(1), 4), "bound", tmp_path)
    assert taken == []
    assert note in notes[0]


def test_a_file_outside_the_folder_is_never_read(tmp_path):
    _, cache = filled(["a"])
    index, _ = saved_cache.save(cache, "bound", tmp_path / "kept")
    outside = tmp_path / "outside.cells"
    (tmp_path / "kept" / index.sequences[0].file).rename(outside)
    named = json.loads((tmp_path / "kept" / "index.json").read_text())
    named["sequences"][0]["file"] = "../outside.cells"
    (tmp_path / "kept" / "index.json").write_text(json.dumps(named))
    taken, notes = saved_cache.restore(KvCache(NgramBackend(1), 4), "bound", tmp_path / "kept")
    assert taken == []
    assert notes == ("a: its file cannot be read: No such file or directory",)


def test_saving_again_leaves_nothing_of_before(tmp_path):
    _, cache = filled(["a", "b"])
    saved_cache.save(cache, "bound", tmp_path)
    (tmp_path / "half-written.cells").write_bytes(b"?")
    index, _ = saved_cache.save(cache, "bound", tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"index.json", *(one.file for one in index.sequences)}


def test_sequences_that_do_not_fit_any_more_are_left_out_with_a_note(tmp_path):
    _, cache = filled(["a", "b", "c"])
    saved_cache.save(cache, "bound", tmp_path)
    taken, notes = saved_cache.restore(KvCache(NgramBackend(1, n_ctx=100), 4), "bound", tmp_path)
    assert [one.name for one in taken] == ["c", "b"]
    assert notes == ("a: there is no room for it",)
    taken, notes = saved_cache.restore(KvCache(NgramBackend(1, n_ctx=400), 1), "bound", tmp_path)
    assert [one.name for one in taken] == ["c"]
    assert len(notes) == 2


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("in the way")
    _, cache = filled(["a"])
    with pytest.raises(EngineError, match="could not be saved"):
        saved_cache.save(cache, "bound", tmp_path / "file" / "below")
