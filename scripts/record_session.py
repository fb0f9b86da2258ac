"""Records a real session: `python scripts/record_session.py [--ask] REPO ISSUE OUT`.

REPO is worked on in place. Everything is approved: unasked, or with `--ask` after the plan, the
edits and the commands that are not let through were asked about. The recording holds one event a
line; the repository's own path is replaced by its name, so that a recording tells nothing of the
machine it was made on.
"""

import argparse
import asyncio
import sys
from pathlib import Path

import msgspec

from agspec_tui.commands import AnswerApproval, SubmitTask
from agspec_tui.config import load
from agspec_tui.events import ApprovalRequested, Event, TaskFinished
from agspec_tui.session.recorded import write_events
from agspec_tui.session.session import Session


async def record(repo: Path, issue: str, *, ask: bool) -> list[Event]:
    """The events of one task, from the start of the session on."""
    config = msgspec.structs.replace(load(), review_plan=ask)
    session = Session(repo, config, auto_approve=not ask, can_ask=ask)
    subscription = session.bus.subscribe()
    events: list[Event] = []
    try:
        await session.start()
        await session.send(SubmitTask(text=issue))
        while not events or not isinstance(events[-1], TaskFinished):
            await subscription.wait()
            new = subscription.drain()
            events += new
            for event in new:
                if not isinstance(event, ApprovalRequested):
                    continue
                if not ask:
                    sys.exit(f"it asks: {event.summary}; give --ask")
                await session.send(AnswerApproval(call_id=event.call_id, approved=True))
    finally:
        await session.close()
    return events


def main() -> None:
    """Record, tidy, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ask", action="store_true", help="have everything asked about")
    for name in ("repo", "issue", "out"):
        parser.add_argument(name, type=Path, metavar=name.upper())
    options = parser.parse_args()
    repo, out = options.repo.resolve(), options.out
    events = asyncio.run(record(repo, options.issue.read_text(encoding="utf-8"), ask=options.ask))
    write_events(out, events)
    out.write_bytes(out.read_bytes().replace(str(repo).encode(), repo.name.encode()))
    print(f"{out}: {len(events)} events, {events[-1]}"[:200])


if __name__ == "__main__":
    main()
