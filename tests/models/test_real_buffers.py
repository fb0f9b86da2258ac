"""The memory plan against the buffers that llama.cpp reports for real models."""

import ctypes
import os
import re

import llama_cpp
import pytest

from agspec_tui.config import models_dir
from agspec_tui.engine.llama_context import log_warnings
from agspec_tui.models.gguf import read_header
from agspec_tui.models.needs import Wanted
from agspec_tui.models.plan import plan
from tests.engine.stateful_models import write_lfm2, write_mamba

pytestmark = pytest.mark.model

MIB = 1 << 20
LINE = re.compile(r"(\w+)\s+buffer size\s*=\s*([\d.]+) MiB")
TYPES = {"f16": 1, "q8_0": 8, "q4_0": 2}


def real_buffers(path, wanted):
    """MiB of every kind of buffer: `model`, `KV`, `RS`, `compute`, `output`."""
    lines = []
    callback = llama_cpp.llama_log_callback(lambda level, text, _: lines.append(text.decode()))
    llama_cpp.llama_log_set(callback, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers, params.use_extra_bufts = 0, False
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx = wanted.n_ctx
    settings.n_batch = settings.n_ubatch = wanted.n_batch
    settings.n_seq_max, settings.n_rs_seq = wanted.n_seq_max, wanted.n_snapshots
    settings.kv_unified = settings.swa_full = True
    settings.flash_attn_type = 1 if wanted.flash_attention == "on" else 0
    settings.type_k, settings.type_v = TYPES[wanted.type_k], TYPES[wanted.type_v]
    context = llama_cpp.llama_init_from_model(model, settings)
    assert context
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    log_warnings()
    sizes = {}
    for kind, size in LINE.findall("".join(lines)):
        sizes[kind] = sizes.get(kind, 0.0) + float(size)
    return sizes


CASES = [
    {"n_ctx": 2048},
    {"n_ctx": 8192, "n_batch": 128},
    {"n_ctx": 8192},
    {"n_ctx": 8192, "flash_attention": "on", "type_k": "q8_0", "type_v": "q8_0"},
    {"n_ctx": 4096, "flash_attention": "on", "type_k": "q8_0", "type_v": "q4_0"},
]


def compare(path, case):
    wanted = Wanted(**case)
    made, real = plan(read_header(path), wanted).host, real_buffers(path, wanted)
    rows = 64 * read_header(path).n_vocab * 4
    assert made.weights / MIB == pytest.approx(real["model"], rel=0.03)
    assert made.kv / MIB == pytest.approx(real.get("KV", 0.0), rel=0.01, abs=0.01)
    assert made.state / MIB == pytest.approx(real.get("RS", 0.0), rel=0.01, abs=0.01)
    assert (made.compute - rows) / MIB == pytest.approx(real["compute"], rel=0.06)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("name", ["smollm2-135m", "gemma3-270m"])
def test_the_plan_is_within_some_per_cent(name, case, smollm2, gemma3):
    # gemma3 has one head of 256 values and 18 layers, 15 of them with a window.
    compare(smollm2 if name == "smollm2-135m" else gemma3, case)


@pytest.mark.parametrize("name", ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"])
def test_the_plan_of_larger_models_is_within_some_per_cent_too(name):
    path = models_dir() / f"{name}.gguf"
    if not path.is_file():
        pytest.skip(f"agspec-tui models pull {name}")
    compare(path, {"n_ctx": 8192})


@pytest.mark.parametrize(("write", "n_kept"), [(write_lfm2, 6), (write_lfm2, 0), (write_mamba, 0)])
def test_states_of_recurrent_and_hybrid_models_are_counted(write, n_kept, smollm2, tmp_path):
    compare(write(tmp_path / "m.gguf", smollm2), {"n_ctx": 2048, "n_snapshots": n_kept})
