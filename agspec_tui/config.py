"""Settings: defaults, then the user's `config.toml`, then environment variables, then flags."""

import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import platformdirs

from agspec_tui.engine_events import CacheType
from agspec_tui.errors import ConfigError

MAX_CANDIDATES = 16
"""Most patches that are written at once."""
ApprovalMode = Literal["plan-only", "ask", "auto-edit", "full-auto"]
"""What is done unasked, from the strictest to the freest."""


class CommandRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules about commands; each is the beginning of one: `make test`, `git log`."""

    allow: tuple[str, ...] = ()
    """Commands that run unasked, beside those that are known to only read; the test command needs
    none."""
    ask: tuple[str, ...] = ()
    """Commands that never run unasked, the test command among them."""
    deny: tuple[str, ...] = ()
    """Commands that never run, the test command among them."""


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting, with its default."""

    model: str = "qwen2.5-coder-1.5b"
    """A catalogue name or the path of a GGUF file."""
    n_ctx: int = 16384
    """Context size in tokens, shared by the roles."""
    n_batch: int = 512
    """Most tokens in one decode."""
    n_threads: int = 0
    """Threads for decoding; 0 means the physical cores."""
    n_threads_batch: int = 0
    """Threads for reading prompts; 0 means as many as for decoding."""
    n_gpu_layers: int = -1
    """Layers on devices, the output layer included; -1 means as many as fit, 0 none."""
    device: str = ""
    """Devices that may hold layers, as llama.cpp names them, with commas between; empty for all
    GPUs, `CPU` for none."""
    split: Literal["layer", "row", "none"] = "layer"
    """How several devices share a model: by `layer`, by `row`, or `none`: the first one only."""
    rpc: str = ""
    """llama.cpp RPC servers that hold layers too, as `host:port,host:port`. What the model reads
    and writes goes to them."""
    exact: bool = True
    """Keep drafts on the CPU so short that they cannot change a reply; if not, a drafted reply may
    differ from a plain one where two tokens are nearly as likely, and long copies are faster."""
    packed_weights: bool = True
    """Pack weights on the CPU anew for faster kernels where those are as exact, as with AMX. They
    are then memory of the engine's own, not the mapped file."""
    own_kernels: bool = True
    """Multiply K-quantised weights on the CPU by kernels that make a pass over a draft cheaper and
    exact whatever its size, where the processor has AVX2."""
    flash_attention: Literal["auto", "on", "off"] = "auto"
    """Flash attention; `auto` is off on the CPU, where it is not exact."""
    cache_type_k: CacheType = "f16"
    """Type of the keys in the KV cache: `f16`, `q8_0`, `q4_0`, …"""
    cache_type_v: CacheType = "f16"
    """Type of the values in the KV cache; a quantised one needs flash attention."""
    n_snapshots: int = 6
    """States kept of each sequence where a model's memory is recurrent: the longest draft there
    that can be rejected without reading accepted tokens again. 0 keeps none."""
    drafter: str = "agspec-sam"
    """The drafter; `none` decodes plainly."""
    policy: str = "auto"
    """How long a draft is: `off`, `own`, `fixed`, `scaled`, `agspec`, `goodput` or `survival`;
    `auto` is the drafter's own rule where it has one, else `goodput`."""
    profile: str = ""
    """A file of `profile` to decide draft lengths by; empty for the counts of earlier sessions."""
    keep_counts: bool = True
    """Keep counts of accepted drafts for each model, so that later sessions start from them. They
    hold no text."""
    keep_prefix: bool = False
    """Keep what the model has read of your text in your data folder, so that the next session over
    the same repository need not read it again."""
    scale: float = 4.0
    """Draft length of the policy `scaled` over the match length."""
    log_alpha: bool = False
    """Whether the policy `agspec` updates α in the log domain."""
    alpha_per_source: bool = False
    """Whether the policy `agspec` keeps an α for each corpus that a role copies from."""
    resume: bool = False
    """Whether AgSpec's drafters go on with a copy just behind where an edit interrupted it."""
    global_corpus: str = ""
    """A file made by `corpus build` to draft from as well; empty for none."""
    draft_model: str = ""
    """A smaller model for the drafters that use one, as a catalogue name or a GGUF file."""
    fixed_k: int = 15
    """Draft length of the policy `fixed`, in tokens."""
    cap: int = 16
    """Longest draft of the policy `agspec` until a profile exists, in tokens."""
    eta: float = 0.1
    """η, the step of the α update."""
    break_even: float = 0.35
    """λ, the acceptance probability at which one more drafted token pays for itself; the default
    stands only until it has been measured."""
    calibrate: bool = True
    """Measure, in a few seconds, what drafts cost here the first time a model is used."""
    record: bool = False
    """Record what the engine reads and writes, your text included, in your data folder."""
    keep_sessions: bool = True
    """Store sessions in your data folder, so that they can be resumed and their edits undone. They
    hold your text. Without it, undo ends with the program."""
    min_match: int = 1
    """Shortest match that is drafted from, in tokens."""
    watch: bool = True
    """Follow changes that others make to files, so that drafts come from their newest text."""
    corpus_scope: Literal["opened", "repo"] = "opened"
    """Files that are drafted from: those an agent `opened`, or all source files of the `repo`."""
    max_turns: int = 5
    """Turns the coder gets before the task is handed back."""
    candidates: Annotated[int, msgspec.Meta(ge=1, le=MAX_CANDIDATES)] = 1
    """Patches that the coder writes at once in a turn. Each is tested in a copy of the repository,
    and the first that passes is taken."""
    max_tokens: int = 4096
    """Longest reply of a role, in tokens."""
    approve: ApprovalMode = "ask"
    """What is done unasked: nothing and only a plan is made (`plan-only`), harmless commands
    (`ask`), edits too (`auto-edit`), or everything (`full-auto`)."""
    review_plan: bool = False
    """Ask before the team works by a plan, where edits are asked about too. The plan can then be
    edited."""
    commands: CommandRules = CommandRules()
    """Your own rules about commands, `allow`, `ask` and `deny`."""
    test_timeout_s: float = 300.0
    """Time limit of a test run, in seconds."""
    hang_s: float = 120.0
    """Seconds without progress after which the engine counts as hung and is started again."""
    theme: str = "agspec-dark"
    """Colour theme of the screen."""


