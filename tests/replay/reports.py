"""Reports of a few steps, made by hand."""

import numpy as np

from agspec_tui.replay.report import Default, Report, Skip, make_rows
from agspec_tui.replay.tally import Key, Tally, total


class Linear:
    """A pass whose every further token costs `slope`."""

    def __init__(self, slope):
        self.slope = slope

    def at(self, n):
        return 1.0 + self.slope * (n - 1)


COSTS = {"cheap": Linear(0.05), "dear": Linear(0.6)}
STEPS = {
    # drafter, policy, walked: D and A of the steps of a coder's two turns and a planner's one
    ("none", "own", ""): ([0] * 6, [0] * 6, [0] * 4, [0] * 4, [0] * 3, [0] * 3),
    ("pld", "own", ""): ([5, 5], [3, 1], [5, 5], [0, 2], [5, 5], [1, 0]),
    ("agspec-sam", "fixed-8", ""): ([8], [5], [8, 8], [0, 2], [8, 8], [1, 0]),
    ("agspec-sam", "goodput", "cheap"): ([6], [5], [4, 4], [0, 2], [2, 0], [1, 0]),
    ("agspec-sam", "goodput", "dear"): ([5], [5], [0, 2], [0, 2], [0, 0, 0], [0, 0, 0]),
    ("agspec-sam", "oracle", ""): ([5], [5], [0, 2], [0, 2], [1, 0], [1, 0]),
}
SOURCES = ("aider", "mini<agent>")


def tallies_of(apart=True):
    """Tallies with their sums; the second source has every call twice."""
    made = {}
    for (drafter, policy, walked), steps in STEPS.items():
        for source in SOURCES:
            for place, (role, turn) in enumerate(
                [("coder", "1"), ("coder", "2"), ("planner", "1")]
            ):
                drafted, accepted = map(np.array, steps[2 * place : 2 * place + 2])
                tally = made.setdefault(Key(drafter, policy, walked, source, role, turn), Tally())
                for _ in range(1 + SOURCES.index(source)):
                    n_tokens = int(accepted.sum()) + len(accepted)
                    tally.add_call(n_tokens, drafted, accepted, np.full(len(drafted), 2.5))
    return total(made, roles=apart, turns=apart)


def report_of(apart=True, **more):
    """A report of these tallies."""
    fields = {
        "model": "a-model",
        "traces": SOURCES,
        "costs": tuple(COSTS),
        "default": Default("agspec-sam", "goodput"),
        "rows": make_rows(tallies_of(apart), COSTS, "agspec-sam"),
        "options": {"split_by": "task", "sessions": 0},
        "n_sessions": dict.fromkeys(SOURCES, 3),
        "skips": (Skip("aider.jsonl, line 4", "no session: truncated"),),
    }
    return Report(**{**fields, **more})
