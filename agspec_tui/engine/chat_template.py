"""Splitting a rendered chat template into the scaffold around message contents."""

from collections.abc import Callable, Sequence

from agspec_tui.errors import EngineError

Render = Callable[[Sequence[tuple[str, str]]], str]
"""Renders (role, content) messages and opens the assistant's reply."""


def split_scaffold(render: Render, roles: Sequence[str]) -> list[str]:
    """Texts before each content and after the last one, found by rendering sentinels.

    Raises:
        EngineError: the template drops, repeats or reorders contents.
    """
    # Letters and digits only: templates trim white space and may escape markup.
    sentinels = [f"agspecContent{number}x" for number in range(len(roles))]
    rest = render(list(zip(roles, sentinels, strict=True)))
    scaffolds = []
    for sentinel in sentinels:
        before, found, rest = rest.partition(sentinel)
        if not found or sentinel in rest:
            raise EngineError(
                f"the model's chat template cannot hold the messages {', '.join(roles)}",
                "try a model with a plain chat template such as ChatML",
            )
        scaffolds.append(before)
    return [*scaffolds, rest]


def render_chatml(messages: Sequence[tuple[str, str]]) -> str:
    """ChatML, for models whose GGUF has no template that the library knows."""
    turns = [f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in messages]
    return "".join(turns) + "<|im_start|>assistant\n"