def home() -> Path:
    """The user's configuration folder; `AGSPEC_HOME` overrides it. Not created here."""
    override = os.environ.get("AGSPEC_HOME")
    return Path(override) if override else Path(platformdirs.user_config_dir("agspec-tui"))


def models_dir() -> Path:
    """Where pulled models live; `AGSPEC_MODELS` overrides it. Not created here."""
    override = os.environ.get("AGSPEC_MODELS")
    if override:
        return Path(override)
    return Path(platformdirs.user_data_dir("agspec-tui")) / "models"


def profiles_dir() -> Path:
    """Where counts of accepted drafts are kept, a file for each model. Not created here."""
    return Path(platformdirs.user_data_dir("agspec-tui")) / "profiles"


def corpora_dir() -> Path:
    """Where `corpus build` puts global corpora. Not created here."""
    return Path(platformdirs.user_data_dir("agspec-tui")) / "corpora"


def tokens_dir() -> Path:
    """Where replay keeps tokenised sessions. Not created here."""
    return Path(platformdirs.user_cache_dir("agspec-tui")) / "tokens"


def calibration_dir() -> Path:
    """Where the times of target passes are kept. Not created here."""
    return Path(platformdirs.user_data_dir("agspec-tui")) / "calibration"


def recordings_dir() -> Path:
    """Where sessions are recorded if `record` is on. Not created here."""
    return Path(platformdirs.user_data_dir("agspec-tui")) / "recordings"


def sessions_dir() -> Path:
    """Where sessions are stored if `keep_sessions` is on. Not created here."""
    return Path(platformdirs.user_data_dir("agspec-tui")) / "sessions"


def prefixes_dir() -> Path:
    """Where the cache of a session is kept if `keep_prefix` is on. Not created here."""
    return Path(platformdirs.user_data_dir("agspec-tui")) / "prefixes"


def evals_dir() -> Path:
    """Where `eval` keeps finished tasks. Not created here."""
    return Path(platformdirs.user_data_dir("agspec-tui")) / "evals"


def exports_dir() -> Path:
    """Where the screen writes tables that it is asked to keep. Not created here."""
    return Path(platformdirs.user_data_dir("agspec-tui")) / "exports"


def logs_dir() -> Path:
    """Where the engine's log files go. Not created here."""
    return Path(platformdirs.user_log_dir("agspec-tui"))


def load(path: Path | None = None) -> Config:
    """Read the user's configuration; a missing file means the defaults.

    Raises:
        ConfigError: the file is not TOML, or has an unknown key or a value of the wrong type.
    """
    source = path if path is not None else home() / "config.toml"
    try:
        return msgspec.toml.decode(source.read_bytes(), type=Config)
    except FileNotFoundError:
        return Config()
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"{source}: {error}", f"known keys: {', '.join(Config.__struct_fields__)}"
        ) from error
