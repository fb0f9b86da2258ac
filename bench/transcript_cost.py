"""What a long transcript costs: appending, scrolling and a new width, at 1,000 and 200,000 lines.

    python bench/transcript_cost.py [--lines 1000,200000] [--json FILE]

The screen's own widget in an app without a terminal. For each size the median time, in
milliseconds, to append a line and draw, to scroll by a page and draw, and until the screen is drawn
after the width has changed; and what the process's memory grew by.
"""

import argparse
import asyncio
import resource
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from agspec_tui.tui.lines import line
from agspec_tui.tui.widgets.transcript import Transcript

_SIZE = (120, 40)
_N_TIMES = 30


class _Holder(App[None]):
    """Nothing but a transcript."""

    def compose(self) -> ComposeResult:
        """The transcript."""
        yield Transcript()


async def measure(n_lines: int) -> dict[str, float]:
    """Figures at one size."""
    app = _Holder()
    async with app.run_test(size=_SIZE) as pilot:
        view = app.query_one(Transcript)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for start in range(0, n_lines, 1_000):
            numbers = range(start, min(start + 1_000, n_lines))
            view.extend(line(f"{number} " + "word " * (number % 30)) for number in numbers)
            await pilot.pause()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

        async def append() -> None:
            view.extend([line("one more")])

        async def scroll() -> None:
            view.scroll_page_up(animate=False)

        widths = iter(range(119, 60, -1))

        async def narrow() -> None:
            await pilot.resize_terminal(next(widths), _SIZE[1])

        return {
            "n_lines": n_lines,
            "append_ms": await _median_ms(pilot, append),
            "scroll_ms": await _median_ms(pilot, scroll),
            "resize_ms": await _median_ms(pilot, narrow),
            "memory_mb": round(memory / 1024, 1),
        }


async def _median_ms(pilot: Pilot[None], act: Callable[[], Awaitable[None]]) -> float:
    times = []
    for _ in range(_N_TIMES):
        began = time.perf_counter()
        await act()
        await pilot.pause()
        times.append(time.perf_counter() - began)
    return round(1e3 * statistics.median(times), 2)


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="What a long transcript costs.")
    parser.add_argument("--lines", default="1000,200000")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    rows = [asyncio.run(measure(int(n))) for n in options.lines.split(",")]
    document = msgspec.json.format(msgspec.json.encode({"schema": 1, "rows": rows}), indent=2)
    print(document.decode())
    if options.json:
        Path(options.json).write_bytes(document + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
