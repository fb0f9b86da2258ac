"""T(n) and λ of this machine: measured once for each model, device, threads and batch, then kept.

The file of a measurement is the JSON document of `agspec-tui calibrate`. It holds times and no
text.
"""

import contextlib
import hashlib
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from agspec_tui.commands import Calibrate, ConfigureDrafting, LoadModel
from agspec_tui.config import Config, calibration_dir
from agspec_tui.engine.calibrate import require_sense
from agspec_tui.engine.client import EngineClient
from agspec_tui.engine.scripted import SCHEME
from agspec_tui.errors import AgspecError, EngineError, UsageError
from agspec_tui.events import ModelLoaded
from agspec_tui.policy.cost import Cost, shape_of

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 17, 20, 24, 32, 33, 40, 48, 64)
"""Tokens a pass that the command measures: close together where kernels change."""
QUICK_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Those of the automatic measurement, as far as a draft may use them."""
DEPTH = 1000
"""Tokens in the cache before a pass."""
FULL_S = 45.0
"""Seconds after which the command begins no further pass."""
QUICK_S = 6.0
"""Seconds after which the automatic measurement begins no further pass."""
ANEW_S = 40.0
"""The same for a comparison, which needs the times of its own hour and of a longer context."""
SEVERAL_S = 15.0
"""The same where several replies are going to be decoded at once, in larger passes."""
_SCHEMA = 1
_END_BYTES = 1 << 20
_N_ROUNDS = 9


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement, as it is kept."""

    schema: int = _SCHEMA
    """Version of this document's shape."""
    model: str
    """Name of the model."""
    fingerprint: str
    """Identity of the model file, in hexadecimal."""
    device: str
    """What it ran on."""
    threads: int
    """Threads used for decoding."""
    n_batch: int
    """Most tokens in one decode."""
    n_exact: int = 0
    """Most tokens in one decode that are exact to the bit; drafts stay below it. 0: no limit."""
    batch: int
    """Sequences in a pass."""
    depth: int = 0
    """Tokens that each had in the cache before a pass."""
    n_rounds: int = 1
    """How often every size was measured."""
    created_s: float
    """When, in seconds since 1970."""
    times: tuple[tuple[int, float], ...]
    """T(n): tokens of each sequence in a pass, and the median of its seconds."""
    break_even: float
    """λ, the acceptance probability at which one more drafted token pays for itself."""


def is_measurable(load: LoadModel) -> bool:
    """Whether it is a model: the passes of a script cost what the script says."""
    return not load.path.startswith(SCHEME)


def path_of(load: LoadModel, loaded: ModelLoaded) -> Path:
    """File of the measurement for a loaded model, of one sequence."""
    parts = (
        _fingerprint(load.path),
        loaded.device,
        _processor(),
        str(loaded.n_threads),
        str(load.n_gpu_layers),
        load.flash_attention,
        load.cache_type_k,
        load.cache_type_v,
        # The quick measurement of exact passes ends where they do.
        *(() if load.exact else ("inexact",)),
        *(() if load.packed_weights else ("plain weights",)),
        *(() if load.own_kernels else ("kernels of llama.cpp",)),
    )
    name = hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()
    return calibration_dir() / f"{name}.json"


def read(path: Path) -> Calibration | None:
    """Read a measurement; None if there is no file.

    Raises:
        UsageError: the file is no measurement, or what it says makes no sense.
    """
    hint = "measure again: agspec-tui calibrate"
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Calibration)
        if found.schema != _SCHEMA:
            raise UsageError(f"{path} has the schema {found.schema}, not {_SCHEMA}", hint)
        require_sense(found.times)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, EngineError) as error:
        raise UsageError(f"{path} is no measurement of a model: {error}", hint) from error
    if not 0.0 < found.break_even < 1.0:
        raise UsageError(f"{path} says λ = {found.break_even}, which is no probability", hint)
    return found


def write(path: Path, calibration: Calibration) -> None:
    """Keep a measurement; a crash leaves the old file or the new one.

    Raises:
        UsageError: the folder cannot be written to.
    """
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staged.write_bytes(encode(calibration))
        staged.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            staged.unlink()
        raise UsageError(
            f"the measurement could not be kept in {path.parent}: {error.strerror}",
            "it will be made again at the next start",
        ) from error


def encode(calibration: Calibration) -> bytes:
    """The JSON document."""
    return msgspec.json.format(msgspec.json.encode(calibration), indent=2) + b"\n"


