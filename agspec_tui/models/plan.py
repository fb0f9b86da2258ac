"""The memory plan: what a model needs, against what is there, before it is loaded.

An over-large context is not refused by llama.cpp: memory grows until the kernel kills the process.
"""

from collections.abc import Sequence

import msgspec

from agspec_tui.engine_events import Device
from agspec_tui.errors import ModelError, UsageError
from agspec_tui.models.catalogue import ENTRIES
from agspec_tui.models.gguf import GgufHeader
from agspec_tui.models.memory import available_bytes
from agspec_tui.models.needs import (
    N_CTX_STEP,
    PROCESS_BYTES,
    UNQUANTISED,
    Needs,
    Wanted,
    has_flash,
    require_sense,
    split,
)

_RESERVE = 0.95
"""Share of a device's free memory that is planned with: its runtime takes some."""
_SMALL_BATCH = 128


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """Memory that may be taken."""

    host: int
    """Bytes of the host."""
    devices: tuple[Device, ...] = ()
    """Devices that may hold layers, with what is free on them."""

    @property
    def on_devices(self) -> int:
        """Bytes of all devices together."""
        return int(_RESERVE * sum(device.free_bytes for device in self.devices))

    @property
    def is_shared(self) -> bool:
        """Whether devices take their memory from the host's."""
        return any(d.kind == "igpu" or d.name.startswith(("MTL", "Metal")) for d in self.devices)


class MemoryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Memory one loaded model takes."""

    wanted: Wanted
    """The settings."""
    n_gpu_layers: int
    """Layers on devices, the output layer included."""
    n_layers: int
    """All layers, the output layer included."""
    host: Needs
    """What the host needs, the process left out."""
    devices: Needs
    """What the devices need."""
    process_bytes: int = PROCESS_BYTES
    """The engine process without the model."""

    @property
    def total_bytes(self) -> int:
        """What the host needs."""
        return self.host.total + self.process_bytes

    def fits(self, room: Room) -> bool:
        """Whether there is memory enough."""
        if self.n_gpu_layers and room.is_shared:
            return self.total_bytes + self.devices.total <= min(
                room.host, room.on_devices + self.total_bytes
            )
        return self.total_bytes <= room.host and self.devices.total <= room.on_devices


def plan(header: GgufHeader, wanted: Wanted, room: Room | None = None) -> MemoryPlan:
    """Estimate the memory of a model; with −1 layers wanted, with as many on devices as fit.

    Where not even the smallest share fits, the plan is the one without devices.

    Args:
        header: the model.
        wanted: the settings.
        room: what is there; None plans for the CPU.

    Raises:
        UsageError: the settings make no sense.
    """
    require_sense(header, wanted)
    n_layers = header.n_layers + 1
    if room is None or not room.devices or wanted.n_gpu_layers == 0:
        return _made(header, wanted, 0)
    if wanted.n_gpu_layers > 0:
        return _made(header, wanted, min(wanted.n_gpu_layers, n_layers))
    for n in range(n_layers, 0, -1):
        made = _made(header, wanted, n)
        if made.fits(room):
            return made
    return _made(header, wanted, 0)


def _made(header: GgufHeader, wanted: Wanted, n_gpu_layers: int) -> MemoryPlan:
    host, devices = split(header, wanted, n_gpu_layers)
    return MemoryPlan(
        wanted=wanted,
        n_gpu_layers=n_gpu_layers,
        n_layers=header.n_layers + 1,
        host=host,
        devices=devices,
    )


def trained_n_ctx(header: GgufHeader, n_ctx: int) -> int:
    """The wanted context, or the trained one where that is smaller: for a default, not a request.

    Args:
        header: the model.
        n_ctx: wanted context in tokens.
    """
    return min(n_ctx, header.n_ctx_train) if header.n_ctx_train else n_ctx


def largest_n_ctx(header: GgufHeader, wanted: Wanted, room: Room) -> int:
    """The largest context that fits, in tokens, a multiple of 256; 0 if none does."""
    low, high = 0, (header.n_ctx_train or 1 << 20) // N_CTX_STEP
    while low < high:
        middle = (low + high + 1) // 2
        tried = msgspec.structs.replace(wanted, n_ctx=middle * N_CTX_STEP)
        if plan(header, tried, room).fits(room):
            low = middle
        else:
            high = middle - 1
    return low * N_CTX_STEP


def check_fits(header: GgufHeader, wanted: Wanted, room: Room | None = None) -> MemoryPlan:
    """Plan the memory and refuse what cannot work.

    Args:
        header: the model.
        wanted: the settings.
        room: memory that may be taken; by default what this process may still take, and no device.

    Raises:
        ModelError: the context is longer than the trained one or does not fit; the hint names the
            nearest settings that do.
        UsageError: the settings make no sense.
    """
    room = room or Room(host=available_bytes())
    made = plan(header, wanted, room)
    _require_flash(made)
    label = header.name or header.architecture
    largest = largest_n_ctx(header, wanted, room)
    n_ctx = wanted.n_ctx
    if largest and header.n_ctx_train and n_ctx > header.n_ctx_train:
        raise ModelError(
            f"a context of {n_ctx} tokens is more than {label} was trained for",
            f"it was trained for {header.n_ctx_train} tokens"
            + (f", of which {largest} fit" if largest < header.n_ctx_train else ""),
        )
    if made.fits(room):
        return made
    both = made.devices.total if made.n_gpu_layers and room.is_shared else 0
    where, needed, there = "memory", made.total_bytes + both, room.host
    if made.devices.total > room.on_devices:
        names = " and ".join(device.name for device in room.devices)
        where, needed, there = f"memory of {names}", made.devices.total, room.on_devices
    raise ModelError(
        f"{label} with a context of {n_ctx} tokens needs {in_units(needed)} "
        f"of {where}, {in_units(there)} are available",
        _nearest(header, wanted, room, largest),
    )


def _require_flash(made: MemoryPlan) -> None:
    kind = made.wanted.type_v
    if kind not in UNQUANTISED and not has_flash(made.wanted, made.n_gpu_layers):
        raise UsageError(
            f"a cache of values in {kind} needs flash attention, which is off on the CPU",
            "--flash-attn on (drafted replies may then differ at near ties), or values in f16",
        )


def _nearest(header: GgufHeader, wanted: Wanted, room: Room, largest: int) -> str:
    """The nearest settings that fit, in words."""
    fitting = []
    if largest and largest < wanted.n_ctx:
        fitting.append(f"the largest context that fits is {largest} tokens")
    for change, words in _changes(header, wanted, room):
        tried = msgspec.structs.replace(wanted, **change)
        try:
            fits = plan(header, tried, room).fits(room)
        except UsageError:
            continue
        if fits:
            fitting.append(words)
    if fitting:
        return "; ".join(fitting)
    smaller = [
        entry.name
        for entry in sorted(ENTRIES, key=lambda entry: -entry.n_bytes)
        if entry.n_bytes < header.n_bytes and entry.n_bytes + PROCESS_BYTES < room.host
    ]
    example = f", e.g. {smaller[0]}," if smaller else ""
    return f"no context fits; use a smaller model{example} or free memory"


def _changes(
    header: GgufHeader, wanted: Wanted, room: Room
) -> Sequence[tuple[dict[str, object], str]]:
    """Settings to try in the place of those that do not fit, and how to ask for them."""
    changes: list[tuple[dict[str, object], str]] = []
    if wanted.n_gpu_layers > 0 and room.devices:
        n = _most_layers(header, wanted, room)
        changes.append(({"n_gpu_layers": n}, f"{n} layers on devices fit (--gpu-layers {n})"))
    if any(header.n_head_kv) and wanted.type_k not in ("q8_0", "q4_0", "q4_1", "iq4_nl"):
        smaller: dict[str, object] = {"type_k": "q8_0", "type_v": "q8_0", "flash_attention": "on"}
        words = "a cache in q8_0 fits (--kv-type q8_0 --flash-attn on)"
        changes.append((smaller, words))
    if wanted.n_batch > _SMALL_BATCH:
        words = f"a batch of {_SMALL_BATCH} tokens fits (n_batch in config.toml)"
        changes.append(({"n_batch": _SMALL_BATCH}, words))
    return changes


def _most_layers(header: GgufHeader, wanted: Wanted, room: Room) -> int:
    return plan(header, msgspec.structs.replace(wanted, n_gpu_layers=-1), room).n_gpu_layers


def in_units(n_bytes: int) -> str:
    """A size as people read it: `1.1 GB`, `98 MB`."""
    if n_bytes >= 1_000_000_000:
        return f"{n_bytes / 1e9:.1f} GB"
    if n_bytes >= 1_000_000:
        return f"{n_bytes / 1e6:.0f} MB"
    return f"{n_bytes} bytes"
