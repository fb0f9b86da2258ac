"""Short recorded sessions: a function is read, written again with an edit, and tested."""

import json

NAMES = ("total", "mean", "largest", "median", "spread", "first")
BODY = """def {name}(prices):
    kept = [price.net for price in prices if price.net is not None]
    if not kept:
        raise ValueError("there are no prices")
    return sum(kept) / len(kept)
"""


def function(name, edited=False):
    text = BODY.format(name=name)
    return text.replace("is not None", "> 0") if edited else text


def call(role, prompt, output, **more):
    messages = [{"role": kind, "content": text} for kind, text in prompt]
    return {
        "agent": role,
        "role": role,
        "agent_id": role,
        "prompt": messages,
        "output": output,
        **more,
    }


def session(number, source="shop", **more):
    name = NAMES[number % len(NAMES)]
    shown = f"```python\n{function(name)}```"
    edit = f"prices.py\n```python\n{function(name, edited=True)}```\n"
    calls = [
        call(
            "planner", [("user", f"The {name} is wrong.\n{shown}")], f"Change {name} in prices.py."
        ),
        call("coder", [("user", f"prices.py\n{shown}")], edit, ctx="new"),
        call("coder", [("tool", "1 failed: ValueError")], edit.replace("> 0", ">= 0")),
        call("reviewer", [("user", "What is left of the old code?")], function(name), ctx="new"),
    ]
    return {
        "session_id": f"{source}/{number}",
        "task": f"{source}-{number}",
        "edit_format": "whole files",
        "calls": calls,
        **more,
    }


def write(path, sessions):
    path.write_text("".join(json.dumps(each) + "\n" for each in sessions), encoding="utf-8")
    return path
