"""What the engine process may be asked: its part of the closed union of commands.

See `agspec_tui.commands`, which has them all.
"""

import math
from typing import Literal

import msgspec

from agspec_tui.engine_events import CacheType


class CommandRoot(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """Common root: the wire names a command by its class name in `kind`."""


class Message(msgspec.Struct, frozen=True):
    """One message of a sequence's transcript."""

    role: str
    """`system`, `user` or `assistant`, as the chat template knows them."""
    text: str
    """The content; tokenised with special tokens off."""
    ids: tuple[int, ...] = ()
    """For generated replies: the token ids as sampled, used instead of tokenising `text` again."""


class DocumentView(msgspec.Struct, frozen=True):
    """One form in which an agent may emit a file, as one text with its prefixes in it."""

    name: str
    """`space`, `minus`, `raw`, `escaped`, …"""
    text: str
    """The whole file in this form."""


class LoadModel(CommandRoot, frozen=True, kw_only=True):
    """Load a GGUF and make a context. Answered by `ModelLoaded` or `EngineFailed`."""

    path: str
    """A GGUF file, or `scripted:FILE` for the deterministic backend."""
    name: str
    """The name shown on the screen and in reports."""
    n_ctx: int
    """Context size in tokens, shared by all sequences."""
    n_batch: int = 512
    """Most tokens in one decode."""
    n_threads: int = 0
    """Threads for decoding; 0 lets the engine choose the physical cores."""
    n_threads_batch: int = 0
    """Threads for reading prompts; 0 means as many as for decoding."""
    n_gpu_layers: int = -1
    """Layers on devices, the output layer included; -1 means all, 0 keeps all on the CPU."""
    devices: tuple[str, ...] = ()
    """Devices that may hold layers, as llama.cpp names them; none named: all GPUs and servers."""
    split: Literal["layer", "row", "none"] = "layer"
    """How several devices share a model: by layers, by rows, or not: only the first is used."""
    rpc: tuple[str, ...] = ()
    """llama.cpp RPC servers, each as `host:port`, whose devices are used too."""
    exact: bool = True
    """Whether a CPU decodes drafts only in passes that cannot change a reply. Longer drafts, in
    passes of any size, may turn a near tie."""
    packed_weights: bool = True
    """Whether weights on a CPU may be packed for faster kernels where these are exact, or may be
    inexact."""
    own_kernels: bool = True
    """Whether K-quantised weights on a CPU may be multiplied by the core's kernels. The first model
    of an engine decides, for the life of its process."""
    flash_attention: Literal["auto", "on", "off"] = "auto"
    """`auto` is off on the CPU, where it is inexact, and where a device does not support it."""
    cache_type_k: CacheType = "f16"
    """Type of the keys in the KV cache."""
    cache_type_v: CacheType = "f16"
    """Type of the values in the KV cache; a quantised one needs flash attention."""
    n_snapshots: int = 6
    """States kept of each sequence of a recurrent or hybrid model: the longest draft that can be
    rejected there without reading accepted tokens again."""
    n_seq_max: int = 4
    """Sequences (roles) that may be alive at once."""
    record: str = ""
    """File to which everything is added that the engine is asked and answers; empty for none."""
    spoken: tuple[int, ...] = ()
    """Generations, counted from 0, that earlier engines of this client have brought to an end; a
    scripted target says its other replies."""


class ConfigureDrafting(CommandRoot, frozen=True, kw_only=True):
    """Choose drafter and policy. Resets α; another drafter starts with empty corpora."""

    drafter: str = "agspec-sam"
    """A drafter's name, e.g. `none`, `agspec-sam`."""
    policy: str = "agspec"
    """`off`, `own`, `fixed`, `scaled`, `agspec`, `goodput` or `survival`."""
    fixed_k: int = 15
    """Draft length of `fixed`, in tokens."""
    cap: int = 16
    """K_max of `agspec` until a profile exists, in tokens."""
    eta: float = 0.1
    """η, the step of the α update."""
    break_even: float = 0.35
    """λ, the acceptance probability at which one more position pays for itself; τ = 1 − λ."""
    min_match: int = 1
    """Shortest match that is drafted from, in tokens."""
    resume: bool = False
    """Whether AgSpec's drafters go on with a copy just behind where an edit interrupted it."""
    global_corpus: str = ""
    """A file made by `corpus build`; empty for no global corpus."""
    draft_model: str = ""
    """A smaller GGUF with the target's vocabulary, for the drafters that use one; empty: none."""
    scale: float = 4.0
    """Draft length of `scaled` over the match length."""
    log_alpha: bool = False
    """Whether `agspec` updates α in the log domain."""
    alpha_per_source: bool = False
    """Whether `agspec` keeps an α for each corpus of a role."""
    cost: tuple[tuple[int, float], ...] = ()
    """Pairs of n and the time of a target pass over n tokens, in any unit, from n = 1 on; empty for
    the shipped shape of the device."""
    profile: str = ""
    """Counts that lengths are chosen by, JSON as in `policy/profile.py`; empty for the shipped
    ones."""


SEEDS = 2**32 - 1
"""Seeds are below this; llama.cpp draws one by itself for this number."""


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How the target chooses a token from a row of logits.

    The values and their order are llama.cpp's: logit bias, penalties, top-k, top-p, min-p,
    temperature, then a draw by the seed. At temperature 0 the most probable token is taken after
    bias and penalties; the other values and the seed are not used.
    """

    temperature: float = 0.0
    """Divides the logits before the draw; 0 is greedy."""
    top_k: int = 40
    """Most tokens that are drawn from; 0 for no bound."""
    top_p: float = 0.95
    """Probability that the tokens drawn from have together; 1 for no bound."""
    min_p: float = 0.05
    """Least probability of a token, as a share of that of the most probable one; 0 for none."""
    repeat_penalty: float = 1.0
    """Divides the positive logit of a token said lately, multiplies a negative one; 1 for none."""
    repeat_last_n: int = 64
    """How many of the latest tokens the penalties look at, those of the prompt included."""
    presence_penalty: float = 0.0
    """Taken off the logit of a token said lately."""
    frequency_penalty: float = 0.0
    """Taken off it as often as it was said lately."""
    seed: int = 0
    """Seed of the draws: the same one gives the same tokens."""
    logit_bias: tuple[tuple[int, float], ...] = ()
    """Pairs of a token id and what is added to its logit; −inf forbids the token."""

    @property
    def penalises(self) -> bool:
        """Whether what was said lately changes a logit."""
        return self.repeat_last_n > 0 and (
            self.repeat_penalty != 1.0
            or self.presence_penalty != 0.0
            or self.frequency_penalty != 0.0
        )

    def fault(self) -> str:
        """Which value is out of its range, with the range; empty if none is."""
        ranges: tuple[tuple[str, float, float, float], ...] = (
            ("temperature", self.temperature, 0.0, 100.0),
            ("top_k", self.top_k, 0, 2**31 - 1),
            ("top_p", self.top_p, 0.0, 1.0),
            ("min_p", self.min_p, 0.0, 1.0),
            ("repeat_penalty", self.repeat_penalty, 0.01, 100.0),
            ("repeat_last_n", self.repeat_last_n, 0, 2**20),
            ("presence_penalty", self.presence_penalty, -100.0, 100.0),
            ("frequency_penalty", self.frequency_penalty, -100.0, 100.0),
            ("seed", self.seed, 0, SEEDS - 1),
        )
        for name, value, low, high in ranges:
            if not low <= value <= high:
                return f"{name} is {value}: it lies between {low} and {high}"
        for token, bias in self.logit_bias:
            if math.isnan(bias) or bias == math.inf:
                return f"the logit_bias of token {token} is {bias}: it is finite, or −inf"
        if len({token for token, _ in self.logit_bias}) < len(self.logit_bias):
            return "logit_bias names a token twice"
        return ""


class Generate(CommandRoot, frozen=True, kw_only=True):
    """Bring a sequence to `messages`, then generate one reply."""

    request: int
    """Number that every event of this generation carries."""
    sequence: str
    """Name of the sequence whose prefix is kept, e.g. the role."""
    turn: int
    """Turn this reply belongs to."""
    role: str
    """Role that speaks; α is kept per role."""
    form: str = ""
    """Form of the edits that the reply is asked for; empty for none."""
    messages: tuple[Message, ...]
    """The whole transcript; what is already in the cache is found and reused."""
    max_tokens: int = 2048
    """Most tokens to generate."""
    stop: tuple[str, ...] = ()
    """Texts that end the reply; they are part of it."""
    grammar: str = ""
    """GBNF that constrains the reply; empty for none."""
    sampling: Sampling = Sampling()
    """How tokens are chosen."""
    batch: int = 1
    """Replies that are going to be decoded at once, this one included. Where logits depend on the
    number of tokens in a pass, a reply of 1 has exact passes for itself, and others share passes of
    any size from their beginning to their end, however many of them are left."""
    drafting: bool = True
    """False decodes plainly whatever drafter is configured."""
    said: tuple[int, ...] = ()
    """Ids of the reply that an engine committed before it died. They are read behind the prompt
    and the reply goes on from there; events and `max_tokens` cover what follows them."""
    forced: tuple[int, ...] = ()
    """What the target chooses, whatever it computes: times a target without trained weights on a
    recorded reply. Behind them the reply ends. Empty: its own choices."""
    loop_guard: bool = True
    """Whether a reply that only repeats itself is ended, with `stop_reason` `loop`."""

    @property
    def n_most(self) -> int:
        """Most tokens that follow what is said already: a forced reply ends behind its last one."""
        if not self.forced:
            return self.max_tokens
        return min(self.max_tokens, len(self.forced) - len(self.said))


class Cancel(CommandRoot, frozen=True, kw_only=True):
    """Stop a generation, in prefill too; the cache keeps the committed tokens only."""

    request: int
    """Which generation."""


class IndexDocument(CommandRoot, frozen=True, kw_only=True):
    """Put a file into the workspace corpus, replacing its older version."""

    path: str
    """Path relative to the repository; provenance names it."""
    views: tuple[DocumentView, ...]
    """The forms in use, in the order of first occurrence."""


class ForgetDocument(CommandRoot, frozen=True, kw_only=True):
    """Take a file out of the workspace corpus."""

    path: str
    """Path relative to the repository."""


class ResetSession(CommandRoot, frozen=True, kw_only=True):
    """Drop corpora, α and every cached sequence. Nothing of them is kept."""

    keep_cache: bool = False
    """Keep the cached sequences, so that a benchmark reads each prompt only once."""


class Calibrate(CommandRoot, frozen=True, kw_only=True):
    """Measure the time of a target pass. Answered by `Calibrated` or `RequestRefused`.

    Drops every cached sequence: it is meant for a time at which there is none.
    """

    request: int
    """Number that the answer carries; negative, so that it is no generation's."""
    sizes: tuple[int, ...]
    """Tokens of each sequence in a pass, ascending, the first of them 1."""
    batch: int = 1
    """Sequences in a pass."""
    depth: int = 1000
    """Tokens in the cache before a pass, as far as there is time to read them."""
    n_rounds: int = 5
    """How often each size is measured, as far as there is time."""
    budget_s: float = 60.0
    """Seconds after which no further pass is begun, once two sizes have been measured."""


class Ping(CommandRoot, frozen=True, kw_only=True):
    """Ask for a sign of life. Answered by `Pong`, whatever the engine is doing."""

    number: int
    """Number that the answer carries."""


class CountTokens(CommandRoot, frozen=True, kw_only=True):
    """Count the tokens of a transcript as `Generate` would read it, beside whatever is under way.

    Answered by `TokensCounted` or `RequestRefused`. The cache is not touched.
    """

    request: int
    """Number that the answer carries; negative, so that it is no generation's."""
    messages: tuple[Message, ...]
    """The transcript."""


class SaveCache(CommandRoot, frozen=True, kw_only=True):
    """Write cached sequences to disk. Answered by `CacheSaved` or `RequestRefused`."""

    request: int
    """Number that the answer carries; negative, so that it is no generation's."""
    folder: str
    """Folder that takes them; what an earlier command wrote there is replaced."""


class RestoreCache(CommandRoot, frozen=True, kw_only=True):
    """Take up what `SaveCache` wrote. Answered by `CacheRestored` or `RequestRefused`.

    What another model, context or build wrote, and what is damaged, is left out with a note.
    """

    request: int
    """Number that the answer carries; negative, so that it is no generation's."""
    folder: str
    """Folder that holds them."""


class Shutdown(CommandRoot, frozen=True, kw_only=True):
    """End the engine process."""


EngineCommand = (
    LoadModel
    | ConfigureDrafting
    | Generate
    | Cancel
    | IndexDocument
    | ForgetDocument
    | ResetSession
    | Calibrate
    | Ping
    | CountTokens
    | SaveCache
    | RestoreCache
    | Shutdown
)

ANSWERED = Generate | Calibrate | CountTokens | SaveCache | RestoreCache
"""Commands whose answer carries their number, a refusal too."""
