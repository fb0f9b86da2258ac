"""What the engine process reports: the part of the event union that crosses the socket pair."""

from typing import Literal

import msgspec

CacheType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
"""Types of the KV cache, as llama.cpp names them."""


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """Something llama.cpp can compute on."""

    name: str
    """Its name there, e.g. `CUDA0`."""
    description: str
    """Its maker's name for it; of a remote one, the address of its server."""
    kind: str
    """`cpu`, `gpu`, `igpu` (with the host's memory), `accelerator`, or `rpc` for a remote one."""
    free_bytes: int
    """Memory that is free on it; 0 if it does not say."""
    total_bytes: int
    """Memory it has; 0 if it does not say."""


class EventRoot(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """Common root. The wire names an event by its class name in `kind`."""

    seq: int = 0
    """Gap-free number within a session; 0 until the session stamps it."""
    t_s: float = 0.0
    """Seconds since the session started; 0 until the session stamps it."""
    turn: int = 0
    """Turn it belongs to, from 1; 0 where none applies."""
    role: str = ""
    """Role it belongs to; empty where none applies."""


class ModelLoaded(EventRoot, frozen=True, kw_only=True):
    """The model is in memory and the context is made."""

    model: str
    """Name of the model."""
    device: str
    """What it runs on, e.g. `CPU, 2 threads`."""
    n_ctx: int
    """Context size in tokens."""
    n_vocab: int
    """Vocabulary size."""
    n_threads: int
    """Threads used for decoding."""
    load_s: float
    """Seconds it took."""
    n_exact: int
    """Most tokens in one decode that give bit for bit the logits of one-by-one decoding; 0 if
    none do, and a drafted reply may then differ from a plain one at a near tie."""
    rollback: bool
    """True if rejected tokens can be trimmed from the cache; if not, drafting is off."""
    tokenizer: str = ""
    """Fingerprint of the vocabulary, hex; counts of drafts are tied to it."""
    memory: str = ""
    """Kind of memory, e.g. `attention`, `attention, a window of 512 tokens`, `hybrid, 6 snapshots`,
    `recurrent, checkpoints`."""
    no_rollback: str = ""
    """Why rejected tokens cannot be dropped, so that drafting is off; empty if they can."""
    no_template: str = ""
    """Why messages do not stand in a chat template of the model's own; empty if they do."""
    servers: tuple[str, ...] = ()
    """Addresses outside this process that the model's data goes to: RPC servers."""


class PrefillProgressed(EventRoot, frozen=True, kw_only=True):
    """Part of the prompt has been read."""

    request: int
    """The generation."""
    n_done: int
    """Prompt tokens now in the cache, reused ones included."""
    n_total: int
    """Prompt tokens in all."""
    n_reused: int
    """Of those, tokens that were in the cache already."""
    tok_per_s: float
    """Rate of the tokens read so far, reused ones left out."""


class StepCommitted(EventRoot, frozen=True, kw_only=True):
    """One step: a draft was verified, and accepted tokens plus the bonus token were committed."""

    request: int
    """The generation."""
    step: int
    """Number of the step within the generation, from 1."""
    ids: tuple[int, ...]
    """Committed token ids: the accepted ones, then the bonus token (none if the reply ended)."""
    text: str
    """Their text, as far as it is whole UTF-8."""
    n_accepted_chars: int = -1
    """Leading characters of `text` that came from accepted draft tokens; −1 if not counted."""
    n_drafted: int
    """D: tokens drafted."""
    n_accepted: int
    """A: of those, accepted. Accept length of this step is A + 1."""
    match_len: int
    """m: length of the match that was drafted from; 0 without one."""
    n_seen: int = 0
    """How often the match occurred before; 0 where the corpus does not count."""
    n_group: int = 0
    """Of those, how often the tokens followed that the draft begins with; 0 if not counted."""
    form: str = ""
    """Form of the edits that the reply was asked for; empty for none."""
    source: str
    """Corpus of the draft: `session`, `workspace`, `global`; empty without a draft."""
    document: str
    """Document the draft was copied from: a path and view, or a message label."""
    offset: int
    """Token offset of the copy within that document."""
    line: int = 0
    """Line of the file, from 1, in which the first drafted token begins; 0 if it is no file's."""
    budget: int
    """K: length the policy asked for."""
    cap: int
    """K_max at this step."""
    alpha: float
    """α of the role after this step."""
    decode_us: float
    """Time of the target pass, in microseconds."""
    draft_us: float
    """Time of match and draft, in microseconds."""
    n_context: int
    """Tokens of this sequence in the cache after this step."""
    n_beside: int = 0
    """Other sequences that took a step in the same target pass."""
    loop_us: float = 0.0
    """Time between the end of the previous target pass and the begin of this one: committing,
    learning, events, match and draft; in microseconds, 0 at a generation's first step."""


class GenerationFinished(EventRoot, frozen=True, kw_only=True):
    """A reply is complete, or was stopped."""

    request: int
    """The generation."""
    stop_reason: str
    """`eog`, `stop`, `loop`, `length`, `context`, `cancelled`."""
    text: str
    """The whole reply, without the end-of-generation token."""
    ids: tuple[int, ...]
    """Its token ids as sampled."""
    n_prompt: int
    """Prompt tokens."""
    n_reused: int
    """Of those, tokens taken from the cache."""
    broken_by: str
    """The message at which the prompt left the cached transcript; empty if it only grew."""
    n_tokens: int
    """Tokens generated, the end-of-generation token included."""
    n_steps: int
    """Target passes of the decoding, prefill left out."""
    n_drafted: int
    """ΣD."""
    n_accepted: int
    """ΣA."""
    prefill_s: float
    """Seconds of reading the prompt, by the drafter too."""
    decode_s: float
    """Seconds of decoding."""
    alpha: float
    """α of the role at the end."""
    loop_period: int = 0
    """Tokens that were repeated where `loop` ended it; 0 otherwise."""
    n_loops: int = 0
    """How often they were said there, as far as was looked."""


class DocumentIndexed(EventRoot, frozen=True, kw_only=True):
    """The workspace corpus holds a file, in the forms in use."""

    path: str
    """Path relative to the repository."""
    n_tokens: int
    """Tokens of all its views."""
    n_corpus_tokens: int
    """Tokens in the workspace corpus now."""
    skipped: str
    """Why it was not indexed; empty if it was."""


class Calibrated(EventRoot, frozen=True, kw_only=True):
    """What a target pass costs on this machine was measured."""

    request: int
    """The request."""
    batch: int
    """Sequences in a pass."""
    depth: int
    """Tokens that each sequence had in the cache before a pass."""
    n_rounds: int
    """How often every size was measured."""
    times: tuple[tuple[int, float], ...]
    """T(n): tokens of each sequence in a pass, and the median of its seconds."""
    break_even: float
    """λ, the acceptance probability at which one more drafted token pays for itself."""
    wall_s: float
    """Seconds it took."""


class TokensCounted(EventRoot, frozen=True, kw_only=True):
    """A transcript was counted."""

    request: int
    """The request."""
    n_tokens: int
    """Prompt tokens that it makes, the scaffold of the chat template included."""


class CacheSaved(EventRoot, frozen=True, kw_only=True):
    """Cached sequences were written to disk."""

    request: int
    """The request."""
    sequences: tuple[str, ...]
    """Names of the sequences."""
    n_tokens: int
    """Tokens of all of them together."""
    n_bytes: int
    """Size of the files."""


class CacheRestored(EventRoot, frozen=True, kw_only=True):
    """Saved sequences were taken up again."""

    request: int
    """The request."""
    sequences: tuple[str, ...]
    """Names of the sequences that are cached again."""
    n_tokens: int
    """Tokens of all of them together."""
    notes: tuple[str, ...]
    """What was left out, and why, a line each."""


class RequestRefused(EventRoot, frozen=True, kw_only=True):
    """A command could not be carried out; the engine goes on."""

    request: int
    """The generation, or 0."""
    message: str
    """One line that says why."""
    hint: str
    """What to do about it."""


class EngineFailed(EventRoot, frozen=True, kw_only=True):
    """The engine process is gone, or could not load the model."""

    message: str
    """One line that says what happened."""
    hint: str
    """What to do about it."""
    log_path: str
    """File with the child's stderr."""
    restarting: bool
    """True if a new engine is being started, which goes on with what was under way."""


class EngineRestarted(EventRoot, frozen=True, kw_only=True):
    """A new engine process runs; prompts are read again, and replies go on where they were."""

    n_restarts: int
    """How often that has happened in this session."""


class Pong(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """The engine process lives. It goes no further than to what watches over the process."""

    number: int
    """Number of the ping."""
    n_beats: int
    """Signs of progress so far: passes, events, commands. Only whether it changed matters."""
    idle_s: float
    """Seconds since the last of them: what the present pass has taken so far."""


EngineEvent = (
    ModelLoaded
    | PrefillProgressed
    | StepCommitted
    | GenerationFinished
    | DocumentIndexed
    | Calibrated
    | TokensCounted
    | CacheSaved
    | CacheRestored
    | RequestRefused
    | EngineFailed
    | EngineRestarted
)
