"""What llama.cpp can compute on: its devices as it names them, and servers of its RPC back end."""

import ctypes
import os
import socket
import sys
from collections.abc import Sequence

import llama_cpp
import msgspec

from agspec_tui.engine.devices import address_of
from agspec_tui.engine.llama_ggml import ggml_function, pointer, text
from agspec_tui.engine_events import Device
from agspec_tui.errors import AgspecError, EngineError

_KINDS = {0: "cpu", 1: "gpu", 2: "igpu", 3: "accelerator", 4: "meta"}
_RPC = b"RPC"
_PLUGIN = "GGML_BACKEND_PATH"
"""llama.cpp's own variable: a back end to load that was built by itself."""

_START = "start one there: rpc-server --host HOST --port PORT, of the same llama.cpp"
_PATIENCE_S = 5.0


def devices() -> list[tuple[Device, int]]:
    """Every device of this build, the CPU too, each with its handle."""
    llama_cpp.llama_backend_init()
    get = ggml_function("ggml_backend_dev_get")
    handles = [get(index) for index in range(ggml_function("ggml_backend_dev_count")())]
    return [(_device(handle), handle) for handle in handles]


def _device(handle: int) -> Device:
    n_free, n_total = ctypes.c_size_t(), ctypes.c_size_t()
    ggml_function("ggml_backend_dev_memory")(handle, n_free, n_total)
    kind = _KINDS.get(ggml_function("ggml_backend_dev_type")(handle), "unknown")
    name = ggml_function("ggml_backend_dev_name")(handle).decode()
    return Device(
        name=name,
        description=ggml_function("ggml_backend_dev_description")(handle).decode(),
        kind="rpc" if name.startswith("RPC") else kind,
        free_bytes=n_free.value,
        total_bytes=n_total.value,
    )


def add_servers(servers: Sequence[str]) -> None:
    """Make the devices of llama.cpp RPC servers known.

    Args:
        servers: each as `host:port`.

    Raises:
        EngineError: this build has no RPC back end, or a server does not answer.
    """
    if not servers:
        return
    registry = _rpc_registry()
    if not registry:
        raise EngineError(
            "this build of llama.cpp has no RPC back end",
            "build it with CMAKE_ARGS=-DGGML_RPC=ON, or set GGML_BACKEND_PATH to its libggml-rpc",
        )
    find = ggml_function("ggml_backend_reg_get_proc_address")
    address = find(registry, b"ggml_backend_rpc_add_server")
    if not address:
        raise EngineError("the RPC back end takes no servers", "use the llama.cpp of this package")
    add = ctypes.CFUNCTYPE(pointer, text)(address)
    for server in servers:
        _require_answer(server)
        added = add(server.encode())
        if not added:
            raise EngineError(f"what answers at {server} is no llama.cpp RPC server", _START)
        if server not in _known_servers:
            ggml_function("ggml_backend_register")(added)
            _known_servers.add(server)


_known_servers: set[str] = set()


def _require_answer(server: str) -> None:
    """Connect once: llama.cpp ends the process where nothing answers."""
    host, port = address_of(server)
    try:
        socket.create_connection((host, port), timeout=_PATIENCE_S).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise EngineError(f"no RPC server answers at {server}: {reason}", _START) from error


def _rpc_registry() -> int | None:
    by_name = ggml_function("ggml_backend_reg_by_name")
    registry: int | None = by_name(_RPC)
    plugin = os.environ.get(_PLUGIN)
    if not registry and plugin:
        ggml_function("ggml_backend_load")(os.fsencode(plugin))
        registry = by_name(_RPC)
    return registry


def main() -> None:
    """Print the devices as JSON; the only argument names RPC servers, with commas between."""
    try:
        add_servers([name for name in sys.argv[1].split(",") if name])
        found = [device for device, _ in devices()]
        print(msgspec.json.encode(found).decode())
    except AgspecError as error:
        print(f"{error.message}\n{error.hint}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
