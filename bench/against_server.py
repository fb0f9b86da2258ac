"""Speed-ups of our drafting and of a llama.cpp server's n-gram types, on the same prompts.

    python bench/against_server.py SERVER_BINARY [--model NAME] [--kinds a,b] [--per-kind N]
        [--types a,b] [--short N] [--rounds N] [--exact off] [--prompts FILE] [--json FILE]

The prompts are those of `agspec-tui bench`. Both sides get the same model file, threads and prompt
token ids (ours are read off a recording of the engine and sent as ids), decode greedily on this
machine, and keep what they have read. One server runs for each type with its defaults and one with
short drafts, where it has a setting for their length, and one decodes plainly. Prompt by prompt,
our engine (plainly and with drafts) and then all servers take turns, each time with another order.
Later turns of a session hold our replies, and a server says as many tokens as our plain reply has.
Before each prompt a server says some random tokens, which nothing can be drafted for: the pace of
its process.

A rate is all tokens over all seconds of decoding, not a mean over prompts; a speed-up is over the
same program's plain decoding. `--exact off` lets our drafts be as long as they pay. `--kinds`,
`--per-kind`, `--types` and `--short 0` (no servers with short drafts) make a run shorter. What is
known is printed after each prompt and written to FILE; an interrupted run reports the prompts that
every way has decoded.

The exit code is 0 if our speed-up is at least 1.1 times that of the best type on the whole set, and
not below that type's on any kind; 1 if not, 2 if something failed, 130 if it was interrupted. A
kind is judged by the prompts that every way answered with the same ids, where there are any.
"""

import argparse
import asyncio
import contextlib
import re
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from agspec_tui.config import Config
from agspec_tui.engine.client import EngineClient
from agspec_tui.engine.recording import RecordedMessage
from agspec_tui.errors import AgspecError
from agspec_tui.events import GenerationFinished
from agspec_tui.replay.live import Generation, entries, read_recording
from agspec_tui.session.bench import Run, parse_methods, run_bench
from agspec_tui.session.bench_prompts import BenchPrompt, read_prompts
from agspec_tui.session.calibration import measured_once, with_cost
from agspec_tui.session.loading import plan_load

sys.path.insert(0, str(Path(__file__).parent))

from llama_server import LlamaServer
from server_report import OURS, PLAIN, Found, Said, report_of, shown, table

N_CTX = 4096
SHORT_REPLY = 128
"""Replies of so many tokens are over in seconds: ours are decoded in several rounds. A server
decodes each once, since some of its types remember what they said."""
INTERRUPTED = 130
SHORT_LOOKUP = 4
SHORT = {
    "ngram-simple": "--spec-ngram-simple-size-n {n} --spec-ngram-simple-size-m {m}",
    "ngram-map-k": "--spec-ngram-map-k-size-n {n} --spec-ngram-map-k-size-m {m}",
    "ngram-map-k4v": "--spec-ngram-map-k4v-size-n {n} --spec-ngram-map-k4v-size-m {m}",
    "ngram-mod": "--spec-ngram-mod-n-match {n} --spec-ngram-mod-n-min 1 --spec-ngram-mod-n-max {m}",
}


def types_of(binary: Path) -> list[str]:
    """N-gram types that a server's own help names."""
    shown = subprocess.run([str(binary), "--help"], capture_output=True, text=True, check=False)
    listed = re.search(r"--spec-type\s+(\S+)", shown.stdout + shown.stderr)
    return [name for name in listed[1].split(",") if name.startswith("ngram")] if listed else []


def servers_of(types: Sequence[str], short: int) -> dict[str, list[str]]:
    """Names of the servers and their arguments, the plain one first."""
    servers: dict[str, list[str]] = {PLAIN: []}
    for name in types:
        servers[name] = ["--spec-type", name]
        if name in SHORT and short:
            options = SHORT[name].format(n=SHORT_LOOKUP, m=short).split()
            servers[f"{name} short"] = ["--spec-type", name, *options]
    return servers


