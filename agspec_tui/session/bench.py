"""Live comparison of drafting methods: the same prompts, interleaved, on one loaded model.

Interleaving puts every method under the same weather: on a shared machine two runs minutes apart
differ by more than two methods do. Each prompt is read once; corpora and α start anew for every
prompt and method, and are kept over the turns of one prompt. What is said in later turns is fixed,
and the replies between are those generated, so that every method has the same prompts as long as it
generates the same tokens.
"""

import asyncio
import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from agspec_tui.commands import ConfigureDrafting, Generate, Message
from agspec_tui.config import Config
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import UsageError
from agspec_tui.events import GenerationFinished
from agspec_tui.session.bench_prompts import BenchPrompt
from agspec_tui.session.loading import plan_drafting

_FIXED = re.compile(r"fixed(\d+)")


@dataclass(frozen=True, slots=True)
class Method:
    """A drafter with a policy."""

    name: str
    """As named on the command line, e.g. `agspec-sam` or `agspec-sam:fixed32`."""
    drafting: ConfigureDrafting
    """What the engine is told."""


@dataclass(frozen=True, slots=True)
class Run:
    """One prompt decoded with one method."""

    method: str
    """The method's name."""
    prompt: BenchPrompt
    """The prompt."""
    turns: tuple[GenerationFinished, ...]
    """What came out, turn by turn."""
    decode_s: float
    """Seconds of decoding; where prompts were decoded at once, its share of their wall time."""
    at_once: bool = False
    """Whether prompts were decoded at once."""

    @property
    def n_tokens(self) -> int:
        """Tokens generated."""
        return sum(turn.n_tokens for turn in self.turns)

    @property
    def n_steps(self) -> int:
        """Target passes."""
        return sum(turn.n_steps for turn in self.turns)

    @property
    def ids(self) -> tuple[tuple[int, ...], ...]:
        """Token ids of the replies."""
        return tuple(turn.ids for turn in self.turns)


def parse_methods(text: str, config: Config) -> list[Method]:
    """Methods from `drafter[:policy],…`; without a policy the configured one is used.

    A number behind the policy `fixed` is its draft length.

    Raises:
        DraftError: a drafter or a policy is unknown.
        UsageError: a method stands there twice, or there is none.
    """
    methods: list[Method] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        if any(method.name == name for method in methods):
            raise UsageError(f"the method {name} stands there twice")
        methods.append(Method(name, plan_drafting(_settings(name, config))))
    if not methods:
        raise UsageError("no methods to compare", "--methods none,agspec-sam")
    return methods


def _settings(name: str, config: Config) -> Config:
    drafter, _, policy = name.partition(":")
    fixed_k = config.fixed_k
    if fixed := _FIXED.fullmatch(policy):
        policy, fixed_k = "fixed", int(fixed[1])
    policy = policy or config.policy
    return msgspec.structs.replace(config, drafter=drafter, policy=policy, fixed_k=fixed_k)


async def run_bench(
    client: EngineClient,
    methods: Sequence[Method],
    prompts: Sequence[BenchPrompt],
    n_repeats: int,
    on_run: Callable[[Run], None],
    batch: int = 1,
    *,
    winds_back: bool = True,
) -> list[Run]:
    """Decode every prompt with every method, in turn; the order of methods rotates.

    All groups that are decoded at once have `batch` prompts, the last one some of the first ones
    again: a smaller group would be decoded in other passes.

    Args:
        client: an engine with a loaded model.
        methods: what is compared.
        prompts: what is decoded.
        n_repeats: rounds.
        on_run: told of each run when it is over.
        batch: prompts that are decoded at once.
        winds_back: whether the target's memory can drop a token. If not, prompts that are decoded
            at once are read again in the time of their decoding.

    Raises:
        EngineError: the engine failed, or a prompt does not fit the context.
        UsageError: there are fewer prompts than are decoded at once, or they do not fit the
            context side by side.
    """
    runs: list[Run] = []
    requests = itertools.count(1)
    groups = _groups(prompts, batch)
    for round_number in range(n_repeats):
        for number, group in enumerate(groups):
            shift = (number + round_number) % len(methods)
            for method in (*methods[shift:], *methods[:shift]):
                for run in await _decode(client, method, group, requests, winds_back=winds_back):
                    runs.append(run)
                    on_run(run)
    return runs


