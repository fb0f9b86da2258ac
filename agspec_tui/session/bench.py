"""Live comparison of drafting methods: the same prompts, interleaved, on one loaded model.

Interleaving puts every method under the same weather: on a shared machine two runs minutes apart
differ by more than two methods do. Each prompt is read once; corpora and α start anew for every
generation.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

from agspec_tui.commands import ConfigureDrafting, Generate, IndexDocument, Message
from agspec_tui.config import Config
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import UsageError
from agspec_tui.events import GenerationFinished, ModelLoaded
from agspec_tui.forms.choose import form
from agspec_tui.resources import find
from agspec_tui.session.loading import plan_drafting

_SPARE_TOKENS = 512
_ROLE = "coder"


class _PromptEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a prompts file."""

    kind: str
    """Rows are summed by kind."""
    path: str
    """Path under which the model sees the file."""
    file: str
    """Name of the file's text, beside the prompts file."""
    change: str
    """What to change."""


class _PromptsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prompts file."""

    prompt: tuple[_PromptEntry, ...]
    """Its entries."""


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """A file and what to change in it."""

    kind: str
    """Kind of the prompt; rows are summed by it."""
    path: str
    """Path under which the model sees the file."""
    text: str
    """The file."""
    change: str
    """What to change."""


@dataclass(frozen=True, slots=True)
class Method:
    """A drafter with a policy."""

    name: str
    """As named on the command line, e.g. `agspec-sam` or `agspec-sam:fixed`."""
    drafting: ConfigureDrafting
    """What the engine is told."""


@dataclass(frozen=True, slots=True)
class Run:
    """One prompt decoded with one method."""

    method: str
    """The method's name."""
    prompt: BenchPrompt
    """The prompt."""
    finished: GenerationFinished
    """What came out."""


def read_prompts(path: Path | None) -> list[BenchPrompt]:
    """Read a prompts file; None means the built-in prompts.

    Raises:
        UsageError: the file, or a text that it names, cannot be read.
    """
    source: Traversable = find("prompts", "prompts.toml") if path is None else path
    hint = "write [[prompt]] tables with kind, path, file and change"
    try:
        entries = msgspec.toml.decode(source.read_bytes(), type=_PromptsFile).prompt
        prompts = []
        for entry in entries:
            text = find("prompts", entry.file) if path is None else path.parent / entry.file
            prompts.append(
                BenchPrompt(entry.kind, entry.path, text.read_text("utf-8"), entry.change)
            )
    except (OSError, ValueError) as error:
        raise UsageError(f"the prompts cannot be read: {error}", hint) from error
    if not prompts:
        raise UsageError("the prompts file has no prompt", hint)
    return prompts


def parse_methods(text: str, config: Config) -> list[Method]:
    """Methods from `drafter[:policy],…`; without a policy the configured one is used.

    Raises:
        DraftError: a drafter or a policy is unknown.
        UsageError: a method stands there twice, or there is none.
    """
    methods: list[Method] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        drafter, _, policy = name.partition(":")
        if any(method.name == name for method in methods):
            raise UsageError(f"the method {name} stands there twice")
        settings = msgspec.structs.replace(config, drafter=drafter, policy=policy or config.policy)
        methods.append(Method(name, plan_drafting(settings)))
    if not methods:
        raise UsageError("no methods to compare", "--methods none,agspec-sam")
    return methods


async def run_bench(
    client: EngineClient,
    methods: Sequence[Method],
    prompts: Sequence[BenchPrompt],
    n_repeats: int,
    on_run: Callable[[Run], None],
) -> list[Run]:
    """Decode every prompt with every method, in turn; the order of methods rotates.

    Raises:
        EngineError: the engine failed, or a prompt does not fit the context.
    """
    runs: list[Run] = []
    request = 0
    for round_number in range(n_repeats):
        for number, prompt in enumerate(prompts):
            shift = (number + round_number) % len(methods)
            for method in (*methods[shift:], *methods[:shift]):
                request += 1
                finished = await _decode(client, method, prompt, request)
                run = Run(method.name, prompt, finished)
                runs.append(run)
                on_run(run)
    return runs


