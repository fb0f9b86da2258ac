"""The section of docs/results.md about issues fixed, from documents of `agspec-tui eval`."""

from pathlib import Path
from typing import Any

import msgspec
from results_runs import FOLDER

EVALS = {
    "eval": ("alone", "agspec-tui eval tests/data/tasks --model qwen2.5-coder-1.5b"),
    "eval-candidates": (
        "4 candidates",
        "agspec-tui eval tests/data/tasks --model qwen2.5-coder-1.5b --candidates 4",
    ),
    "eval-none": (
        "no drafts",
        "agspec-tui eval tests/data/tasks --model qwen2.5-coder-1.5b --set drafter=none",
    ),
}
"""By the document's name what is measured, and the command."""
_HEAD = """
## Issues fixed

The tasks of `tests/data/tasks` (Python, C and JavaScript: off by one, a wrong operator, a missing
case, two files, a new function, a rename, a failing import, a wrong constant) with
`qwen2.5-coder-1.5b` on two Xeon cores, at most five turns. These figures are measured, not
modelled. The first attempt is greedy and retries are drawn from fixed seeds: another model file or
another prompt fixes other tasks, a few more or fewer.
"""


def evals() -> list[str]:
    """Lines of the section; none without a document."""
    found = {name: _read(FOLDER / f"{name}.json") for name in EVALS}
    known = {name: document for name, document in found.items() if document is not None}
    if not known:
        return []
    lines = [*_HEAD.strip().split("\n"), "", "| | fixed | in the first turn | tokens | minutes |"]
    lines.append("| --- | --: | --: | --: | --: |")
    for name, document in known.items():
        tasks = document["tasks"]
        n_fixed = sum(task["status"] == "fixed" for task in tasks)
        at_once = sum(task["status"] == "fixed" and task["turns"] == 1 for task in tasks)
        n_tokens, wall_s = (sum(task[key] for task in tasks) for key in ("n_tokens", "wall_s"))
        lines.append(
            f"| {EVALS[name][0]} | {n_fixed} of {len(tasks)} ({n_fixed / len(tasks):.0%}) "
            f"| {at_once} | {n_tokens:,} | {wall_s / 60:.0f} |"
        )
    missing = [EVALS[name][0] for name in EVALS if name not in known]
    if missing:
        lines += ["", f"Not measured on this state: {', '.join(missing)}."]
    names = [EVALS[name][0] for name in known]
    lines += [
        "",
        f"Turns of each task, × where it was not fixed:\n\n| task | {' | '.join(names)} |",
    ]
    lines.append(f"| --- |{' --: |' * len(known)}")
    for number, task in enumerate(next(iter(known.values()))["tasks"]):
        cells = [_turns(document["tasks"][number]) for document in known.values()]
        lines.append(f"| {task['id']} | {' | '.join(cells)} |")
    return [*lines, "", "```sh", *(EVALS[name][1] for name in known), "```", ""]


def _turns(task: dict[str, Any]) -> str:
    return str(task["turns"]) if task["status"] == "fixed" else f"{task['turns']} ×"


def _read(path: Path) -> dict[str, Any] | None:
    return msgspec.json.decode(path.read_bytes(), type=dict) if path.exists() else None
