"""Whether drafting changes what a model says: the same replies with and without it, token by token.

    python bench/lossless.py [--models smollm2-135m,gemma3-270m] [--tokens 2000] [--batch N]

A model is asked to repeat files that it is shown, with AgSpec's drafters in turn, each under a
policy of its own, greedily and at temperature 0.8 under one seed. `--batch` decodes several at
once.
Where greedy replies differ, the first difference is shown to be a near tie, or the exit code is 1.
Where drawn ones differ, nothing can be shown, since any rounding may move a token over the number
drawn: the exit code is 1 if passes here are exact to the bit.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agspec_tui.commands import ConfigureDrafting, Generate, LoadModel, Message, Sampling
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.near_tie import compare, first_parting, ways_of
from agspec_tui.errors import AgspecError
from agspec_tui.events import EngineEvent, GenerationFinished
from agspec_tui.models.resolve import resolve
from agspec_tui.policy.choose import make_policy

FILES = sorted((Path(__file__).parent / "prompts").glob("*.py.txt"))
MOST_REPLY = 250
"""Tokens of one reply."""
METHODS = (("agspec-sam", "fixed"), ("agspec-suffix", "fixed"))


@dataclass(slots=True)
class Tally:
    """What came out for one model and one way to choose tokens."""

    n_tokens: int = 0
    """Tokens compared."""
    n_drafted: int = 0
    """ΣD."""
    n_accepted: int = 0
    """ΣA."""
    partings: list[str] = field(default_factory=list)
    """Differences, each with its proof or without one."""
    n_unproven: int = 0
    """Of those, the ones that rounding does not explain."""


def commands_of(number: int, n_replies: int, sampling: Sampling) -> list[Generate]:
    """Replies that are decoded at once; each has a prompt of its own."""
    commands = []
    for index in range(n_replies):
        text = FILES[(number + index) % len(FILES)].read_text("utf-8")
        wish = (
            f"Repeat this file, and give every function a docstring ({number + index}):\n\n{text}"
        )
        commands.append(
            Generate(
                request=number + index + 1,
                sequence=f"s{index}",
                turn=1,
                role="coder",
                messages=(Message("user", wish),),
                max_tokens=MOST_REPLY,
                sampling=sampling,
                batch=n_replies,
                loop_guard=False,
            )
        )
    return commands


def replies(
    backend: LlamaBackend, method: tuple[str, str], commands: Sequence[Generate]
) -> list[GenerationFinished]:
    """Decode replies at once, with an empty cache and empty corpora."""
    events: list[EngineEvent] = []
    drafter, policy = method
    settings = ConfigureDrafting(drafter=drafter, policy=policy, fixed_k=15)
    decoder = Decoder(
        backend, make_drafter(drafter), make_policy(settings), events.append, len(commands)
    )
    for command in commands:
        decoder.begin(command)
    while decoder.active:
        decoder.step(lambda request: False)
    decoder.drop_cache()
    ended = [event for event in events if isinstance(event, GenerationFinished)]
    return sorted(ended, key=lambda event: event.request)


def measure(backend: LlamaBackend, sampling: Sampling, n_tokens: int, batch: int) -> Tally:
    """Compare replies until there are enough tokens."""
    tally = Tally()
    number = 0
    while tally.n_tokens < n_tokens:
        commands = commands_of(number, batch, sampling)
        number += batch
        plain = replies(backend, ("none", "off"), commands)
        method = METHODS[(number // batch) % len(METHODS)]
        drafted = replies(backend, method, commands)
        for command, one, other in zip(commands, plain, drafted, strict=True):
            tally.n_tokens += one.n_tokens
            tally.n_drafted += other.n_drafted
            tally.n_accepted += other.n_accepted
            _compare(backend, command, one, other, tally)
    return tally


def _compare(
    backend: LlamaBackend,
    command: Generate,
    one: GenerationFinished,
    other: GenerationFinished,
    tally: Tally,
) -> None:
    at = first_parting(one.ids, other.ids)
    if at is None:
        return
    decoder = Decoder(backend, make_drafter("none"), make_policy(ConfigureDrafting()), print)
    prompt = [token for piece in decoder.pieces(command) for token in piece.ids]
    a, b = (ids[at] if at < len(ids) else None for ids in (one.ids, other.ids))
    ways = ways_of(backend, command.batch)
    tie = compare(backend, [*prompt, *one.ids[:at]], a, b, ways)
    if command.sampling.temperature > 0.0:
        is_exact = tie.rounding == 0.0
        tally.n_unproven += is_exact
        why = "passes here are EXACT" if is_exact else "passes here are not exact"
        tally.partings.append(f"token {at}: drawn, {why}")
        return
    tally.n_unproven += not tie.is_proven
    proof = "a near tie" if tie.is_proven else "NO near tie"
    tally.partings.append(
        f"token {at}: {proof}, gap {tie.gap:.4f}, rounding moves logits by {tie.rounding:.4f}"
    )


def main() -> int:
    """Compare and print; 1 if a difference is not explained by rounding."""
    parser = argparse.ArgumentParser(description="Drafting on against off, token by token.")
    parser.add_argument("--models", default="smollm2-135m,qwen2.5-coder-0.5b,gemma3-270m")
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=1)
    given = parser.parse_args()
    if "GOMP_SPINCOUNT" not in os.environ:  # as the engine process has it, see engine/link.py
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | {"GOMP_SPINCOUNT": "1000"}
        )
    n_unproven = 0
    for name in given.models.split(","):
        try:
            model = resolve(name)
        except AgspecError as error:
            print(error.one_line(), file=sys.stderr)
            return 2
        load = LoadModel(
            path=model.path, name=name, n_ctx=2048 * given.batch, n_seq_max=given.batch
        )
        backend = LlamaBackend(load)
        for sampling in (Sampling(), Sampling(temperature=0.8, seed=7)):
            tally = measure(backend, sampling, given.tokens, given.batch)
            n_unproven += tally.n_unproven
            print(
                f"{name}, temperature {sampling.temperature}, {given.batch} at once:"
                f" {tally.n_tokens} tokens, {tally.n_drafted} drafted, {tally.n_accepted} accepted,"
                f" {len(tally.partings)} replies differ",
                flush=True,
            )
            for line in tally.partings:
                print(f"  {line}")
        backend.close()
    return 1 if n_unproven else 0


if __name__ == "__main__":
    sys.exit(main())
