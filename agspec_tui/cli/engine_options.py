"""The options that say what a model runs on; every command that loads one has them."""

import functools
from collections.abc import Callable
from typing import Any, get_args

import click
import msgspec

from agspec_tui.config import Config, load
from agspec_tui.engine_events import CacheType

_OPTIONS = (
    click.option("--model", metavar="NAME|PATH", help="A name of the catalogue, or a GGUF file."),
    click.option("--n-ctx", type=int, metavar="N", help="Context in tokens."),
    click.option(
        "--gpu-layers",
        "n_gpu_layers",
        type=int,
        metavar="N",
        help="Layers on devices; -1 for as many as fit, 0 for none.",
    ),
    click.option("--device", metavar="A,B,…", help="Devices that may hold layers; CPU for none."),
    click.option(
        "--flash-attn",
        "flash_attention",
        type=click.Choice(["auto", "on", "off"]),
        help="Flash attention; auto is off on the CPU.",
    ),
    click.option(
        "--kv-type",
        "kv_type",
        type=click.Choice(get_args(CacheType)),
        metavar="TYPE",
        help="Type of the KV cache: f16, q8_0, q4_0, ….",
    ),
    click.option("--threads", "n_threads", type=int, metavar="N", help="Threads for decoding."),
    click.option(
        "--rpc",
        metavar="HOST:PORT,…",
        help="llama.cpp RPC servers that hold layers too; your text goes to them.",
    ),
)


def engine_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options; it gets the settings as its first argument, `config`."""

    @functools.wraps(command)
    def with_config(**arguments: Any) -> int:
        names = ("model", "n_ctx", "n_gpu_layers", "device", "flash_attention", "n_threads", "rpc")
        given = {name: arguments.pop(name) for name in names}
        kv_type = arguments.pop("kv_type")
        given["cache_type_k"] = given["cache_type_v"] = kv_type
        changes = {name: value for name, value in given.items() if value is not None}
        config: Config = msgspec.structs.replace(load(), **changes)
        return command(config=config, **arguments)

    for option in reversed(_OPTIONS):
        with_config = option(with_config)
    return with_config
