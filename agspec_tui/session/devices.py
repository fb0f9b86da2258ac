"""The devices of this machine and of RPC servers, found in a process of its own.

Asking a GPU for its memory makes a context on it that stays; that must not happen in the process of
the screen, and a driver that fails must not end it. A build for the CPU alone is not asked at all.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from agspec_tui.engine.devices import has_gpu_library
from agspec_tui.engine_events import Device
from agspec_tui.errors import EngineError

_MODULE = "agspec_tui.engine.llama_devices"
_PLUGIN = "GGML_BACKEND_PATH"
_LIMIT_S = 60.0


def found_devices(servers: Sequence[str] = ()) -> tuple[Device, ...]:
    """Every device llama.cpp can use, the CPU included; none where that is the only one.

    Args:
        servers: RPC servers, each as `host:port`.

    Raises:
        EngineError: they cannot be listed, or a server cannot be used.
    """
    if not servers and not _has_plugin() and not has_gpu_library():
        return ()
    return listed_devices(servers)


def listed_devices(servers: Sequence[str] = (), module: str = _MODULE) -> tuple[Device, ...]:
    """Every device llama.cpp can use, as another process lists them.

    Args:
        servers: RPC servers, each as `host:port`.
        module: what lists them.

    Raises:
        EngineError: they cannot be listed, or a server cannot be used.
    """
    command = [sys.executable, "-m", module, ",".join(servers)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise EngineError(
            f"the devices could not be listed in {_LIMIT_S:.0f} s", "check the driver, or --rpc"
        ) from error
    if done.returncode == 2:
        message, _, hint = done.stderr.strip().rpartition("\n")
        raise EngineError(message.rpartition("\n")[2] or hint, hint if message else "")
    try:
        if done.returncode == 0:
            return msgspec.json.decode(done.stdout, type=tuple[Device, ...])
    except msgspec.DecodeError:
        pass
    last = done.stderr.strip().rpartition("\n")[2]
    raise EngineError(
        f"the devices could not be listed: {last or 'the process died'}",
        "check the driver; --gpu-layers 0 does without",
    )


def _has_plugin() -> bool:
    return bool(os.environ.get(_PLUGIN))
