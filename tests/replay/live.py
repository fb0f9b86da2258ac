"""Sessions with the real engine process that are recorded, and their replay."""

import asyncio
import json
import time
from pathlib import Path

from agspec_tui.commands import ConfigureDrafting, DocumentView, Generate, IndexDocument, LoadModel
from agspec_tui.drafting.choose import default_policy
from agspec_tui.engine.scripted import ScriptedTokenizer
from agspec_tui.events import StepCommitted
from agspec_tui.replay.live import first_difference, read_recording, replay

CODE = '''def clamp(value, low, high):
    """Bring a value into a range."""
    if low > high:
        raise ValueError(f"{low} is above {high}")
    return max(low, min(value, high))


def scale(values, factor):
    """Multiply every value."""
    return [value * factor for value in values]


def clamp_all(values, low, high):
    """Bring every value into a range."""
    return [clamp(value, low, high) for value in values]
'''
EDITED = CODE.replace("factor", "by").replace("a range", "the range")


def drafting(drafter, policy="", **more):
    return ConfigureDrafting(drafter=drafter, policy=policy or default_policy(drafter), **more)


def scripted(folder, *replies, step_delay_s=0.0, **load):
    path = folder / "script.json"
    path.write_text(json.dumps({"replies": replies, "step_delay_s": step_delay_s}))
    return LoadModel(
        path=f"scripted:{path}",
        name="script",
        record=str(folder / "recordings" / "session.jsonl"),
        **{"n_ctx": 32768, **load},
    )


def ask(request, *messages, role="coder", **more):
    return Generate(request=request, sequence=role, turn=1, role=role, messages=messages, **more)


def document(path, text):
    return IndexDocument(path=path, views=(DocumentView("raw", text),))


async def until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        await asyncio.sleep(0.002)


def n_steps(events, request):
    return sum(isinstance(e, StepCommitted) and e.request == request for e in events)


def lines(load):
    return read_recording(Path(load.record))


def replayed(load, tokenizer=None, settings=None):
    return list(replay(lines(load), tokenizer or ScriptedTokenizer(), settings))


def differences(load, tokenizer=None):
    return [d for one in replayed(load, tokenizer) if (d := first_difference(one)) is not None]
