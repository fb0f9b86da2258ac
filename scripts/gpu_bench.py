"""Speed of drafting on a target that says recorded replies again.

`gpu_bench.py MODEL SESSIONS OUT`.
Every pass is a real one, of the real size, over the real cache; only what it chooses is given. So
the weights may be random. Methods take turns, reply by reply, and OUT is written as figures come.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from gpu_replies import Reply, load_for, methods_of, read_replies, settings_for

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.config import logs_dir
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import AgspecError
from agspec_tui.events import GenerationFinished
from agspec_tui.session.calibration import measured_once, with_cost

N_CTX = 32_768
N_BATCH = 1024
MOST_REPLY = 256
"""Tokens of a reply in a batch: with replies of like length no sequence decodes alone for long."""
SHARE_ALONE = 0.5
"""Share of the time that one sequence alone gets, where batches follow."""


@dataclass
class Tally:
    """What one method did."""

    seconds: float = 0.0
    """Time of its decoding."""
    finished: list[GenerationFinished] = field(default_factory=list)
    """Its generations."""


Clock = Callable[[], float]


class Bench:
    """One engine and the figures so far."""

    def __init__(self, client: EngineClient, methods: dict[str, ConfigureDrafting]) -> None:
        self._client = client
        self.methods = methods
        """What is compared, by name."""
        self._request = 0

    async def alone(
        self, sessions: Sequence[Sequence[Reply]], n_tokens: int, until: float, clock: Clock
    ) -> dict[str, Tally]:
        """Say replies one by one with each method, until there are enough of them."""
        tallies = {name: Tally() for name in self.methods}
        n_said = 0
        for number, replies in enumerate(sessions):
            if n_said and (n_said >= n_tokens or clock() > until):
                break
            n_said += sum(len(reply.ids) for reply in replies)
            for name in rotated(list(self.methods), number):
                await self._client.configure(self.methods[name])
                await self._client.reset(keep_cache=True)
                for reply in replies:
                    finished = await self._say(reply, len(reply.ids))
                    tallies[name].finished.append(finished)
                    tallies[name].seconds += finished.decode_s
        return tallies

    async def together(self, replies: Sequence[Reply], n_rounds: int) -> dict[str, Tally]:
        """Say several replies at once with each method."""
        tallies = {name: Tally() for name in self.methods}
        for number in range(n_rounds):
            for name in rotated(list(self.methods), number):
                await self._client.configure(self.methods[name])
                await self._client.reset(keep_cache=True)
                batch = len(replies)
                for reply in replies:  # the prompts are read before time is taken
                    await self._say(reply, 1, batch)
                await self._client.reset(keep_cache=True)
                started = time.perf_counter()
                said = [self._say(reply, MOST_REPLY, batch) for reply in replies]
                tallies[name].finished += await asyncio.gather(*said)
                tallies[name].seconds += time.perf_counter() - started
        return tallies

    async def _say(self, reply: Reply, n_tokens: int, batch: int = 1) -> GenerationFinished:
        self._request += 1
        command = reply.command(self._request, forced=n_tokens, batch=batch)
        finished = await self._client.generate(command)
        if finished.n_tokens < len(command.forced) and finished.stop_reason not in ("eog", "stop"):
            reason = finished.stop_reason
            print(f"{reply.session}: the reply ended early: {reason}", file=sys.stderr)
        return finished


def rotated(names: list[str], n: int) -> list[str]:
    """The names, beginning with another one each time."""
    shift = n % len(names)
    return names[shift:] + names[:shift]


def rows_of(batch: int, tallies: dict[str, Tally]) -> list[dict[str, object]]:
    """A row a method; a rate is that of all its tokens over the time of its decoding."""
    rates = {
        name: sum(one.n_tokens for one in tally.finished) / tally.seconds if tally.seconds else 0.0
        for name, tally in tallies.items()
    }
    rows: list[dict[str, object]] = []
    for name, tally in tallies.items():
        n_steps = max(1, sum(one.n_steps for one in tally.finished))
        n_accepted = sum(one.n_accepted for one in tally.finished)
        n_rejected = sum(one.n_drafted for one in tally.finished) - n_accepted
        rows.append(
            {
                "method": name,
                "batch": batch,
                "n_replies": len(tally.finished),
                "n_tokens": sum(one.n_tokens for one in tally.finished),
                "seconds": round(tally.seconds, 3),
                "tok_per_s": round(rates[name], 2),
                "speedup": round(rates[name] / rates["none"], 3) if rates["none"] else None,
                "accept_length": round(1 + n_accepted / n_steps, 3),
                "rejected_per_step": round(n_rejected / n_steps, 3),
            }
        )
    return rows


def chosen_for(batch: int, sessions: Sequence[Sequence[Reply]], n_ctx: int) -> list[Reply]:
    """A first reply of so many sessions, each within its share of the context; fewer if need be."""
    room = n_ctx // batch
    first = (replies[0] for replies in sessions)
    fitting = (
        reply
        for reply in first
        if len(reply.ids) >= MOST_REPLY // 2 and reply.n_prompt + MOST_REPLY <= room
    )
    return list(islice(fitting, batch))


async def measure(options: argparse.Namespace, started: float) -> dict[str, object]:
    """All figures; written to the file after each batch size."""
    sessions = read_replies(options.sessions, options.model)
    config = settings_for(options.model, N_CTX, N_BATCH)
    load = load_for(config, max(options.batches))
    client = EngineClient(lambda event: None, logs_dir())
    document: dict[str, object] = {"n_ctx": load.n_ctx, "rows": [], "notes": []}
    try:
        methods = methods_of(config)
        loaded = await client.start(load, methods["none"])
        document["device"] = loaded.device
        most = max(options.batches)
        found = await measured_once(client, load, loaded, config, _complain, most)
        methods = {
            name: with_cost(drafting, found, config, loaded.device)
            for name, drafting in methods.items()
        }
        bench = Bench(client, methods)
        for batch in options.batches:
            share = SHARE_ALONE if len(options.batches) > 1 else 0.9
            if batch == 1:
                until = started + share * options.limit
                tallies = await bench.alone(sessions, options.n_tokens, until, time.perf_counter)
            else:
                replies = chosen_for(batch, sessions, load.n_ctx)
                if len(replies) < batch:
                    document["notes"] += [f"{len(replies)} sessions for a batch of {batch}"]
                if not replies:
                    continue
                tallies = await bench.together(replies, options.rounds)
            rows = rows_of(batch, tallies)
            document["rows"] += rows
            options.out.write_text(json.dumps(document))
            for row in rows:
                print(row, flush=True)
    finally:
        with suppress(AgspecError):
            await client.close()
    return document


def _complain(error: AgspecError) -> None:
    print(f"warning: {error.one_line()}", file=sys.stderr)


def main() -> int:
    """Measure; 1 if the engine refused or failed."""
    started = time.perf_counter()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("sessions", type=Path, help="made by gpu_pack.py")
    parser.add_argument("out", type=Path)
    parser.add_argument("--limit", type=float, default=110.0, help="seconds")
    parser.add_argument("--n-tokens", type=int, default=3000, help="of replies one by one")
    parser.add_argument("--rounds", type=int, default=2, help="of each batch")
    parser.add_argument(
        "--batches", type=lambda text: [int(part) for part in text.split(",")], default=[1, 4, 16]
    )
    options = parser.parse_args()
    try:
        asyncio.run(measure(options, started))
    except AgspecError as error:
        print(f"error: {error.one_line()}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
