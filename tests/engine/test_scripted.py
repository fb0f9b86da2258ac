import json

import pytest

from agspec_tui.commands import LoadModel, Sampling
from agspec_tui.engine.scripted import ScriptedBackend
from agspec_tui.engine.types import Part


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_replies_to_equal_prompts_go_to_sequences_in_their_order(tmp_path, order):
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"replies": ["a", "b", "c"]}))
    backend = ScriptedBackend(LoadModel(path=f"scripted:{path}", name="x", n_ctx=100))
    prompt = [1, 2, 3]
    for _ in range(3):
        backend.chooser(Sampling(), "", prompt)
    for slot in range(3):
        backend.decode([Part(prompt[:2], 0, slot, 0)])
    rows = backend.decode([Part(prompt[2:], 2, slot, 1) for slot in order])
    assert [chr(row.argmax()) for row in rows] == ["abc"[slot] for slot in order]
