"""Bounds what the engine process may take, so that it fails and not the machine."""

import contextlib
import gc
import resource
import sys
from pathlib import Path

import psutil

from agspec_tui.commands import LoadModel
from agspec_tui.engine.devices import has_gpu_library

_OOM_SCORE = "500"
_SPARE_BYTES = 2 << 30


def limit_memory(load: LoadModel) -> None:
    """Bound the address space, so that an absurd context fails here and not machine-wide.

    The mapped model file counts as address space but not as used memory, so it comes on top. With a
    GPU there is no bound, since its runtime maps as much as there is memory anywhere; the process
    is then at least the first one that the kernel ends.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
    # On macOS the limit does not hold for mapped memory.
    if sys.platform == "darwin" or (load.n_gpu_layers != 0 and has_gpu_library()):
        return
    model = Path(load.path)
    size = model.stat().st_size if model.is_file() else 0
    used = psutil.Process().memory_info().vms
    limit = used + size + psutil.virtual_memory().available + _SPARE_BYTES
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def spare_the_collector() -> None:
    """Let the garbage collector leave alone what there is now, and look for more less often.

    A step makes a few hundred objects, nearly none of them in cycles; looking for cycles among all
    that a loaded engine holds took longer than the step.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
