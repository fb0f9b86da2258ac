import numpy as np
import pytest

from agspec_tui.commands import LoadModel
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.engine.scripted import ScriptedBackend
from agspec_tui.errors import ModelError

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def vocabulary(smollm2):
    vocabulary = Vocabulary(smollm2)
    yield vocabulary
    vocabulary.close()


def test_text_comes_back_and_control_tokens_are_only_seen_when_asked_for(vocabulary):
    text = "def f(x):\n    return x  # ü €\n"
    ids = vocabulary.tokenize(text, special=False)
    assert ids.dtype == np.int32
    assert vocabulary.detokenize(ids.tolist()).decode() == text
    (end,) = vocabulary.tokenize("<|im_end|>", special=True)
    assert vocabulary.is_eog(int(end))
    assert len(vocabulary.tokenize("<|im_end|>", special=False)) > 1


def test_the_loaded_model_has_the_same_tokenizer_and_fingerprint(vocabulary, smollm2):
    backend = LlamaBackend(LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=256))
    try:
        assert backend.fingerprint() == vocabulary.fingerprint()
        assert backend.n_vocab == vocabulary.n_vocab
    finally:
        backend.close()


def test_another_vocabulary_has_another_fingerprint(vocabulary, tmp_path):
    (tmp_path / "s.json").write_text('{"replies": []}')
    load = LoadModel(path=f"scripted:{tmp_path / 's.json'}", name="s", n_ctx=64)
    scripted = ScriptedBackend(load)
    assert len(scripted.fingerprint()) == len(vocabulary.fingerprint()) == 32
    assert scripted.fingerprint() != vocabulary.fingerprint()


def test_reading_one_says_nothing(smollm2, capfd):
    Vocabulary(smollm2).close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("n_bytes", [0, 40, 5000])
def test_a_file_that_is_cut_is_an_error(smollm2, tmp_path, n_bytes, capfd):
    path = tmp_path / "cut.gguf"
    with smollm2.open("rb") as file:
        path.write_bytes(file.read(n_bytes))
    with pytest.raises(ModelError, match=r"cut\.gguf"):
        Vocabulary(path)
    assert capfd.readouterr() == ("", "")
