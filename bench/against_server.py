"""Speed-ups of our drafting and of a llama.cpp server's n-gram types, on the same prompts.

    python bench/against_server.py SERVER_BINARY [--model NAME] [--kinds a,b] [--types a,b]
        [--prompts FILE] [--short N] [--json FILE]

The prompts are those of `agspec-tui bench`. Both sides get the same model file, threads and prompt
token ids (ours are read off a recording of the engine and sent as ids), decode greedily on this
machine, and keep what they have read. One server runs for each type with its defaults and one with
short drafts, where it has a setting for their length, and one decodes plainly. Prompt by prompt,
our engine (plainly and with drafts) and then all servers take turns, each time with another order.
A speed-up is over the same program's plain decoding. Later turns of a session hold our replies.

The exit code is 0 if our speed-up is at least 1.1 times that of the best type on the whole set, and
not below that type's on any kind.
"""

import argparse
import asyncio
import contextlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from agspec_tui.config import Config
from agspec_tui.engine.client import EngineClient
from agspec_tui.engine.recording import RecordedMessage
from agspec_tui.replay.live import Generation, entries, read_recording
from agspec_tui.session.bench import Run, parse_methods, run_bench
from agspec_tui.session.bench_prompts import BenchPrompt, read_prompts
from agspec_tui.session.calibration import measured_once, with_cost
from agspec_tui.session.loading import plan_load

sys.path.insert(0, str(Path(__file__).parent))

from llama_server import LlamaServer

N_CTX = 4096
AHEAD = 1.1
SHORT_LOOKUP = 4
PLAIN, OURS = "none", "agspec-sam"
SHORT = {
    "ngram-simple": "--spec-ngram-simple-size-n {n} --spec-ngram-simple-size-m {m}",
    "ngram-map-k": "--spec-ngram-map-k-size-n {n} --spec-ngram-map-k-size-m {m}",
    "ngram-map-k4v": "--spec-ngram-map-k4v-size-n {n} --spec-ngram-map-k4v-size-m {m}",
    "ngram-mod": "--spec-ngram-mod-n-match {n} --spec-ngram-mod-n-min 1 --spec-ngram-mod-n-max {m}",
}


@dataclass(slots=True)
class Decoded:
    """Tokens and seconds of one way to decode, by kind; `all` is the whole set."""

    n_tokens: dict[str, int] = field(default_factory=dict)
    """Tokens."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds of decoding them."""
    n_same: int = 0
    """Replies with the ids of our plain decoding."""
    n_replies: int = 0
    """Replies."""

    def add(self, prompt: BenchPrompt, n_tokens: int, seconds: float, n_same: int) -> None:
        """Add the replies to a prompt."""
        for key in (prompt.kind, "all"):
            self.n_tokens[key] = self.n_tokens.get(key, 0) + n_tokens
            self.seconds[key] = self.seconds.get(key, 0.0) + seconds
        self.n_same += n_same
        self.n_replies += prompt.n_turns

    def rate(self, kind: str) -> float:
        """Tokens a second."""
        return self.n_tokens[kind] / self.seconds[kind]


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
        if name in SHORT:
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


async def compare(options: argparse.Namespace, folder: Path) -> dict[str, dict[str, Decoded]]:
    """Decode everything; what came of it, by program and by way to decode."""
    config = Config(model=options.model, n_ctx=N_CTX)
    record = folder / "ours.jsonl"
    load = msgspec.structs.replace(plan_load(config), record=str(record))
    prompts = read_prompts(options.prompts, [kind for kind in options.kinds.split(",") if kind])
    types = [name for name in options.types.split(",") if name] or types_of(options.server)
    servers = servers_of(types, options.short)
    methods = parse_methods(f"{PLAIN},{OURS}", config)
    client = EngineClient(lambda event: None, folder)
    ours = {method.name: Decoded() for method in methods}
    theirs = {name: Decoded() for name in servers}
    try:
        loaded = await client.start(load, methods[0].drafting)
        times = await measured_once(client, load, loaded, config, lambda error: None)
        methods = [
            replace(m, drafting=with_cost(m.drafting, times, config, loaded.device))
            for m in methods
        ]
        with running(options.server, load.path, servers, loaded.n_threads, folder) as up:
            for number, prompt in enumerate(prompts):
                runs = await run_bench(client, turned(methods, number), [prompt], 1, show)
                plain = next(run for run in runs if run.method == PLAIN)
                for run in runs:
                    n_same = sum(a == b for a, b in zip(run.ids, plain.ids, strict=True))
                    ours[run.method].add(prompt, run.n_tokens, run.decode_s, n_same)
                asked = last_prompts(record, prompt.n_turns)
                for name in turned(list(up), number):
                    ask(up[name], name, prompt, asked, plain, theirs[name])
    finally:
        await client.close()
    return {"ours": ours, "server": theirs}


