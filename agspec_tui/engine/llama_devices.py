"""What llama.cpp can compute on: its devices as it names them, and servers of its RPC back end.

llama-cpp-python declares nothing of ggml's device registry, so the few functions are declared here.
"""

import ctypes
import os
import sys
from collections.abc import Sequence

import llama_cpp
import msgspec
from llama_cpp import _ggml

from agspec_tui.engine_events import Device
from agspec_tui.errors import EngineError

_KINDS = {0: "cpu", 1: "gpu", 2: "igpu", 3: "accelerator", 4: "meta"}
_RPC = b"RPC"
_PLUGIN = "GGML_BACKEND_PATH"
"""llama.cpp's own variable: a back end to load that was built by itself."""

_pointer, _text = ctypes.c_void_p, ctypes.c_char_p
_sizes = ctypes.POINTER(ctypes.c_size_t)
_FUNCTIONS: dict[str, tuple[list[type], type | None]] = {
    "ggml_backend_dev_count": ([], ctypes.c_size_t),
    "ggml_backend_dev_get": ([ctypes.c_size_t], _pointer),
    "ggml_backend_dev_name": ([_pointer], _text),
    "ggml_backend_dev_description": ([_pointer], _text),
    "ggml_backend_dev_type": ([_pointer], ctypes.c_int),
    "ggml_backend_dev_memory": ([_pointer, _sizes, _sizes], None),
    "ggml_backend_reg_by_name": ([_text], _pointer),
    "ggml_backend_reg_get_proc_address": ([_pointer, _text], _pointer),
    "ggml_backend_reg_dev_count": ([_pointer], ctypes.c_size_t),
    "ggml_backend_reg_dev_get": ([_pointer, ctypes.c_size_t], _pointer),
    "ggml_backend_register": ([_pointer], None),
    "ggml_backend_load": ([_text], _pointer),
}


def _ggml_function(name: str) -> "ctypes._NamedFuncPointer":
    function = getattr(_ggml.libggml, name)
    function.argtypes, function.restype = _FUNCTIONS[name]
    return function  # type: ignore[no-any-return]


def devices() -> list[tuple[Device, int]]:
    """Every device of this build, the CPU too, each with its handle."""
    llama_cpp.llama_backend_init()
    get = _ggml_function("ggml_backend_dev_get")
    handles = [get(index) for index in range(_ggml_function("ggml_backend_dev_count")())]
    return [(_device(handle), handle) for handle in handles]


def _device(handle: int) -> Device:
    n_free, n_total = ctypes.c_size_t(), ctypes.c_size_t()
    _ggml_function("ggml_backend_dev_memory")(handle, n_free, n_total)
    kind = _KINDS.get(_ggml_function("ggml_backend_dev_type")(handle), "unknown")
    name = _ggml_function("ggml_backend_dev_name")(handle).decode()
    return Device(
        name=name,
        description=_ggml_function("ggml_backend_dev_description")(handle).decode(),
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
    find = _ggml_function("ggml_backend_reg_get_proc_address")
    address = find(registry, b"ggml_backend_rpc_add_server")
    if not address:
        raise EngineError("the RPC back end takes no servers", "use the llama.cpp of this package")
    add = ctypes.CFUNCTYPE(_pointer, _text)(address)
    for server in servers:
        added = add(server.encode())
        if not added:
            raise EngineError(
                f"no llama.cpp RPC server answers at {server}",
                "start one there: rpc-server --host HOST --port PORT, of the same llama.cpp",
            )
        if server not in _known_servers:
            _ggml_function("ggml_backend_register")(added)
            _known_servers.add(server)


_known_servers: set[str] = set()


def _rpc_registry() -> int | None:
    by_name = _ggml_function("ggml_backend_reg_by_name")
    registry: int | None = by_name(_RPC)
    plugin = os.environ.get(_PLUGIN)
    if not registry and plugin:
        _ggml_function("ggml_backend_load")(os.fsencode(plugin))
        registry = by_name(_RPC)
    return registry


def choose(names: Sequence[str], split: str) -> list[tuple[Device, int]]:
    """The devices that may hold layers: those named, else all but the CPU and integrated GPUs.

    An integrated GPU is chosen where there is no other, as llama.cpp does.

    Args:
        names: as llama.cpp names them; `CPU` alone keeps everything on the CPU.
        split: `none` keeps the first one only.

    Raises:
        EngineError: a name is unknown; the hint lists the known ones.
    """
    known = [(device, handle) for device, handle in devices() if device.kind != "accelerator"]
    if names:
        by_name = {device.name.lower(): (device, handle) for device, handle in known}
        missing = [name for name in names if name.lower() not in by_name]
        if missing:
            listed = ", ".join(device.name for device, _ in known)
            raise EngineError(f"there is no device {missing[0]}", f"known here: {listed}")
        chosen = [by_name[name.lower()] for name in names]
        chosen = [(device, handle) for device, handle in chosen if device.kind != "cpu"]
    else:
        # Remote devices come first, as llama.cpp orders them: fewest tensors cross the network.
        remote = [pair for pair in known if pair[0].kind == "rpc"]
        own = [pair for pair in known if pair[0].kind == "gpu"]
        integrated = [pair for pair in known if pair[0].kind == "igpu"][:1]
        chosen = remote + (own or ([] if remote else integrated))
    return chosen[:1] if split == "none" else chosen


def main() -> None:
    """Print the devices as JSON; the only argument names RPC servers, with commas between."""
    try:
        add_servers([name for name in sys.argv[1].split(",") if name])
        found = [device for device, _ in devices()]
        print(msgspec.json.encode(found).decode())
    except EngineError as error:
        sys.exit(f"{error.message}\n{error.hint}")


if __name__ == "__main__":
    main()
