"""The options that say what a model runs on; every command that loads one has them."""

import functools
from collections.abc import Callable
from typing import get_args

import click
import msgspec

from agspec_tui.config import MAX_CANDIDATES, Config, load
from agspec_tui.engine_events import CacheType

_MODEL = click.option(
    "--model", metavar="NAME|PATH", help="A name of the catalogue, or a GGUF file."
)
_OPTIONS = (
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
    click.option(
        "--exact",
        type=click.Choice(["on", "off"]),
        help="Keep drafts on the CPU so short that they cannot change a reply; off is faster.",
    ),
    click.option("--threads", "n_threads", type=int, metavar="N", help="Threads for decoding."),
    click.option(
        "--rpc",
        metavar="HOST:PORT,…",
        help="llama.cpp RPC servers that hold layers too; your text goes to them.",
    ),
)
_NAMES = ("model", "n_ctx", "n_gpu_layers", "device", "flash_attention", "n_threads", "rpc")


def engine_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options, `--model` too; it gets the settings as `config`."""
    return _MODEL(memory_options(command))


def candidates_option(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command whose session writes edits `--candidates`; stands below `engine_options`."""

    @functools.wraps(command)
    def with_candidates(config: Config, candidates: int | None, **arguments: object) -> int:
        if candidates is not None:
            config = msgspec.structs.replace(config, candidates=candidates)
        return command(config=config, **arguments)

    return click.option(
        "--candidates",
        type=click.IntRange(1, MAX_CANDIDATES),
        metavar="N",
        help="Patches written at once and tested in copies; the first that passes is taken.",
    )(with_candidates)


def memory_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options that decide how much memory is taken; it gets `config`."""

    @functools.wraps(command)
    def with_config(**arguments: object) -> int:
        given = {name: arguments.pop(name, None) for name in _NAMES}
        kv_type = arguments.pop("kv_type")
        given["cache_type_k"] = given["cache_type_v"] = kv_type
        exact = arguments.pop("exact")
        given["exact"] = None if exact is None else exact == "on"
        changes = {name: value for name, value in given.items() if value is not None}
        config: Config = msgspec.structs.replace(load(), **changes)
        return command(config=config, **arguments)

    decorated: Callable[..., int] = with_config
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