def require_enough(prompts: Sequence[BenchPrompt], batch: int) -> None:
    """Refuse to decode more prompts at once than there are: twice the same would draft for itself.

    Raises:
        UsageError: there are fewer.
    """
    if batch > len(prompts):
        raise UsageError(
            f"{batch} prompts cannot be decoded at once: there are {len(prompts)}",
            f"--batch {len(prompts)}, or a file of more --prompts",
        )


def _groups(prompts: Sequence[BenchPrompt], batch: int) -> list[list[BenchPrompt]]:
    """The prompts in groups of `batch`; the last one is filled up from the beginning."""
    require_enough(prompts, batch)
    endless = itertools.cycle(prompts)
    return [list(itertools.islice(endless, batch)) for _ in range(0, len(prompts), batch)]


def said_before(prompt: BenchPrompt, turns: Sequence[GenerationFinished]) -> tuple[Message, ...]:
    """Messages of the turn that follows these ones."""
    messages = list(prompt.opening())
    for turn, said in zip(turns, prompt.then, strict=False):
        messages += (Message("assistant", turn.text, turn.ids), Message("user", said.strip()))
    return tuple(messages)


@dataclass(slots=True)
class _Talk:
    """A prompt under way, turn by turn."""

    prompt: BenchPrompt
    """The prompt."""
    sequence: str
    """Name of its sequence."""
    turns: list[GenerationFinished] = field(default_factory=list)
    """Its replies so far."""

    def next(self, request: int, batch: int) -> Generate:
        """The command for the next reply, one of `batch` that are decoded at once."""
        return Generate(
            request=request,
            sequence=self.sequence,
            turn=len(self.turns) + 1,
            role=self.prompt.role,
            form=self.prompt.edit_form,
            messages=said_before(self.prompt, self.turns),
            max_tokens=self.prompt.most_tokens,
            batch=batch,
        )


async def _decode(
    client: EngineClient,
    method: Method,
    group: Sequence[BenchPrompt],
    requests: Iterator[int],
    *,
    winds_back: bool,
) -> list[Run]:
    """Decode the prompts of a group at once, turn by turn."""
    await client.configure(method.drafting)
    await client.reset(keep_cache=True)
    for prompt in group:
        if document := prompt.document():
            await client.index(document)
    talks = [_Talk(prompt, f"bench {number}") for number, prompt in enumerate(group, 1)]
    wall_s = 0.0
    for turn in range(max(prompt.n_turns for prompt in group)):
        speaking = [talk for talk in talks if turn < talk.prompt.n_turns]
        commands = [talk.next(next(requests), len(group)) for talk in speaking]
        if len(group) > 1:
            await _read(client, commands, requests)
        started = time.perf_counter()
        replies = await asyncio.gather(*(client.generate(command) for command in commands))
        wall_s += time.perf_counter() - started
        if len(group) > 1 and winds_back:
            _require_read(replies)
        for talk, reply in zip(speaking, replies, strict=True):
            talk.turns.append(reply)
    own_s = [sum(turn.decode_s for turn in talk.turns) for talk in talks]
    seconds = own_s if len(group) == 1 else [wall_s / len(group)] * len(group)
    return [
        Run(method.name, talk.prompt, tuple(talk.turns), decode_s, len(group) > 1)
        for talk, decode_s in zip(talks, seconds, strict=True)
    ]


async def _read(
    client: EngineClient, commands: Sequence[Generate], requests: Iterator[int]
) -> None:
    """Bring the prompts into the cache, so that the wall time is that of decoding."""
    for command in commands:
        await client.generate(
            msgspec.structs.replace(command, request=next(requests), max_tokens=1, drafting=False)
        )


def _require_read(replies: Sequence[GenerationFinished]) -> None:
    """Make sure that no prompt was read in the time of decoding: only its last token is due.

    Raises:
        UsageError: one was.
    """
    if any(reply.n_prompt - reply.n_reused > 1 for reply in replies):
        n_tokens = sum(reply.n_prompt + reply.n_tokens for reply in replies)
        raise UsageError(
            f"the context has no room for these prompts and replies side by side: {n_tokens}"
            " tokens and more",
            "a larger --n-ctx, or a smaller --batch",
        )