def turned(ways: Sequence[Any], number: int) -> list[Any]:
    """The ways in another order for each number."""
    shift = number % len(ways)
    return [*ways[shift:], *ways[:shift]]


def ask(
    server: LlamaServer,
    name: str,
    prompt: BenchPrompt,
    asked: Sequence[Sequence[int]],
    plain: Run,
    into: Decoded,
) -> None:
    """Ask a server for every turn of a prompt."""
    n_tokens = n_same = 0
    seconds = 0.0
    for ids, turn in zip(asked, plain.turns, strict=True):
        answer = server.complete(ids, prompt.most_tokens)
        # The server's clock starts at the first token.
        n_tokens += answer["timings"]["predicted_n"] - 1
        seconds += answer["timings"]["predicted_ms"] / 1e3
        n_same += list(turn.ids) == answer["tokens"][: len(turn.ids)]
        if answer["tokens_evaluated"] != len(ids):
            raise RuntimeError(f"the server read {answer['tokens_evaluated']} tokens of {len(ids)}")
    into.add(prompt, n_tokens, seconds, n_same)
    print(f"    server {name:<22} {n_tokens / seconds:.2f} tok/s", file=sys.stderr, flush=True)


def show(run: Run) -> None:
    """Say what a run of ours came to."""
    rate = run.n_tokens / run.decode_s
    print(f"  {run.prompt.kind} {run.prompt.name}: {run.method} {rate:.2f} tok/s", file=sys.stderr)


def report_of(found: dict[str, dict[str, Decoded]], options: argparse.Namespace) -> dict[str, Any]:
    """Speed-ups over the same program's plain decoding by kind, and how ours stand to theirs."""
    rows = []
    for program, ways in found.items():
        for name, decoded in ways.items():
            plain = ways[PLAIN]
            rows.append(
                {
                    "program": program,
                    "way": name,
                    "tok_per_s": {k: round(decoded.rate(k), 3) for k in decoded.n_tokens},
                    "speedup": {
                        k: round(decoded.rate(k) / plain.rate(k), 3) for k in decoded.n_tokens
                    },
                    "same_ids": f"{decoded.n_same}/{decoded.n_replies}",
                }
            )
    ours = next(r for r in rows if r["program"] == "ours" and r["way"] == OURS)["speedup"]
    others = [row for row in rows if row["program"] == "server" and row["way"] != PLAIN]
    best = max(others, key=lambda row: row["speedup"]["all"])
    ratio = {kind: round(ours[kind] / best["speedup"][kind], 3) for kind in ours}
    return {
        "schema": 1,
        "model": options.model,
        "rows": rows,
        "best": best["way"],
        "ours_over_best": ratio,
        "ours_over_best_of_kind": {
            kind: round(ours[kind] / max(row["speedup"][kind] for row in others), 3)
            for kind in ours
        },
        "ahead": ratio["all"] >= AHEAD and all(each >= 1.0 for each in ratio.values()),
    }


def table(report: dict[str, Any]) -> str:
    """The speed-ups as text."""
    kinds = list(report["ours_over_best"])
    kinds = [*(kind for kind in kinds if kind != "all"), "all"]
    head = f"{'speed-up over plain decoding':<34}" + "".join(f"{kind:>12}" for kind in kinds)
    lines = [f"{head}{'same ids':>12}"]
    for row in report["rows"]:
        cells = "".join(f"{row['speedup'][kind]:>11.2f}×" for kind in kinds)
        lines.append(f"{row['program'] + ' ' + row['way']:<34}{cells}{row['same_ids']:>12}")
    for key, text in (
        ("ours_over_best", f"ours over {report['best']}"),
        ("ours_over_best_of_kind", "ours over the best of each kind"),
    ):
        lines.append(f"{text:<34}" + "".join(f"{report[key][kind]:>11.2f}×" for kind in kinds))
    return "\n".join(lines)


def main() -> int:
    """Compare and report; 1 if we are not ahead."""
    parser = argparse.ArgumentParser(description="Our drafting against a llama.cpp server's.")
    parser.add_argument("server", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--types", default="")
    parser.add_argument("--short", type=int, default=6)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agspec-server-") as folder:
        report = report_of(asyncio.run(compare(options, Path(folder))), options)
    print(table(report))
    if options.json:
        Path(options.json).write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2))
    return int(not report["ahead"])


if __name__ == "__main__":
    sys.exit(main())
