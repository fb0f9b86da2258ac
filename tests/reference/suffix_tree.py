"""The suffix tree, the slow and obvious way: a trie of dictionaries that is read from its root."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Node:
    """A string of the trie."""

    count: int = 0
    """How often it occurs."""
    children: dict[int, "Node"] = field(default_factory=dict)
    """The strings that are one token longer."""
    order: list[int] = field(default_factory=list)
    """Their last tokens, the most frequent first."""


class Trie:
    """All strings of at most `depth` tokens of many sequences, with counts."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.root = Node()
        self.sequences: dict[int, list[int]] = {}

    def append(self, sequence: int, tokens: Sequence[int]) -> None:
        """Count every string that ends with each new token."""
        text = self.sequences.setdefault(sequence, [])
        for token in tokens:
            text.append(int(token))
            for start in range(max(0, len(text) - self.depth), len(text)):
                more(self.node(text[start:-1]), int(token))

    def remove(self, sequence: int) -> None:
        """Take back every string of a sequence, from its beginning on."""
        text = self.sequences.pop(sequence)
        for start in range(len(text)):
            path = [self.root]
            for token in text[start : start + self.depth]:
                path.append(path[-1].children[token])
            # The longest string first: what it leaves behind must still be there to be looked up.
            for node, token in reversed(
                list(zip(path, text[start : start + self.depth], strict=False))
            ):
                fewer(node, token)

    def node(self, tokens: Sequence[int]) -> Node:
        """The node of a string; an empty one if it does not occur."""
        here = self.root
        for token in tokens:
            if token not in here.children:
                return Node()
            here = here.children[token]
        return here

    def draft(
        self,
        context: Sequence[int],
        k: int,
        factor: float = 1.0,
        offset: float = 0.0,
        min_prob: float = 0.1,
    ) -> tuple[list[int], float, int]:
        """Tokens, score and match length of the best match, ties to the longest."""
        best: tuple[list[int], float, int] = ([], 0.0, 0)
        for m in range(1, len(context)):
            here = self.node(context[len(context) - m :])
            if here.count == 0:
                break
            # Rounded as arctic-inference does: single precision first, then double.
            scaled = np.float32(m) * np.float32(factor) + np.float32(offset)
            ids, score = follow(here, min(k, int(float(scaled) + 1e-6)), min_prob)
            if score >= best[1]:
                best = (ids, score, m)
        return best


def follow(here: Node, limit: int, min_prob: float) -> tuple[list[int], float]:
    """The path of first children, and the sum of its probabilities in single precision."""
    ids: list[int] = []
    prob = np.float32(1)
    score = np.float32(0)
    while len(ids) < limit and here.order:
        child = here.children[here.order[0]]
        prob = np.float32(prob * np.float32(np.float32(child.count) / np.float32(here.count)))
        if prob < np.float32(min_prob):
            break
        ids.append(here.order[0])
        score = np.float32(score + prob)
        here = child
    return ids, float(score)


def more(parent: Node, token: int) -> None:
    """One occurrence more: the child goes in front of its equals, or of its new equals."""
    if token not in parent.children:
        parent.children[token] = Node(count=1)
        parent.order.append(token)
        return
    child = parent.children[token]
    at = parent.order.index(token)
    goal = next(i for i, other in enumerate(parent.order) if count(parent, other) == child.count)
    if goal == at:
        equals = [
            i for i, other in enumerate(parent.order) if count(parent, other) == child.count + 1
        ]
        goal = min(equals, default=at)
    parent.order.insert(goal, parent.order.pop(at))
    child.count += 1


def fewer(parent: Node, token: int) -> None:
    """One occurrence fewer: the child goes behind its equals; at none it is forgotten."""
    child = parent.children[token]
    at = parent.order.index(token)
    goal = max(i for i, other in enumerate(parent.order) if count(parent, other) == child.count)
    parent.order.insert(goal, parent.order.pop(at))
    child.count -= 1
    if child.count == 0:
        del parent.children[token]
        parent.order.remove(token)


def count(parent: Node, token: int) -> int:
    """How often a child occurs."""
    return parent.children[token].count
