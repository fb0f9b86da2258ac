import threading
import time

import pytest

from agspec_tui.commands import ConfigureDrafting, Generate, LoadModel, Message
from agspec_tui.drafting.choose import MODEL_NAMES, make_drafter
from agspec_tui.drafting.types import Piece
from agspec_tui.engine.choose_drafter import DrafterMaker, require_same_vocabulary
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.model_drafter import MODEL
from agspec_tui.engine.scripted import ScriptedBackend
from agspec_tui.engine.types import Cancelled
from agspec_tui.errors import DraftError
from agspec_tui.events import EngineEvent, GenerationFinished, StepCommitted
from agspec_tui.policy.off import Off
from agspec_tui.policy.own import Own
from tests.engine.ngram_backend import N_VOCAB, NgramBackend

TEXT = "Write the numbers from one to nine, then the seven days of the week."


def say(backend, drafter, policy):
    events: list[EngineEvent] = []
    decoder = Decoder(backend, drafter, policy, events.append)
    messages = (Message("user", TEXT),)
    command = Generate(
        request=1, sequence="a", turn=1, role="coder", messages=messages, max_tokens=48
    )
    decoder.generate(command, lambda: False)
    assert isinstance(events[-1], GenerationFinished)
    return events[-1], [event for event in events if isinstance(event, StepCommitted)]


def prompt(*ids):
    return [Piece("user", ids)]


def load_of(path, n_ctx=1024):
    return LoadModel(path=str(path), name="target", n_ctx=n_ctx)


@pytest.fixture(scope="module")
def llama(smollm2):
    backend = LlamaBackend(load_of(smollm2))
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def maker(llama, smollm2):
    maker = DrafterMaker(llama, load_of(smollm2))
    yield maker
    maker.close()


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_smollm2_drafting_for_itself_is_right_and_changes_no_token(name, llama, maker, smollm2):
    llama.trim(0, 0)
    plain, _ = say(llama, make_drafter("none"), Off())
    llama.trim(0, 0)
    settings = ConfigureDrafting(drafter=name, draft_model=str(smollm2))
    drafter = maker.make(settings)
    assert drafter.name == name
    drafted, steps = say(llama, drafter, Own())
    assert drafted.ids == plain.ids
    by_model = [step for step in steps if step.source == MODEL]
    assert by_model
    assert {step.document for step in by_model} == {smollm2.stem}
    assert sum(s.n_accepted for s in by_model) == sum(s.n_drafted for s in by_model)


def test_a_draft_model_is_loaded_once_for_both_of_its_drafters(maker, smollm2):
    model = maker.make(ConfigureDrafting(drafter="draft-model", draft_model=str(smollm2)))
    maker.make(ConfigureDrafting(drafter="agspec-sam+draft-model", draft_model=str(smollm2)))
    again = maker.make(ConfigureDrafting(drafter="draft-model", draft_model=str(smollm2)))
    assert again is model


def test_an_abort_of_the_target_reaches_the_draft_model(llama, maker, smollm2):
    drafter = maker.make(ConfigureDrafting(drafter="draft-model", draft_model=str(smollm2)))
    ids = llama.tokenize("def total(prices, tax): return 0\n" * 60, special=False).tolist()
    drafter.begin("a", prompt(1))
    timer = threading.Timer(0.05, lambda: llama.abort(on=True))
    started = time.perf_counter()
    timer.start()
    with pytest.raises(Cancelled):
        drafter.begin("a", [Piece("user", tuple(ids[:1000]))])
    assert time.perf_counter() - started < 2.0
    timer.join()
    llama.abort(on=False)
    drafter.begin("a", [Piece("user", tuple(ids[:40]))])
    first = drafter.draft(drafter.match(), 3)
    drafter.begin("b", [Piece("user", tuple(ids[:40]))])
    assert drafter.draft(drafter.match(), 3) == first


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_a_drafter_with_a_model_needs_one(name, maker):
    with pytest.raises(DraftError, match="needs a draft model"):
        maker.make(ConfigureDrafting(drafter=name))
    with pytest.raises(DraftError, match="needs a draft model"):
        make_drafter(name)


def test_a_file_that_is_no_model_is_refused_and_the_loaded_one_still_drafts(
    maker, smollm2, tmp_path
):
    model = maker.make(ConfigureDrafting(drafter="draft-model", draft_model=str(smollm2)))
    path = tmp_path / "no.gguf"
    path.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(DraftError, match=r"the draft model: .* could not be loaded"):
        maker.make(ConfigureDrafting(drafter="draft-model", draft_model=str(path)))
    model.begin("a", prompt(1, 2, 3))
    assert model.draft(model.match(), 2).ids


def test_a_model_with_another_vocabulary_is_refused(smollm2, tmp_path):
    script = tmp_path / "script.json"
    script.write_text('{"replies": []}')
    load = LoadModel(path=f"scripted:{script}", name="s", n_ctx=256)
    maker = DrafterMaker(ScriptedBackend(load), load)
    with pytest.raises(DraftError, match="another vocabulary") as caught:
        maker.make(ConfigureDrafting(drafter="draft-model", draft_model=str(smollm2)))
    assert "49152 tokens, not 258" in caught.value.message
    assert "family" in caught.value.hint


class Shifted(NgramBackend):
    """Spells its last token differently."""

    def detokenize(self, ids):
        return b"?" if list(ids) == [N_VOCAB - 1] else super().detokenize(ids)


def test_vocabularies_are_compared_token_by_token():
    require_same_vocabulary(NgramBackend(1), NgramBackend(2), "small")
    with pytest.raises(DraftError, match=f"token {N_VOCAB - 1} differs"):
        require_same_vocabulary(NgramBackend(1), Shifted(1), "small")
    padded = NgramBackend(1)
    padded.n_vocab += 100
    require_same_vocabulary(padded, NgramBackend(2), "small")
    padded.n_vocab += 100
    with pytest.raises(DraftError, match="another vocabulary"):
        require_same_vocabulary(padded, NgramBackend(2), "small")


def test_other_drafters_are_made_without_a_model(maker):
    assert maker.make(ConfigureDrafting(drafter="none")).name == "none"
    assert maker.make(ConfigureDrafting(drafter="agspec-sam")).name == "agspec-sam"
    with pytest.raises(DraftError, match="unknown drafter"):
        maker.make(ConfigureDrafting(drafter="magic"))
