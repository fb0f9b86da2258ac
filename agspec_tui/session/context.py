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

    A summary is made only once it is known that there will be room for it.

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
    may_go = [index for index, block in enumerate(blocks) if block.label]
    dropped: list[int] = []
    for index in sorted(may_go, key=lambda index: blocks[index].order):
        if n_prompt <= room:
            break
        shown[index] = blocks[index].left_out()
        dropped.append(index)
        n_prompt = await count(joined(shown))
    if n_prompt > room:
        return None
    fitted = Fitted(joined(shown), n_prompt, tuple(blocks[index].label for index in dropped))
    for index in dropped:
        summary = await _summary(blocks[index], summarise)
        if not summary:
            continue
        shown[index] = replace(blocks[index], body=summary)
        n_prompt = await count(joined(shown))
        if n_prompt <= room:
            rest = tuple(blocks[other].label for other in dropped if other != index)
            return Fitted(joined(shown), n_prompt, rest, (blocks[index].label,))
    return fitted


async def _summary(block: Block, summarise: Summarise | None) -> str:
    if summarise is None or not block.is_history:
        return ""
    summary = (await summarise(block.body)).strip()
    return f"[Summary] {summary}" if 0 < len(summary) < len(block.body) else ""
