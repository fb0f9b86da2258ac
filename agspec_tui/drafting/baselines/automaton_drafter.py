"""What the drafters with an automaton over the context have in common."""

from collections.abc import Sequence
from typing import Self

from agspec_tui._native import SuffixAutomaton
from agspec_tui.drafting.agspec import StaticCorpus
from agspec_tui.drafting.baselines.context_drafter import ContextDrafter
from agspec_tui.drafting.types import Piece

N_CONTEXT = 256
"""Most tokens of a prompt that other corpora read; longer matches there make no difference."""


class AutomatonDrafter(ContextDrafter):
    """Keeps an automaton over the context, and a static corpus at its end."""

    def __init__(self, static: StaticCorpus | None = None) -> None:
        """Make one with an empty context.

        Args:
            static: a corpus made before serving; None for none.
        """
        super().__init__()
        self._automaton = SuffixAutomaton()
        self._static = static

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """The prompt becomes the context, also of the static corpus.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        super().begin(sequence, pieces)
        if self._static is not None:
            self._static.begin(self._text.ids[-N_CONTEXT:].tolist())

    def _keep(self, n_kept: int) -> None:
        # An automaton only grows: a prompt that goes on from the old context extends it.
        if n_kept < self._automaton.n_tokens:
            self._automaton = SuffixAutomaton()
            n_kept = 0
        self._automaton.append(self._text.ids[n_kept:])

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens to the context.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        super().feed(ids)
        self._automaton.append(self._text.ids[self._automaton.n_tokens :])
        if self._static is not None and len(ids):
            self._static.feed(ids)

    def beside(self) -> Self:
        """A new one on the same static corpus."""
        return type(self)(self._static.beside() if self._static is not None else None)

    def reset(self) -> None:
        """Drop the context; the static corpus stays."""
        super().reset()
        if self._static is not None:
            self._static.begin([])
