"""Whether drafting changes what the target says: `gpu_lossless.py MODEL SESSIONS OUT`.

The same prompts are decoded plainly and with drafts, the target choosing freely. Where the tokens
part, both are looked at: kernels of different sizes round differently, so that two tokens of nearly
the same logit may change places. Such a near tie is shown by measuring how far the rounding moves
the logits there; anything else is a failure.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
from gpu_replies import Reply, load_for, methods_of, read_replies, settings_for

from agspec_tui.commands import LoadModel
from agspec_tui.config import Config, logs_dir
from agspec_tui.engine.client import EngineClient
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.near_tie import NearTie, compare, first_parting, ways_of
from agspec_tui.engine.prompt import PromptBuilder
from agspec_tui.errors import AgspecError

N_CTX = 8192
N_BATCH = 512
SHARE_DECODING = 0.6
"""Share of the time after which no prompt is begun; what is left is for it and for proofs."""


@dataclass(frozen=True, slots=True)
class Parting:
    """Where a drafted reply parts from the plain one."""

    prompt: int
    """Number of the prompt, from 0."""
    method: str
    """How it was drafted."""
    position: int
    """Tokens of the reply before it."""
    plain: int
    """The token that plain decoding chose; −1 if it ended there."""
    drafted: int
    """The token that was chosen with drafts; −1 if the reply ended there."""


async def decode(
    load: LoadModel, replies: Sequence[Reply], config: Config, n_tokens: int, until: float
) -> tuple[list[tuple[int, ...]], list[Parting], dict[str, int]]:
    """Decode prompts plainly and with each method, twice; no further prompt is begun after `until`.

    The second time the first reply is in the session's corpus, so that drafts are long and mostly
    right.

    Returns:
        Plain replies, where drafted ones part from them, and how much was drafted and accepted.
    """
    client = EngineClient(lambda event: None, logs_dir())
    plain: list[tuple[int, ...]] = []
    partings: list[Parting] = []
    counts = {"n_tokens": 0, "n_drafted": 0, "n_accepted": 0}
    request = 0
    try:
        methods = methods_of(config)
        await client.start(load, methods.pop("none"))
        for number, reply in enumerate(replies):
            if plain and time.perf_counter() > until:
                break
            request += 1
            command = reply.command(request, forced=0, max_tokens=n_tokens, drafting=False)
            plain.append((await client.generate(command)).ids)
            for name, drafting in methods.items():
                await client.configure(drafting)
                await client.reset(keep_cache=True)
                for _ in range(2):
                    request += 1
                    command = msgspec.structs.replace(command, request=request, drafting=True)
                    finished = await client.generate(command)
                    counts["n_tokens"] += finished.n_tokens
                    counts["n_drafted"] += finished.n_drafted
                    counts["n_accepted"] += finished.n_accepted
                    at = first_parting(plain[-1], finished.ids)
                    if at is not None:
                        one, other = (
                            ids[at] if at < len(ids) else -1 for ids in (plain[-1], finished.ids)
                        )
                        partings.append(Parting(number, name, at, one, other))
    finally:
        await client.close()
    return plain, partings, counts


def prove(
    load: LoadModel,
    replies: Sequence[Reply],
    plain: Sequence[Sequence[int]],
    partings: Sequence[Parting],
) -> list[NearTie]:
    """Decode up to each parting in both ways; where a reply ended, the end is what it chose."""
    backend = LlamaBackend(load)
    try:
        prompts = PromptBuilder(backend)
        proofs: list[NearTie] = []
        for parting in partings:
            reply = replies[parting.prompt]
            pieces = prompts.pieces(f"proof {len(proofs)}", reply.messages)
            ids = [int(token) for piece in pieces for token in piece.ids]
            ids += plain[parting.prompt][: parting.position]
            chosen = (parting.plain, parting.drafted)
            one, other = (token if token >= 0 else None for token in chosen)
            proofs.append(compare(backend, ids, one, other, ways_of(backend, 1)))
        return proofs
    finally:
        backend.close()


def main() -> int:
    """Check; 1 if a reply changed for no proven reason, or the engine refused or failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("sessions", type=Path, help="made by gpu_pack.py")
    parser.add_argument("out", type=Path)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds")
    parser.add_argument("--n-prompts", type=int, default=6)
    parser.add_argument("--n-tokens", type=int, default=256, help="of each reply")
    options = parser.parse_args()
    until = time.perf_counter() + SHARE_DECODING * options.limit
    replies = [one[0] for one in read_replies(options.sessions, options.model)]
    replies = sorted(replies, key=lambda one: one.n_prompt)[: options.n_prompts]
    config = settings_for(options.model, N_CTX, N_BATCH)
    try:
        load = load_for(config, 4)
        plain, partings, counts = asyncio.run(
            decode(load, replies, config, options.n_tokens, until)
        )
        proofs = prove(load, replies, plain, partings) if partings else []
    except AgspecError as error:
        print(f"error: {error.one_line()}", file=sys.stderr)
        return 1
    found = [
        {**asdict(parting), **asdict(proof), "tie": proof.is_proven}
        for parting, proof in zip(partings, proofs, strict=True)
    ]
    lossless = all(one["tie"] for one in found)
    document = {**counts, "n_prompts": len(plain), "partings": found, "lossless": lossless}
    options.out.write_text(json.dumps(document))
    print(json.dumps(document, indent=1))
    return 0 if lossless else 1


if __name__ == "__main__":
    sys.exit(main())
