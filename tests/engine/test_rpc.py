"""A model whose layers are on an RPC server of llama.cpp, where the build has that back end."""

import socket
import subprocess
import sys
import time

import pytest

from agspec_tui.commands import LoadModel
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.llama_devices import _rpc_registry, add_servers
from agspec_tui.engine.types import Part
from agspec_tui.errors import EngineError
from agspec_tui.session.egress import EgressMeter

SERVER = """
import ctypes, sys
from agspec_tui.engine.llama_ggml import ggml_function
from agspec_tui.engine.llama_devices import _rpc_registry, devices
find = ggml_function("ggml_backend_reg_get_proc_address")
start = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p
)(find(_rpc_registry(), b"ggml_backend_rpc_start_server"))
cpu = next(handle for device, handle in devices() if device.kind == "cpu")
start(sys.argv[1].encode(), None, 1, 1, ctypes.cast((ctypes.c_void_p * 1)(cpu), ctypes.c_void_p))
"""

pytestmark = [
    pytest.mark.model,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not _rpc_registry(), reason="this build of llama.cpp has no RPC back end (-DGGML_RPC=ON)"
    ),
]


@pytest.fixture(scope="module")
def server():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    host, _, port = address.partition(":")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((host, int(port))) == 0:
                break
        time.sleep(0.1)
    yield address
    process.kill()
    process.wait()


def greedy(backend, ids, n_tokens):
    out = []
    backend.decode([Part(ids[:-1], 0, 0, 0)])
    token, pos = ids[-1], len(ids) - 1
    for _ in range(n_tokens):
        token = int(backend.decode([Part([token], pos, 0, 1)])[0].argmax())
        out.append(token)
        pos += 1
    return out


def test_layers_on_a_server_give_the_tokens_of_layers_here(server, smollm2):
    replies = {}
    for servers in ((), (server,)):
        load = LoadModel(path=str(smollm2), name="m", n_ctx=512, n_batch=128, rpc=servers)
        if not servers:
            load = LoadModel(path=str(smollm2), name="m", n_ctx=512, n_batch=128, n_gpu_layers=0)
        backend = LlamaBackend(load)
        ids = backend.tokenize("def total(prices):\n    result = 0\n", special=False).tolist()
        replies[servers] = greedy(backend, ids, 16)
        if servers:
            assert backend.device == f"RPC0 ({server})"
            assert backend.no_rollback == ""
            assert EgressMeter().sample(None) > 0  # what the screen counts tells of it
        backend.close()
    assert replies[()] == replies[(server,)]


def test_a_server_that_is_gone_is_refused_and_does_not_end_the_process():
    with pytest.raises(EngineError, match=r"no RPC server answers at 127\.0\.0\.1:9"):
        add_servers(["127.0.0.1:9"])