async def _decode(
    client: EngineClient, method: Method, prompt: BenchPrompt, request: int
) -> GenerationFinished:
    whole = form("whole")
    await client.configure(method.drafting)
    await client.reset(keep_cache=True)
    await client.index(IndexDocument(path=prompt.path, views=whole.index_views(prompt.text)))
    shown = whole.render_file(prompt.path, prompt.text)
    messages = (
        Message(
            "system", f"You change files exactly as you are asked to.\n\n{whole.instructions()}"
        ),
        Message("user", f"{shown}\n\n{prompt.change}\nReply with the whole file {prompt.path}."),
    )
    return await client.generate(
        Generate(
            request=request,
            sequence=_ROLE,
            turn=1,
            role=_ROLE,
            messages=messages,
            max_tokens=len(prompt.text) // 2 + _SPARE_TOKENS,
        )
    )


class BenchRow(msgspec.Struct, frozen=True):
    """One row of the report: a method over the prompts of a kind."""

    method: str
    """The method's name."""
    kind: str
    """Kind of the prompts; `all` is the whole set."""
    n_tokens: int
    """Tokens generated."""
    tok_per_s: float
    """Decoding rate, prefill left out."""
    speedup: float | None
    """Rate over that of `none` in the same run; None if `none` was not run."""
    accept_length: float
    """Tokens per target pass, Σ(A + 1)/steps; 1.0 is plain decoding."""
    rejected_per_step: float
    """(ΣD − ΣA)/steps."""
    ids_equal: bool | None
    """Whether every token id equals that of `none`; None if `none` was not run."""


class BenchReport(msgspec.Struct, frozen=True):
    """The JSON document of `bench`."""

    schema: int
    """Version of this document's shape."""
    model: str
    """The model."""
    device: str
    """What it ran on."""
    threads: int
    """Threads used for decoding."""
    n_exact: int
    """Most tokens in one decode that are exact to the bit, as probed at load."""
    rows: tuple[BenchRow, ...]
    """A row a method and kind, `all` last."""


def make_report(loaded: ModelLoaded, runs: Sequence[Run]) -> BenchReport:
    """Sum the runs by method and kind."""
    return BenchReport(
        schema=1,
        model=loaded.model,
        device=loaded.device,
        threads=loaded.n_threads,
        n_exact=loaded.n_exact,
        rows=tuple(_rows(runs)),
    )


def _rows(runs: Sequence[Run]) -> Iterator[BenchRow]:
    kinds = dict.fromkeys(run.prompt.kind for run in runs)
    for kind in (*kinds, "all"):
        of_kind = [run for run in runs if kind in (run.prompt.kind, "all")]
        plain = [run.finished for run in of_kind if run.method == "none"]
        for method in dict.fromkeys(run.method for run in runs):
            mine = [run.finished for run in of_kind if run.method == method]
            yield _row(method, kind, mine, plain)


def _row(
    method: str,
    kind: str,
    mine: Sequence[GenerationFinished],
    plain: Sequence[GenerationFinished],
) -> BenchRow:
    n_steps = max(1, sum(one.n_steps for one in mine))
    n_accepted = sum(one.n_accepted for one in mine)
    n_rejected = sum(one.n_drafted for one in mine) - n_accepted
    rate = _rate(mine)
    return BenchRow(
        method=method,
        kind=kind,
        n_tokens=sum(one.n_tokens for one in mine),
        tok_per_s=rate,
        speedup=rate / _rate(plain) if plain else None,
        accept_length=1 + n_accepted / n_steps,
        rejected_per_step=n_rejected / n_steps,
        ids_equal=[one.ids for one in mine] == [one.ids for one in plain] if plain else None,
    )


def _rate(finished: Sequence[GenerationFinished]) -> float:
    seconds = sum(one.decode_s for one in finished)
    return sum(one.n_tokens for one in finished) / seconds if seconds else 0.0
