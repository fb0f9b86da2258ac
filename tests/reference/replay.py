"""Replay as one would do it by hand: the oracle of walks over recordings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agspec_tui.drafting.types import Drafter, Piece
from agspec_tui.policy.types import Evidence, Outcome, Policy

LONGEST = 256


@dataclass(frozen=True)
class Step:
    """One verification."""

    call: int
    position: int
    n_drafted: int
    n_accepted: int


def replay(
    session: dict[str, Any],
    tokenize: Callable[[str], list[int]],
    drafter: Drafter,
    policy: Policy,
) -> list[Step]:
    """Steps of a recorded session: its JSON, asked step by step; calls without output have none."""
    steps: list[Step] = []
    said: dict[str, list[str]] = {}
    policy.reset()
    for number, call in enumerate(session["calls"]):
        agent = call.get("agent_id", "main")
        texts = [] if call.get("ctx", "append") == "new" else list(said.get(agent, []))
        texts += [message["content"] for message in call["prompt"] if message["content"]]
        said[agent] = [*texts, call["output"]]
        pieces = [Piece("p", tuple(tokenize(text))) for text in texts] or [Piece("p", ())]
        drafter.begin(agent, pieces)
        output = tokenize(call["output"])
        position = 0
        while position < len(output):
            left = len(output) - position
            match = drafter.match()
            evidence = Evidence(match.length, match.source, match.n_seen, match.n_group)
            # Nobody knows beforehand where a reply ends; only its own tokens can be compared.
            budget = policy.budget(call.get("role", "agent"), evidence, LONGEST)
            k = min(budget.k, left - 1)
            ids = drafter.draft(match, k).ids if k > 0 else ()
            n_accepted = 0
            while n_accepted < len(ids) and ids[n_accepted] == output[position + n_accepted]:
                n_accepted += 1
            censored = budget.censored or len(ids) < budget.k
            outcome = Outcome(len(ids), n_accepted, censored)
            policy.observe(call.get("role", "agent"), evidence, outcome)
            if ids:
                drafter.observe(len(ids), n_accepted)
            drafter.feed(output[position : position + n_accepted + 1])
            steps.append(Step(number, position, len(ids), n_accepted))
            position += n_accepted + 1
    return steps
