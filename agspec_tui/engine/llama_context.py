"""Makes models and contexts on llama.cpp, as the settings say, and says what they run on."""

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import llama_cpp
import psutil

from agspec_tui.commands import LoadModel
from agspec_tui.engine.devices import choose
from agspec_tui.engine.llama_amx import amx_works, has_amx, has_room
from agspec_tui.engine.llama_devices import add_servers, devices
from agspec_tui.engine.llama_tokenizer import DAMAGED
from agspec_tui.engine.verify import CancelFlag
from agspec_tui.engine_events import Device
from agspec_tui.errors import EngineError

_LOG_WARN, _LOG_ERROR = 3, 4  # ggml_log_level
_ALL_LAYERS = 999
_FLASH = {"auto": -1, "off": 0, "on": 1}  # llama_flash_attn_type
_SPLIT = {"none": 0, "layer": 1, "row": 2}  # llama_split_mode
_TYPES = {
    "f32": llama_cpp.GGML_TYPE_F32,
    "f16": llama_cpp.GGML_TYPE_F16,
    "bf16": 30,  # not declared by llama-cpp-python
    "q8_0": llama_cpp.GGML_TYPE_Q8_0,
    "q5_1": llama_cpp.GGML_TYPE_Q5_1,
    "q5_0": llama_cpp.GGML_TYPE_Q5_0,
    "q4_1": llama_cpp.GGML_TYPE_Q4_1,
    "q4_0": llama_cpp.GGML_TYPE_Q4_0,
    "iq4_nl": llama_cpp.GGML_TYPE_IQ4_NL,
}


@dataclass(frozen=True, slots=True)
class Placement:
    """What a model runs on."""

    devices: tuple[Device, ...]
    """Devices that hold layers; none: everything is on the CPU."""
    handles: tuple[int, ...]
    """Their handles in ggml."""
    n_gpu_layers: int
    """Layers on them, the output one included; −1 means all."""
    n_threads: int
    """Threads for decoding."""

    @property
    def on_cpu(self) -> bool:
        """Whether nothing is on a device."""
        return not self.devices

    def label(self, n_layers: int, *, packed: bool) -> str:
        """What it runs on, in words.

        Args:
            n_layers: layers of the model, the output one included.
            packed: whether weights on the CPU lie in extra buffers.
        """
        cpu = f"CPU, {self.n_threads} threads{', AMX' if packed and has_amx() else ''}"
        if self.on_cpu:
            return cpu
        names = " + ".join(f"{device.name} ({device.description})" for device in self.devices)
        if 0 <= self.n_gpu_layers < n_layers:
            return f"{names}: {self.n_gpu_layers} of {n_layers} layers; {cpu}"
        return names


def place(load: LoadModel) -> Placement:
    """Find the devices that the settings name.

    Raises:
        EngineError: a device is unknown, or RPC servers cannot be used.
    """
    add_servers(load.rpc)
    known = devices()
    chosen = choose([device for device, _ in known], load.devices, load.split)
    if load.n_gpu_layers == 0:
        chosen = []
    handles = {device.name: handle for device, handle in known}
    return Placement(
        devices=tuple(chosen),
        handles=tuple(handles[device.name] for device in chosen),
        n_gpu_layers=load.n_gpu_layers if chosen else 0,
        n_threads=load.n_threads or default_threads(),
    )


def packs_weights(load: LoadModel, placement: Placement) -> bool:
    """Whether the weights are to lie in llama.cpp's extra buffers, packed anew for faster kernels.

    Those of AMX are as exact as plain ones. Others change the order of sums with the number of
    tokens; they come along with AMX, so that whoever wants exact passes has to look afterwards.
    """
    works = amx_works()  # at the first load in any case: threads of a computation survive no fork
    if not load.packed_weights:
        return False
    if has_amx():
        return works and has_room(load)
    return not placement.on_cpu or not load.exact