@contextlib.contextmanager
def running(
    binary: Path, model: str, servers: dict[str, list[str]], threads: int, folder: Path
) -> Iterator[dict[str, LlamaServer]]:
    """All servers, one after the other started, and ended at the end."""
    with contextlib.ExitStack() as stack:
        up = {}
        for name, options in servers.items():
            log = folder / f"{name.replace(' ', '-')}.log"
            up[name] = LlamaServer(binary, model, options, N_CTX, threads, log)
            stack.callback(up[name].close)
            up[name].wait()
            print(f"  server {name} is up", file=sys.stderr, flush=True)
        yield up


def last_prompts(record: Path, n: int) -> list[list[int]]:
    """Prompt token ids of the last generations of a recording."""
    messages: dict[int, RecordedMessage] = {}
    prompts = []
    for entry in entries(read_recording(record)):
        if isinstance(entry, RecordedMessage):
            messages[entry.number] = entry
        elif isinstance(entry, Generation):
            prompts.append(
                [token for number in entry.prompt.messages for token in messages[number].ids]
            )
    return prompts[-n:]


async def compare(options: argparse.Namespace, folder: Path, found: Found) -> None:
    """Decode everything; what came of it is added prompt by prompt.

    Raises:
        AgspecError: our engine failed, or there is no such model or kind.
        OSError: a server cannot be started.
        RuntimeError: a server failed.
    """
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    config = Config(model=options.model, n_ctx=N_CTX, exact=options.exact == "on")
    record = folder / "ours.jsonl"
    load = msgspec.structs.replace(plan_load(config), record=str(record))
    prompts = prompts_of(options)
    found.n_wanted = len(prompts)
    servers = servers_of(options.types, options.short)
    methods = parse_methods(f"{PLAIN},{OURS}", config)
    client = EngineClient(lambda event: None, folder)
    try:
        loaded = await client.start(load, methods[0].drafting)
        times = await measured_once(client, load, loaded, config, lambda error: None, anew=True)
        methods = [
            replace(m, drafting=with_cost(m.drafting, times, config, loaded.device))
            for m in methods
        ]
        with running(options.server, load.path, servers, loaded.n_threads, folder) as up:
            for number, prompt in enumerate(prompts):
                n_rounds = options.rounds if prompt.most_tokens <= SHORT_REPLY else 1
                runs = await run_bench(client, turned(methods, number), [prompt], n_rounds, show)
                plain = next(run for run in runs if run.method == PLAIN)
                said = {("ours", m.name): said_by(runs, m.name, plain) for m in methods}
                asked = last_prompts(record, prompt.n_turns)
                for name in turned(list(up), number):
                    said["server", name] = await ask(up[name], name, asked, plain)
                found.add(prompt, said)
                tell(found, options)
    finally:
        await client.close()


def prompts_of(options: argparse.Namespace) -> list[BenchPrompt]:
    """The prompts that are wanted, the first ones of each kind."""
    prompts = read_prompts(options.prompts, names_in(options.kinds))
    kinds = [prompt.kind for prompt in prompts]
    most = options.per_kind or len(prompts)
    return [p for number, p in enumerate(prompts) if kinds[:number].count(p.kind) < most]


def names_in(text: str) -> list[str]:
    """Names of a list with commas."""
    return [name for name in map(str.strip, text.split(",")) if name]


def turned(ways: Sequence[Any], number: int) -> list[Any]:
    """The ways in another order for each number."""
    shift = number % len(ways)
    return [*ways[shift:], *ways[:shift]]


def said_by(runs: Sequence[Run], method: str, plain: Run) -> Said:
    """What a method of ours said, on average over its rounds: a prompt counts once."""
    own = [run for run in runs if run.method == method]
    n_same = min(sum(a == b for a, b in zip(run.ids, plain.ids, strict=True)) for run in own)
    return Said(own[0].n_tokens, sum(run.decode_s for run in own) / len(own), n_same)