async def measure(
    client: EngineClient,
    load: LoadModel,
    loaded: ModelLoaded,
    *,
    batch: int = 1,
    sizes: Sequence[int] = SIZES,
    budget_s: float = FULL_S,
) -> Calibration:
    """Measure with a loaded engine that has nothing else to do.

    Sizes that do not fit the engine's batch are left out.

    Raises:
        EngineError: it cannot be measured, or the engine died over it.
    """
    command = Calibrate(
        request=-batch,
        sizes=tuple(size for size in sizes if size * batch <= load.n_batch),
        batch=batch,
        depth=DEPTH,
        n_rounds=_N_ROUNDS,
        budget_s=budget_s,
    )
    event = await client.calibrate(command)
    return Calibration(
        model=loaded.model,
        fingerprint=_fingerprint(load.path),
        device=loaded.device,
        threads=loaded.n_threads,
        n_batch=load.n_batch,
        n_exact=loaded.n_exact,
        batch=batch,
        depth=event.depth,
        n_rounds=event.n_rounds,
        created_s=time.time(),
        times=event.times,
        break_even=event.break_even,
    )


async def measured_once(
    client: EngineClient,
    load: LoadModel,
    loaded: ModelLoaded,
    config: Config,
    complain: Callable[[AgspecError], object],
    n_at_once: int = 1,
    *,
    anew: bool = False,
) -> Calibration | None:
    """The kept measurement; where there is none, measure now, in a few seconds, and keep it.

    A kept one of other exact passes counts as none. So does one that ends before the largest size
    where several replies are going to be decoded at once, since exact passes do not bound them.
    Whatever goes wrong is given to `complain`; drafts are then decided by the defaults.

    Args:
        client: an engine with the model.
        load: what it was asked to load.
        loaded: what it loaded.
        config: the settings.
        complain: told of what goes wrong.
        n_at_once: replies that are going to be decoded at once.
        anew: measure in any case, and with more care.

    Returns:
        None for a script, and where nothing was kept and nothing can or shall be measured.
    """
    if not is_measurable(load):
        return None
    found: Calibration | None = None
    try:
        path = path_of(load, loaded)
        try:
            found = read(path)
        except UsageError:
            if not config.calibrate:  # a damaged file is measured anew
                raise
        several = n_at_once > 1
        sizes = quick_sizes(loaded.n_exact, several=several)
        n_last = max(size for size in sizes if size <= load.n_batch) if several else 1
        if config.calibrate and (anew or found is None or not _serves(found, loaded, n_last)):
            budget_s = ANEW_S if anew else SEVERAL_S if several else QUICK_S
            found = await measure(client, load, loaded, sizes=sizes, budget_s=budget_s)
            write(path, found)
    except (EngineError, UsageError) as error:
        complain(error)
    return found


def _serves(found: Calibration, loaded: ModelLoaded, n_last: int) -> bool:
    """Whether a kept measurement is of these passes, up to `n_last` tokens or more."""
    return found.n_exact == loaded.n_exact and found.times[-1][0] >= n_last


def quick_sizes(n_exact: int, *, several: bool = False) -> tuple[int, ...]:
    """The sizes that a draft may make a pass have, and the largest exact one.

    Args:
        n_exact: most tokens of a pass that is exact; 0 for no limit.
        several: whether several replies are going to be decoded at once, in passes of any size.
    """
    if n_exact < 2:
        return QUICK_SIZES
    most = min(n_exact, QUICK_SIZES[-1])
    return tuple(sorted({*(size for size in QUICK_SIZES if several or size < most), most}))


def with_cost(
    drafting: ConfigureDrafting,
    calibration: Calibration | None,
    config: Config,
    device: str,
) -> ConfigureDrafting:
    """Settings that decide by what was measured, else by the shipped shape of the device.

    λ is the measured one only where the user has chosen none.

    Args:
        drafting: the settings without a cost.
        calibration: what was measured.
        config: what the user has chosen.
        device: what the model runs on.
    """
    if calibration is None:
        return msgspec.structs.replace(drafting, cost=shape_of(device).points)
    chosen = config.break_even != Config().break_even
    return msgspec.structs.replace(
        drafting,
        cost=Cost("measured", calibration.times).points,
        break_even=config.break_even if chosen else calibration.break_even,
    )


def _fingerprint(path: str) -> str:
    """Identity of a model file: its size and both its ends, where names, shapes and data lie.

    Raises:
        EngineError: it cannot be read.
    """
    try:
        with Path(path.removeprefix(SCHEME)).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            digest = hashlib.blake2b(str(size).encode(), digest_size=16)
            for start in (0, max(0, size - _END_BYTES)):
                file.seek(start)
                digest.update(file.read(_END_BYTES))
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror}") from error
    return digest.hexdigest()


def _processor() -> str:
    """Name of the processor: one device name, `CPU, 2 threads`, stands for many machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