def load_model(load: LoadModel, placement: Placement, *, packed: bool) -> object:
    """Load the weights.

    Args:
        load: the file and how it is loaded.
        placement: what it runs on.
        packed: whether they lie in extra buffers.

    Raises:
        EngineError: the file cannot be loaded.
    """
    params = llama_cpp.llama_model_default_params()
    n_layers = placement.n_gpu_layers
    params.n_gpu_layers = _ALL_LAYERS if n_layers < 0 else n_layers
    params.split_mode = _SPLIT[load.split] if placement.handles else 1
    # A list is always given: without one llama.cpp would take every device that it knows.
    handles = (ctypes.c_void_p * (len(placement.handles) + 1))(*placement.handles, None)
    params.devices = ctypes.cast(handles, ctypes.c_void_p)
    params.use_extra_bufts = packed
    model = llama_cpp.llama_model_load_from_file(os.fsencode(Path(load.path)), params)
    if not model:
        hint = f"{DAMAGED}; see the engine's log"
        if not placement.on_cpu:
            hint = f"{DAMAGED}, or it does not fit: fewer n_gpu_layers; see the engine's log"
        raise EngineError(f"{load.path} could not be loaded as a model", hint)
    return model


def make_context(model: object, load: LoadModel, placement: Placement, flag: CancelFlag) -> object:
    """Make a context with its cache.

    Args:
        model: what `load_model` returned.
        load: sizes and types.
        placement: what the model runs on.
        flag: aborts a decode while it is set.

    Raises:
        EngineError: the cache type cannot be had, or the context does not fit into memory.
    """
    flash = flash_attention(load, on_cpu=placement.on_cpu)
    _require_type(load, flash)
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = load.n_ctx
    params.n_batch = params.n_ubatch = load.n_batch
    params.n_seq_max = load.n_seq_max
    params.n_rs_seq = load.n_snapshots  # taken as 0 where a model has or keeps no state
    params.kv_unified = True  # roles share the context instead of owning a fixed part of it
    # A cache of the window's size forgets what a rejected draft pushed out of the window.
    params.swa_full = True
    params.n_threads = placement.n_threads
    params.n_threads_batch = load.n_threads_batch or placement.n_threads
    params.flash_attn_type = _FLASH[flash]
    params.type_k, params.type_v = _TYPES[load.cache_type_k], _TYPES[load.cache_type_v]
    params.abort_callback = ctypes.cast(flag.callback_address, llama_cpp.ggml_abort_callback)
    params.abort_callback_data = flag.data_address
    context = llama_cpp.llama_init_from_model(model, params)
    if not context:
        raise EngineError(
            f"a context of {load.n_ctx} tokens could not be made",
            "it needs more memory than there is; choose a smaller n_ctx",
        )
    return context


def flash_attention(load: LoadModel, *, on_cpu: bool) -> str:
    """`on`, `off` or `auto`: on the CPU it sums in an order that depends on the number of tokens,
    so there it is off unless asked for.
    """
    return "off" if load.flash_attention == "auto" and on_cpu else load.flash_attention


def _require_type(load: LoadModel, flash: str) -> None:
    """Refuse what llama.cpp would refuse in its log only."""
    quantised = load.cache_type_v not in ("f32", "f16", "bf16")
    if quantised and flash == "off":
        raise EngineError(
            f"a cache of values in {load.cache_type_v} needs flash attention, which is off",
            "turn it on, or quantise the keys only: cache_type_k",
        )


def default_threads() -> int:
    """Physical cores: a second thread on a core slows decoding down."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(psutil.cpu_count(logical=False) or 1, allowed or 1))


def log_warnings() -> None:
    """Keep warnings and errors of the library; its chatter would fill the log with tensors."""
    llama_cpp.llama_log_set(_log_callback, ctypes.c_void_p(0))


def _log_warnings(level: int, text: bytes, _: object) -> None:
    if level in (_LOG_WARN, _LOG_ERROR):
        sys.stderr.write(text.decode("utf-8", "replace"))


_log_callback = llama_cpp.llama_log_callback(_log_warnings)  # the library keeps the pointer
