"""Records a real session, every edit approved: `python scripts/record_session.py REPO ISSUE OUT`.

REPO is worked on in place. The recording holds one event a line; the repository's own path is
replaced by its name, so that a recording tells nothing of the machine it was made on.
"""

import asyncio
import sys
from pathlib import Path

from agspec_tui.commands import SubmitTask
from agspec_tui.config import load
from agspec_tui.events import ApprovalRequested, Event, TaskFinished
from agspec_tui.session.recorded import write_events
from agspec_tui.session.session import Session


async def record(repo: Path, issue: str) -> list[Event]:
    """The events of one task, from the start of the session on."""
    session = Session(repo, load(), auto_approve=True)
    subscription = session.bus.subscribe()
    events: list[Event] = []
    try:
        await session.start()
        await session.send(SubmitTask(text=issue))
        while not events or not isinstance(events[-1], TaskFinished):
            await subscription.wait()
            new = subscription.drain()
            asked = [event.summary for event in new if isinstance(event, ApprovalRequested)]
            if asked:
                sys.exit(f"it asks: {asked[0]}; nobody answers, so take .agspec.toml out of {repo}")
            events += new
    finally:
        await session.close()
    return events


def main() -> None:
    """Record, tidy, write."""
    repo, issue, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), Path(sys.argv[3])
    events = asyncio.run(record(repo, issue.read_text(encoding="utf-8")))
    write_events(out, events)
    out.write_bytes(out.read_bytes().replace(str(repo).encode(), repo.name.encode()))
    print(f"{out}: {len(events)} events, {events[-1]}"[:200])


if __name__ == "__main__":
    main()
