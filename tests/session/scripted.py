"""A small repository with a bug, and a session over it with a scripted model."""

import json
import shlex
import sys
from pathlib import Path

import msgspec

from agspec_tui.commands import SubmitTask
from agspec_tui.config import Config
from agspec_tui.events import TaskFinished
from agspec_tui.session.session import Session

SCRIPTS = Path(__file__).parents[1] / "data" / "scripted"
TESTS = f"{shlex.quote(sys.executable)} -m unittest discover -s tests"
CALC = '''"""Sums."""


def total(numbers):
    """Sum of the numbers."""
    result = 0
    for number in numbers:
        result = result - number
    return result


def mean(numbers):
    """Mean of the numbers."""
    return total(numbers) / len(numbers)
'''
SHOW = '''"""Text."""

from calc import mean


def report(numbers):
    """One line about the numbers."""
    return f"mean {mean(numbers):.1f}"
'''
TEST_CALC = """import unittest

from calc import mean, total


class Calc(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)

    def test_mean(self):
        self.assertEqual(mean([2, 4]), 3)

    def test_nothing(self):
        self.assertEqual(total([]), 0)
"""
TEST_SHOW = """import unittest

from show import report


class Show(unittest.TestCase):
    def test_report(self):
        self.assertEqual(report([2, 4]), "mean 3.0.")
"""
FIXED = CALC.replace("- number", "+ number")
NEAR = """```diff
--- a/calc.py
+++ b/calc.py
@@
     result = 0
     for number in number_list:
-        result = result - numbers
+        result = result + number
     return result
```"""
"""The fix as a diff of lines that are only like those of the file."""
DOUBT = "calc.py, hunk 1: placed at line 8 by likeness only, 96 % alike"


def make_repo(root, *, two_files=False):
    (root / "tests").mkdir(parents=True)
    (root / "calc.py").write_text(CALC)
    (root / "show.py").write_text(SHOW)
    (root / "tests" / "test_calc.py").write_text(TEST_CALC)
    if two_files:
        (root / "tests" / "test_show.py").write_text(TEST_SHOW)
    return root


def snapshot(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def plan(*files, change="Add the numbers.", new=()):
    step = {"files": list(files), "change": change} | ({"new": list(new)} if new else {})
    return json.dumps({"steps": [step]})


def whole(path, text):
    return f"{path}\n```python\n{text}```"


def script(folder, *replies, step_delay_s=0.0):
    path = folder / "script.json"
    path.write_text(json.dumps({"replies": list(replies), "step_delay_s": step_delay_s}))
    return path


def config(path, **settings):
    # Tokens of the scripted model are bytes, so its context has to be roomy.
    return Config(**{"model": f"scripted:{path}", "n_ctx": 200_000, **settings})


async def run_task(session, text="total() gives the wrong sum", on_event=None):
    """Submit a task and collect its events until it ends."""
    subscription = session.bus.subscribe()
    await session.send(SubmitTask(text=text))
    events = []
    while True:
        await subscription.wait()
        for event in subscription.drain():
            events.append(event)
            if on_event is not None:
                await on_event(event)
            if isinstance(event, TaskFinished):
                return events


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def open_session(
    repo, path, *, auto=True, test_command=TESTS, can_ask=False, record=None, **settings
):
    return Session(
        repo,
        config(path, **settings),
        test_command=test_command,
        auto_approve=auto,
        can_ask=can_ask,
        record=record,
    )


def prompts(folder, role):
    """The last message of each prompt of a role in the one recording of a folder."""
    [path] = folder.iterdir()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    texts = {row["number"]: row["text"] for row in rows if row["kind"] == "RecordedMessage"}
    users = {row["number"] for row in rows if row.get("role") == "user"}
    asked = [row for row in rows if row["kind"] == "RecordedPrompt" and row["role"] == role]
    return [texts[max(users.intersection(row["messages"]))] for row in asked]


async def solve(repo, path, *, text="total() gives the wrong sum", on_event=None, **settings):
    """The events of one task in a session of its own; `on_event` takes the session too."""
    session = open_session(repo, path, **settings)
    try:
        await session.start()
        return await run_task(session, text, on_event and (lambda event: on_event(session, event)))
    finally:
        await session.close()


def check_stream(events):
    """Numbered without a gap, and every event can be sent."""
    assert [event.seq for event in events] == list(range(events[0].seq, events[-1].seq + 1))
    for event in events:
        msgspec.json.encode(event)
