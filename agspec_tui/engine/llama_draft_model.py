"""AgSpec's drafters for `llama_cpp.Llama(draft_model=…)`.

    from llama_cpp import Llama
    from agspec_tui.engine.llama_draft_model import AgspecDraftModel

    llama = Llama("model.gguf", n_ctx=4096, logits_all=True, draft_model=AgspecDraftModel())

What the library's interface cannot do (llama-cpp-python 0.3.36):

- Without `logits_all=True` it fails as soon as a text is longer than `n_batch`, since it keeps rows
  of logits for one batch only. With it, it keeps n_ctx × n_vocab × 4 bytes: 10 GB for a context of
  16384 tokens and a vocabulary of 151936.
- It ignores a cache removal that failed. On recurrent and hybrid models rejected tokens stay in the
  state and the text goes wrong: do not use a draft model there.
- It follows one sequence, and says neither what was accepted nor where a prompt begins.
- Decoding several tokens at once may turn a near tie of two tokens the other way.

The engine of this package has none of these limits; see `agspec_tui.engine.loop`.
"""

import numpy as np
import numpy.typing as npt
from llama_cpp.llama_speculative import LlamaDraftModel

from agspec_tui.engine.follow import Follower, require_ids, settings_of, token_ids
from agspec_tui.errors import DraftError


class AgspecDraftModel(LlamaDraftModel):  # type: ignore[misc]
    """Drafts by copying from the text of this `Llama`, with the draft length controlled."""

    def __init__(
        self,
        drafter: str = "agspec-sam",
        policy: str = "auto",
        num_pred_tokens: int = 16,
        break_even: float = 0.35,
    ) -> None:
        """Make one for one `Llama`.

        Args:
            drafter: a drafter that needs no draft model.
            policy: `off`, `own`, `fixed` or `agspec`; `auto` is the drafter's own rule, or `agspec`
                where it has none.
            num_pred_tokens: most tokens of a draft.
            break_even: λ of the policy `agspec`: the acceptance probability at which one more
                drafted token pays for itself; about 0.03 where the model runs on a GPU.

        Raises:
            DraftError: a name is unknown or a value is out of its range.
        """
        if num_pred_tokens < 1:
            raise DraftError(
                f"num_pred_tokens = {num_pred_tokens} leaves no draft", "use 1 or more"
            )
        self.num_pred_tokens = num_pred_tokens
        self._settings = settings_of(drafter, policy, num_pred_tokens, break_even)
        self._follower = Follower(self._settings)

    def __call__(
        self, input_ids: npt.NDArray[np.intc], /, **kwargs: object
    ) -> npt.NDArray[np.intc]:
        """Draft what may follow the context.

        Args:
            input_ids: the whole context, shape (n,).
            **kwargs: nothing that this class knows.

        Returns:
            At most `num_pred_tokens` token ids.

        Raises:
            DraftError: `input_ids` is no flat array of token ids.
        """
        ids = token_ids(input_ids, "input_ids")
        require_ids(ids, "input_ids")
        if not len(ids):
            return np.empty(0, dtype=np.intc)
        return np.array(self._follower.propose(ids, self.num_pred_tokens), dtype=np.intc)

    def reset(self) -> None:
        """Forget the text: the corpora, the context and α."""
        self._follower = Follower(self._settings)
