import os
import signal
import time

import numpy as np
import pytest

from agspec_tui.commands import LoadModel
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.llama_amx import amx_works, has_amx, has_room
from agspec_tui.engine.llama_context import packs_weights, place
from agspec_tui.engine.llama_trial import holds_in_a_child
from agspec_tui.engine.types import Part

needs_amx = pytest.mark.skipif(not has_amx(), reason="no AMX in this build or processor")


def die():
    os.kill(os.getpid(), signal.SIGSEGV)
    return True


def hang():
    time.sleep(60)
    return True


def complain():
    raise OSError("no")


@pytest.mark.parametrize(
    ("trial", "holds"),
    [
        (lambda: True, True),
        (lambda: False, False),
        (die, False),
        (hang, False),
        (complain, False),
    ],
)
def test_a_trial_that_dies_or_hangs_ends_nobody_else(trial, holds, capfd):
    assert holds_in_a_child(trial, patience_s=0.5 if trial is hang else 10.0) is holds
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # nothing is left behind


@needs_amx
def test_our_build_multiplies_rightly():
    assert amx_works()


@needs_amx
def test_a_pass_of_any_size_has_the_logits_of_single_tokens(smollm2):
    backend = LlamaBackend(LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=512))
    try:
        assert "AMX" in backend.device
        assert backend.n_exact == backend.n_batch
        ids = backend.tokenize("def add(a, b):\n    return a + b\n" * 8, special=False)[
            :65
        ].tolist()
        single = []
        for position, token in enumerate(ids):
            single.append(backend.decode([Part([token], position, 0, 1)])[0].copy())
        for size in (2, 8, 17, 33, 65):
            backend.trim(0, 0)
            found = backend.decode([Part(ids[:size], 0, 0, size)])
            assert np.array_equal(found, np.stack(single[:size]))
    finally:
        backend.close()


def test_weights_are_packed_where_that_is_exact_or_nobody_minds(tmp_path):
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    exact = LoadModel(path=str(model), name="m", n_ctx=512, n_gpu_layers=0)
    inexact = LoadModel(path=str(model), name="m", n_ctx=512, n_gpu_layers=0, exact=False)
    on_cpu = place(exact)
    assert on_cpu.on_cpu
    plain = LoadModel(path=str(model), name="m", n_ctx=512, n_gpu_layers=0, packed_weights=False)
    assert not packs_weights(plain, on_cpu)
    assert packs_weights(exact, on_cpu) is amx_works()
    assert packs_weights(inexact, on_cpu) is (amx_works() or not has_amx())


def test_weights_stay_in_the_file_where_memory_is_short(tmp_path):
    huge = tmp_path / "huge.gguf"
    with huge.open("wb") as file:
        file.truncate(1 << 43)
    load = LoadModel(path=str(huge), name="m", n_ctx=512, n_gpu_layers=0)
    assert not has_room(load)
    if has_amx():
        assert not packs_weights(load, place(load))
