"""Makes a prompt fit: counted exactly, the oldest tool output dropped first, then a summary made.

Nothing is cut in silence: where a block was, the prompt says in one line that it was left out, and
the event `ContextReported` names it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

Count = Callable[[str], Awaitable[int]]
"""Exact prompt tokens of a role asked with this text."""
Summarise = Callable[[str], Awaitable[str]]
"""A short summary of a text; empty if none could be made."""


@dataclass(frozen=True, slots=True)
class Block:
    """One section of a prompt."""

    body: str
    """Its text."""
    title: str = ""
    """Its heading; empty for a block without one."""
    label: str = ""
    """What a report calls it; empty for a block that is never left out."""
    order: int = 0
    """When it is left out: the lowest first, equal ones in the order they stand in."""
    is_history: bool = False
    """Whether a summary may stand in its place."""

    def render(self) -> str:
        """Heading and text."""
        return f"## {self.title}\n{self.body}" if self.title else self.body

    def left_out(self) -> "Block":
        """A line in its place."""
        return replace(self, body=f"[{self.label} left out: there is no room for it]")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits."""

    text: str
    """The user message."""
    n_prompt: int
    """Prompt tokens of the role with it."""
    dropped: tuple[str, ...] = ()
    """Labels of the blocks that were left out."""
    summarised: tuple[str, ...] = ()
    """Labels of the blocks that a summary stands for."""


def joined(blocks: Sequence[Block]) -> str:
    """The text of a prompt."""
    return "\n\n".join(block.render() for block in blocks)


async def fit(
    blocks: Sequence[Block], count: Count, room: int, summarise: Summarise | None = None
) -> Fitted | None:
    """Leave out as little as needed, so that a prompt takes no more than `room` tokens.

    Args:
        blocks: the whole prompt.
        count: counts a text as the role will be asked.
        room: most prompt tokens.
        summarise: makes a summary of what was said before; None, or a summary that fails or is
            no shorter, lets that be left out as well.

    Returns:
        None if not even the blocks that must stay fit.
    """
    shown = list(blocks)
    n_prompt = await count(joined(shown))
    if n_prompt <= room:
        return Fitted(joined(shown), n_prompt)
    may_go = sorted(
        (index for index, block in enumerate(shown) if block.label), key=lambda i: blocks[i].order
    )
    smallest = joined([block.left_out() if block.label else block for block in blocks])
    if await count(smallest) > room:
        return None
    dropped: list[str] = []
    summarised: list[str] = []
    for index in may_go:
        block = blocks[index]
        summary = await _summary(block, summarise)
        if summary:
            shown[index] = replace(block, body=summary)
            n_prompt = await count(joined(shown))
            if n_prompt <= room:
                summarised.append(block.label)
                break
        shown[index] = block.left_out()
        dropped.append(block.label)
        n_prompt = await count(joined(shown))
        if n_prompt <= room:
            break
    return Fitted(joined(shown), n_prompt, tuple(dropped), tuple(summarised))


async def _summary(block: Block, summarise: Summarise | None) -> str:
    if summarise is None or not block.is_history:
        return ""
    summary = (await summarise(block.body)).strip()
    return f"[Summary] {summary}" if 0 < len(summary) < len(block.body) else ""