async def ask(server: LlamaServer, name: str, asked: Sequence[Sequence[int]], plain: Run) -> Said:
    """Ask a server for every turn of a prompt, as many tokens as our plain decoding said."""
    n_tokens = n_same = 0
    seconds = 0.0
    n_paced, paced_s = await asyncio.to_thread(server.pace, hash_of(asked[0]))
    for ids, turn in zip(asked, plain.turns, strict=True):
        # In a thread, so that an interrupted run need not wait for the reply.
        answer = await asyncio.to_thread(server.complete, ids, max(2, turn.n_tokens))
        # The server's clock starts at the first token.
        if answer["timings"]["predicted_n"] > 1:
            n_tokens += answer["timings"]["predicted_n"] - 1
            seconds += answer["timings"]["predicted_ms"] / 1e3
        n_same += is_same(turn, answer["tokens"])
        if answer["tokens_evaluated"] != len(ids):
            raise RuntimeError(f"the server read {answer['tokens_evaluated']} tokens of {len(ids)}")
    rate = f"{n_tokens / seconds:.2f}" if seconds else "–"
    print(f"    server {name:<22} {rate} tok/s", file=sys.stderr, flush=True)
    return Said(n_tokens, seconds, n_same, n_paced, paced_s)


def hash_of(ids: Sequence[int]) -> int:
    """A number that another prompt has not, the same in every run."""
    return zlib.crc32(",".join(map(str, ids)).encode())


def is_same(turn: GenerationFinished, tokens: Sequence[int]) -> bool:
    """Whether a server said what we said; it may name the token that ended the reply."""
    ended = turn.stop_reason == "eog"
    return list(turn.ids) == list(tokens[: len(turn.ids)]) and len(tokens) <= len(turn.ids) + ended


def show(run: Run) -> None:
    """Say what a run of ours came to."""
    rate = f"{run.n_tokens / run.decode_s:.2f}" if run.decode_s else "–"
    print(
        f"  {run.prompt.kind} {run.prompt.name}: {run.method} {rate} tok/s",
        file=sys.stderr,
        flush=True,
    )


def tell(found: Found, options: argparse.Namespace) -> None:
    """Print how things stand, and write the report so far."""
    report = report_of(found, options.model, exact=options.exact == "on")
    rows = {(row["program"], row["way"]): row for row in report["rows"]}
    ours, best = rows["ours", OURS], rows["server", report["best"]]
    print(
        f"  {found.n_prompts} of {found.n_wanted} prompts: ours {shown(ours['speedup']['all'])},"
        f" {report['best']} {shown(best['speedup']['all'])},"
        f" ratio {shown(report['ours_over_best']['all'])}",
        file=sys.stderr,
        flush=True,
    )
    if options.json:
        Path(options.json).write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2))


def parsed() -> argparse.Namespace:
    """The arguments, with the types that are measured; everything is checked before it is run."""
    parser = argparse.ArgumentParser(description="Our drafting against a llama.cpp server's.")
    parser.add_argument("server", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--prompts", type=Path, help="as of agspec-tui bench")
    parser.add_argument("--kinds", default="", help="of prompts; all by default")
    parser.add_argument("--per-kind", type=int, default=0, help="prompts of a kind; 0: all")
    parser.add_argument("--types", default="", help="n-gram types of the server; all by default")
    parser.add_argument("--short", type=int, default=6, help="tokens of short drafts; 0: none")
    parser.add_argument("--rounds", type=int, default=3, help="of ours, for short replies")
    parser.add_argument("--exact", choices=("on", "off"), default="on", help="of our engine")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    try:
        known = types_of(options.server)
    except OSError as error:
        parser.error(f"{options.server} cannot be run: {error.strerror}")
    options.types = names_in(options.types) or known
    unknown = [name for name in options.types if name not in known]
    if unknown or not known:
        named = ", ".join(known) or "none"
        parser.error(f"the server has no type {', '.join(unknown)}; its n-gram types: {named}")
    return options


def main() -> int:
    """Compare and report; 1 if we are not ahead."""
    options = parsed()
    found = Found()
    code = 0
    with tempfile.TemporaryDirectory(prefix="agspec-server-") as folder:
        try:
            asyncio.run(compare(options, Path(folder), found))
        except (KeyboardInterrupt, asyncio.CancelledError):
            print("interrupted", file=sys.stderr)
            code = INTERRUPTED
        except AgspecError as error:
            print(f"error: {error.one_line()}", file=sys.stderr)
            code = 2
        except (OSError, RuntimeError) as error:
            print(f"error: {error}", file=sys.stderr)
            code = 2
    if not found.n_prompts:
        return code or 2
    report = report_of(found, options.model, exact=options.exact == "on")
    print(table(report))
    return code or int(not report["ahead"])


if __name__ == "__main__":
    sys.exit(main())
