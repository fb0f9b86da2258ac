"""What the screen costs: the share of one core that its process takes while tokens arrive.

    python bench/ui_cost.py [--rates 100,1000] [--seconds 10] [--size 120x40] [--json FILE]

A reply of real code is streamed at each rate, one step of one token at a time and with drafts of
four tokens, into the real app on a pty of that size; its CPU time is read from outside, the first
six seconds left out. The exit code is 1 if a share is above its target: 5 % of a core at 100
tokens/s, 15 % at 1,000.
"""

import argparse
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from pathlib import Path

import msgspec
import psutil

from agspec_tui.events import ModelLoaded, SessionStarted, StepCommitted, TaskSubmitted, TurnStarted
from agspec_tui.session.recorded import RecordedSession
from agspec_tui.tui.app import AgspecApp

TARGETS = {100: 0.05, 1000: 0.15}
WARM_S = 6.0
_CHARS = 4
"""Characters of a token, about what code has."""
_ROLES = ("planner", "coder", "executor")


def events(rate: int, seconds: float) -> list[msgspec.Struct]:
    """A session that streams this file's text at `rate` tokens/s; every other step is a draft."""
    text = Path(__file__).read_text(encoding="utf-8")
    made: list[msgspec.Struct] = [
        SessionStarted(
            session_id="bench", repo="bench", model="none", roles=_ROLES, drafter="agspec-sam",
            policy="agspec", test_command="", t_s=0.0,
        ),
        ModelLoaded(
            model="none", device="CPU", n_ctx=16384, n_vocab=1, n_threads=1, load_s=0.0, n_exact=1,
            rollback=True, t_s=0.0,
        ),
        TaskSubmitted(text="stream", t_s=0.0),
        TurnStarted(turn=1, role="coder", form="whole", t_s=0.0),
    ]  # fmt: skip
    n_tokens = number = 0
    while n_tokens < rate * seconds:
        number += 1
        n_accepted = 4 * (number % 2)
        at = n_tokens * _CHARS % len(text)
        piece = text[at : at + _CHARS * (n_accepted + 1)]
        n_tokens += n_accepted + 1
        made.append(
            StepCommitted(
                request=1, role="coder", turn=1 + n_tokens // 2000, step=number, text=piece,
                ids=(1,) * (n_accepted + 1), n_accepted_chars=_CHARS * n_accepted,
                n_drafted=n_accepted * 2, n_accepted=n_accepted, match_len=n_accepted,
                source="workspace" if n_accepted else "", document="bench.py (whole)", offset=at,
                line=1, budget=8, cap=64, alpha=1.0 + number % 7 / 10, decode_us=1e4, draft_us=20.0,
                n_context=n_tokens % 16384, t_s=n_tokens / rate,
            )
        )  # fmt: skip
    return made


def show(rate: int, seconds: float) -> None:
    """Run the app on this process's terminal until it is killed."""
    session = RecordedSession(events(rate, seconds))
    AgspecApp(session, repo=Path(), model="none").run()


def measure(rate: int, seconds: float, size: tuple[int, int]) -> float:
    """CPU time of the app's process over wall time, after a warm-up."""
    pid, terminal = pty.fork()
    if pid == 0:
        # The whole recording must last longer than what is measured of it.
        show(rate, WARM_S + seconds + 10)
        os._exit(0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    process = psutil.Process(pid)
    try:
        _drain(terminal, WARM_S)
        cpu, began = process.cpu_times(), time.monotonic()
        _drain(terminal, seconds)
        after, wall_s = process.cpu_times(), time.monotonic() - began
    finally:
        process.kill()
        os.waitpid(pid, 0)
        os.close(terminal)
    return (after.user + after.system - cpu.user - cpu.system) / wall_s


def _drain(terminal: int, seconds: float) -> None:
    """Take what the app draws, as a terminal does."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            os.read(terminal, 1 << 16)


def main() -> int:
    """Measure every rate and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rates", default="100,1000")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    width, height = map(int, given.size.split("x"))
    rows = []
    for rate in map(int, given.rates.split(",")):
        share = measure(rate, given.seconds, (width, height))
        target = TARGETS.get(rate)
        rows.append({"tok_per_s": rate, "core_share": round(share, 4), "target": target})
        wanted = "" if target is None else f" (target {100 * target:.0f} %)"
        print(f"{rate} tokens/s at {given.size}: {100 * share:.1f} % of a core{wanted}")
    if given.json:
        document = {"schema": 1, "size": given.size, "rows": rows}
        given.json.write_bytes(msgspec.json.encode(document))
    missed = [row for row in rows if row["target"] and row["core_share"] > row["target"]]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
