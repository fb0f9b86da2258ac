"""Choices that are known beforehand, over a target that runs all the same.

A target of random weights takes the time that a trained one takes, but says nothing sensible.
Made to say a recorded reply again, it shows what drafting that reply gains on a machine.
"""

from collections.abc import Sequence

from agspec_tui.commands import Generate
from agspec_tui.engine.types import Chooser, Logits
from agspec_tui.engine.verify import argmax
from agspec_tui.errors import EngineError


class ForcedChooser:
    """Chooses, one after the other, the tokens of a recorded reply."""

    def __init__(self, choices: Sequence[int]) -> None:
        """Take the reply, at least one token.

        Raises:
            EngineError: it is empty.
        """
        if not choices:
            raise EngineError("no token is left to choose")
        self._choices = choices
        self._n_chosen = 0

    def verify(self, logits: Logits, draft: Sequence[int]) -> tuple[int, int]:
        """How far the draft is the reply, and the token behind that; see `Chooser.verify`.

        The arg-max of each row that a greedy choice reads is taken all the same, for its time. The
        last token is always a bonus token: what would be chosen behind it is not known.

        Raises:
            EngineError: the whole reply was chosen.
        """
        coming = self._choices[self._n_chosen : self._n_chosen + len(draft) + 1]
        if not coming:
            raise EngineError("no token is left to choose")
        n_accepted = 0
        while n_accepted < min(len(draft), len(coming) - 1):
            if draft[n_accepted] != coming[n_accepted]:
                break
            n_accepted += 1
        for row in logits[: n_accepted + 1]:
            argmax(row)
        self._n_chosen += n_accepted + 1
        return n_accepted, coming[n_accepted]

    def resume(self, said: Sequence[int]) -> None:
        """Go on behind what was chosen before the engine died; see `Chooser.resume`."""
        self._n_chosen = len(said)


def forced_or(command: Generate, chooser: Chooser) -> Chooser:
    """What chooses the reply: what is forced, else the given chooser."""
    return ForcedChooser(command.forced) if command.forced else chooser
