import re
import subprocess
import sys
from pathlib import Path

import llama_cpp
import numpy as np
import pytest
from llama_cpp import Llama

from agspec_tui.engine.llama_draft_model import AgspecDraftModel
from agspec_tui.errors import DraftError

# `Llama` has no switch for packed weights, which are exact with AMX alone.
PLAIN_BUFFERS = """
import llama_cpp
made = llama_cpp.llama_model_default_params()
made.use_extra_bufts = False
llama_cpp.llama_cpp.llama_model_default_params = lambda: made
"""
PAGE = Path(__file__).parents[2] / "docs" / "library.md"
PROMPT = (
    "<|im_start|>user\nRepeat this word for word:\n"
    "def total(prices, tax):\n    result = 0\n    for price in prices:\n"
    "        result = result + price\n    return result + result * tax\n<|im_end|>\n"
    "<|im_start|>assistant\n"
)


@pytest.fixture
def plain_buffers(monkeypatch):
    made = llama_cpp.llama_model_default_params()
    made.use_extra_bufts = False
    monkeypatch.setattr(llama_cpp.llama_cpp, "llama_model_default_params", lambda: made)


def llama(path, **more):
    return Llama(
        str(path), n_ctx=512, n_batch=128, n_threads=2, logits_all=True, verbose=False, **more
    )


def reply(model, text, n=70):
    ids = model.tokenize(text.encode(), special=True)
    out = []
    for token in model.generate(ids, temp=0.0, repeat_penalty=1.0):
        out.append(token)
        if len(out) == n or token == model.token_eos():
            return out
    return out


def test_the_library_decodes_the_same_tokens_with_and_without_and_in_fewer_passes(
    smollm2, plain_buffers
):
    plain = llama(smollm2)
    expected = [reply(plain, PROMPT), reply(plain, PROMPT + "def total(prices, tax):\n", 20)]
    plain.close()
    n_calls = []

    class Counting(AgspecDraftModel):
        def __call__(self, input_ids, /, **kwargs):
            draft = super().__call__(input_ids, **kwargs)
            n_calls.append(len(draft))
            return draft

    drafted = llama(smollm2, draft_model=Counting(num_pred_tokens=8))
    first = reply(drafted, PROMPT)
    assert first == expected[0]
    assert max(n_calls) <= 8
    assert len(n_calls) < 0.7 * len(first)
    # The same model goes on with another prompt.
    assert reply(drafted, PROMPT + "def total(prices, tax):\n", 20) == expected[1]
    drafted.close()


def test_a_draft_is_an_array_of_the_library_s_kind():
    draft = AgspecDraftModel(policy="fixed", num_pred_tokens=3)
    ids = draft(np.array([1, 2, 3, 4, 5, 1, 2], dtype=np.intc))
    assert ids.dtype == np.intc
    assert ids.tolist() == [3, 4, 5]
    assert draft(np.array([], dtype=np.intc)).tolist() == []
    assert draft(np.array([9], dtype=np.intc), temperature=1).dtype == np.intc


def test_a_reset_forgets_the_text():
    draft = AgspecDraftModel(policy="fixed", num_pred_tokens=3)
    draft(np.array([1, 2, 3, 4, 5, 9], dtype=np.intc))
    draft.reset()
    assert draft(np.array([1, 2], dtype=np.intc)).tolist() == []


@pytest.mark.parametrize(
    "ids", [np.array([1.0]), np.array([[1]]), np.array([3, -1]), np.array(["x"]), None]
)
def test_what_is_no_array_of_token_ids_is_refused(ids):
    with pytest.raises(DraftError):
        AgspecDraftModel()(ids)


@pytest.mark.parametrize(
    "settings",
    [{"drafter": "magic"}, {"policy": "magic"}, {"num_pred_tokens": 0}, {"drafter": "draft-model"}],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(DraftError):
        AgspecDraftModel(**settings)


def examples():
    """The page's Python blocks, by the class that they show."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return {name: b for b in blocks for name in ("Llama(", "AgspecProposer") if name in b}


@pytest.mark.parametrize("name", ["Llama(", "AgspecProposer"])
def test_the_documented_example_runs(name, smollm2, tmp_path):
    (tmp_path / "model.gguf").symlink_to(smollm2)
    done = subprocess.run(
        [sys.executable, "-c", PLAIN_BUFFERS + examples()[name]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert done.stdout.strip()
    assert "Error" not in done.stderr
