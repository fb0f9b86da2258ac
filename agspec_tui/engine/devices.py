"""Which devices may hold layers, out of those that llama.cpp has; and addresses of RPC servers."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from agspec_tui.engine_events import Device
from agspec_tui.errors import EngineError, UsageError

_FOR_THE_CPU = ("ggml-base", "ggml-cpu", "ggml-blas", "ggml-rpc", "ggml.")
"""How libraries of ggml begin that are for no GPU."""


def has_gpu_library() -> bool:
    """Whether llama-cpp-python was built with a back end for a GPU; found without loading it."""
    spec = importlib.util.find_spec("llama_cpp")
    if spec is None or not spec.submodule_search_locations:
        return False
    folder = Path(spec.submodule_search_locations[0]) / "lib"
    names = (path.name.removeprefix("lib") for path in folder.glob("*ggml*"))
    return any(not name.startswith(_FOR_THE_CPU) for name in names)


def choose(known: Sequence[Device], names: Sequence[str], split: str) -> list[Device]:
    """The devices that may hold layers: those named, else all GPUs and remote devices.

    An integrated GPU is chosen where there is no other one, as llama.cpp does.

    Args:
        known: all devices.
        names: as llama.cpp names them; `CPU` alone keeps everything on the CPU.
        split: `none` keeps the first one only.

    Raises:
        EngineError: a name is unknown; the hint lists the known ones.
    """
    if names:
        by_name = {device.name.lower(): device for device in known}
        for name in names:
            if name.lower() not in by_name:
                listed = ", ".join(device.name for device in known) or "CPU"
                raise EngineError(f"there is no device {name}", f"known here: {listed}")
        named = [by_name[name.lower()] for name in names]
        chosen = [device for device in named if device.kind not in ("cpu", "accelerator")]
    else:
        # Remote devices come first, as llama.cpp orders them: fewest tensors cross the network.
        remote = [device for device in known if device.kind == "rpc"]
        own = [device for device in known if device.kind == "gpu"]
        integrated = [device for device in known if device.kind == "igpu"][:1]
        chosen = remote + (own or ([] if remote else integrated))
    return chosen[:1] if split == "none" else chosen


def servers_of(text: str) -> tuple[str, ...]:
    """RPC servers from `host:port,host:port`.

    Raises:
        UsageError: one is no address with a port.
    """
    servers = tuple(part.strip() for part in text.split(",") if part.strip())
    for server in servers:
        address_of(server)
    return servers


def address_of(server: str) -> tuple[str, int]:
    """Host and port of `host:port`.

    Raises:
        UsageError: it is none.
    """
    host, _, port = server.rpartition(":")
    if not host or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageError(f"{server!r} is no address of an RPC server", "--rpc host:port,…")
    return host, int(port)


def names_of(text: str) -> tuple[str, ...]:
    """Names of devices from `CUDA0,CUDA1`."""
    return tuple(part.strip() for part in text.split(",") if part.strip())
