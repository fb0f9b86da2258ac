"""How a target on llama.cpp chooses: arg-max in the core, or the library's own sampler chain.

    row ─ candidates in the core ─ logit bias ─ penalties ─┬─ arg-max                    greedy
                                                           └─ top-k ─ top-p ─ min-p ─
                                                              temperature ─ draw(seed)   sampled

The chain is llama.cpp's, in the order of its default. It is given the few candidates that its
top-k can keep instead of the whole vocabulary, which changes nothing: `top_candidates` leaves all
of the k largest and every token whose logit the chain changes before its top-k.

A grammar stands where llama.cpp has it: the chain chooses without it, and only where the grammar
forbids that token the chain chooses again, among the tokens it allows. Drawing again in place of
what was rejected keeps the distribution, and spares a pass of the grammar over the vocabulary.
"""

import ctypes
import hashlib
import math
import re
from collections.abc import Iterator, Sequence

import llama_cpp
import numpy as np
import numpy.typing as npt

from agspec_tui.commands import SEEDS, Sampling
from agspec_tui.engine.types import Chooser, Logits
from agspec_tui.engine.verify import CANDIDATE, GreedyChooser, accept, top_candidates
from agspec_tui.errors import EngineError

_N_TESTED = 1024
"""Candidates that a grammar is asked about before it is asked about the whole vocabulary."""
_MAX_DEPTH = 200
"""Deepest groups of a grammar: the library parses them by recursion, and overflows its stack."""
_LITERAL_OR_SET = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#[^\n]*', re.DOTALL)


def make_chooser(
    vocab: object, n_vocab: int, sampling: Sampling, grammar: str, prompt: Sequence[int]
) -> Chooser:
    """A chooser for one generation; see `Backend.chooser`.

    Args:
        vocab: llama.cpp's vocabulary of the model.
        n_vocab: its size.
        sampling: how tokens are chosen.
        grammar: GBNF that binds the reply; empty for none.
        prompt: token ids of the prompt.

    Raises:
        EngineError: a value is out of its range, or the grammar cannot be parsed.
    """
    fault = sampling.fault()
    if fault:
        raise EngineError(fault, "change it under [sampling] of the role")
    for token, _ in sampling.logit_bias:
        if not 0 <= token < n_vocab:
            raise EngineError(f"logit_bias names token {token} of {n_vocab}", "ids begin at 0")
    plain = sampling.temperature == 0.0 and not sampling.penalises and not sampling.logit_bias
    if plain and not grammar:
        return GreedyChooser()
    return ChainChooser(vocab, n_vocab, sampling, grammar, prompt)


class ChainChooser:
    """Chooses by a sampler chain, under a grammar if one is given."""

    def __init__(
        self, vocab: object, n_vocab: int, sampling: Sampling, grammar: str, prompt: Sequence[int]
    ) -> None:
        """Make the samplers; see `make_chooser`."""
        self._grammar = _make_grammar(vocab, grammar) if grammar else None
        self._touched = _Touched(sampling, prompt)
        self._chain = _make_chain(n_vocab, sampling)
        self._seed = sampling.seed
        self._draw = _make_draw(sampling.seed) if sampling.temperature else None
        self._n_chosen = 0
        for token in self._touched.window():
            llama_cpp.llama_sampler_accept(self._chain, token)
        self._n_best = sampling.top_k or n_vocab if sampling.temperature else 1
        self._candidates = np.empty(n_vocab, dtype=CANDIDATE)
        self._data = self._candidates.ctypes.data_as(llama_cpp.llama_token_data_p)
        self._array = llama_cpp.llama_token_data_array()
        self._reference = ctypes.byref(self._array)

    def verify(self, logits: Logits, draft: Sequence[int]) -> tuple[int, int]:
        """Accepted length and bonus token; see `Chooser.verify`."""
        return accept(self._choose, logits, draft)

    def resume(self, said: Sequence[int]) -> None:
        """Take tokens as chosen: a draw was made for each; see `Chooser.resume`.

        They end the prompt, so the penalties know them already.
        """
        self._n_chosen = len(said)
        for token in said:
            if self._grammar is not None:
                llama_cpp.llama_sampler_accept(self._grammar, token)
            if self._draw is not None:
                self._candidates[0] = (token, 0.0, 0.0)
                self._point_at(1)
                llama_cpp.llama_sampler_apply(self._draw, self._reference)

    def _choose(self, row: npt.NDArray[np.float32]) -> int:
        """The target's choice, kept as committed."""
        n = top_candidates(row, self._n_best, self._touched.ids, self._candidates)
        token = self._run(n, self._draw)
        if self._grammar is not None:
            if not self._allows(token):
                token = self._choose_allowed(row)
            llama_cpp.llama_sampler_accept(self._grammar, token)
        llama_cpp.llama_sampler_accept(self._chain, token)
        self._touched.add(token)
        self._n_chosen += 1
        return token

    def _choose_allowed(self, row: npt.NDArray[np.float32]) -> int:
        """The choice among what the grammar allows.

        It is drawn by a seed of its own, so that one draw of the reply's belongs to each token, and
        a reply that another engine goes on with is the same.
        """
        n = self._allowed(row)
        if self._draw is None:
            return self._run(n, None)
        draw = _make_draw(_seed_of(self._seed, self._n_chosen))
        try:
            return self._run(n, draw)
        finally:
            llama_cpp.llama_sampler_free(draw)

    def _run(self, n: int, draw: object) -> int:
        """Apply the chain to the first `n` candidates, then the draw; returns the token chosen."""
        array = self._point_at(n)
        if n:  # the library takes no empty array
            llama_cpp.llama_sampler_apply(self._chain, self._reference)
            if draw is not None:
                llama_cpp.llama_sampler_apply(draw, self._reference)
        chosen = array.data[array.selected] if n and array.selected >= 0 else None
        if chosen is None or chosen.logit == -math.inf:
            raise EngineError("the target gave no token that may be chosen")
        return int(chosen.id)

    def _point_at(self, n: int) -> llama_cpp.llama_token_data_array:
        """Let the library see the first `n` candidates; samplers change what it sees."""
        array = self._array
        array.data, array.size, array.selected, array.sorted = self._data, n, -1, False
        return array

    def _allows(self, token: int) -> bool:
        """Whether the grammar allows a token here."""
        self._candidates[0] = (token, 0.0, 0.0)
        self._ask_grammar(1)
        return bool(self._candidates["logit"][0] == 0.0)

    def _ask_grammar(self, n: int) -> None:
        """Let the grammar forbid among the first `n` candidates."""
        self._point_at(n)
        llama_cpp.llama_sampler_apply(self._grammar, self._reference)

    def _allowed(self, row: npt.NDArray[np.float32]) -> int:
        """Fill in the candidates that the grammar allows; returns how many there are.

        The largest logits are tried first: a grammar spells out every token it is asked about.

        Raises:
            EngineError: it allows none.
        """
        for n_best in (_N_TESTED, len(row)):
            n = top_candidates(row, n_best, self._touched.ids, self._candidates)
            self._ask_grammar(n)
            logits = self._candidates["logit"][:n]
            kept = self._candidates[:n][logits > -np.inf]
            if n == len(row) or len(kept) >= self._n_best + len(self._touched.ids):
                break
        if not len(kept):
            raise EngineError("the grammar allows no token here")
        self._candidates[: len(kept)] = kept
        return len(kept)

    def __del__(self) -> None:
        """Free the samplers."""
        for name in ("_chain", "_draw", "_grammar"):
            sampler = getattr(self, name, None)
            if sampler:
                llama_cpp.llama_sampler_free(sampler)


class _Touched:
    """Tokens whose logits the chain may change before its top-k: the biased, and those said lately.

    They lie in one array that is written in place: no list is made for a token.
    """

    def __init__(self, sampling: Sampling, prompt: Sequence[int]) -> None:
        biased = [token for token, _ in sampling.logit_bias]
        self._size = sampling.repeat_last_n if sampling.penalises else 0
        said = list(prompt[-self._size :]) if self._size else []
        self._room = np.array([*biased, *said], dtype=np.int32)
        self._n_biased, self._n_said = len(biased), len(said)
        self.ids = self._room
        """The tokens, in no order; one said twice is there twice."""

    def window(self) -> list[int]:
        """The tokens said lately, the latest last; before anything is added."""
        return [int(token) for token in self._room[self._n_biased :]]

    def add(self, token: int) -> None:
        """A token was said; beyond the window it takes the place of the oldest one."""
        if not self._size:
            return
        place = self._n_biased + self._n_said % self._size
        if place >= len(self._room):
            n_room = min(2 * len(self._room) + 64, self._n_biased + self._size)
            self._room = np.resize(self._room, n_room)
        self._room[place] = token
        self._n_said += 1
        self.ids = self._room[: self._n_biased + min(self._n_said, self._size)]


def _make_grammar(vocab: object, grammar: str) -> object:
    """A sampler that forbids what a grammar does not allow.

    Raises:
        EngineError: it cannot be parsed. The library reports that with a null sampler, which would
            end the process if it were used.
    """
    fault = _fault_of(grammar)
    if fault:
        raise EngineError(f"the grammar cannot be parsed: {fault}", "correct its GBNF file")
    sampler = llama_cpp.llama_sampler_init_grammar(vocab, grammar.encode(), b"root")
    if not sampler:
        raise EngineError(
            "the grammar cannot be parsed", "rule names hold letters, digits and `-` only"
        )
    return sampler


def _fault_of(grammar: str) -> str:
    """What in a grammar the library would not survive or not see; empty if nothing is."""
    if "\0" in grammar:
        return "it holds a NUL character, behind which nothing would be read"
    try:
        grammar.encode()
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair"
    depth = deepest = 0
    for mark in re.findall(r"[()]", _LITERAL_OR_SET.sub("", grammar)):
        depth += 1 if mark == "(" else -1
        deepest = max(deepest, depth)
    if deepest > _MAX_DEPTH:
        return f"groups are nested {deepest} deep, at most {_MAX_DEPTH} are read"
    return ""


def _make_chain(n_vocab: int, sampling: Sampling) -> object:
    """The samplers before the draw, in llama.cpp's order, without those that change nothing."""
    params = llama_cpp.llama_sampler_chain_default_params()
    params.no_perf = True
    chain = llama_cpp.llama_sampler_chain_init(params)
    for sampler in _samplers(n_vocab, sampling):
        llama_cpp.llama_sampler_chain_add(chain, sampler)  # the chain owns it from now on
    return chain


def _samplers(n_vocab: int, sampling: Sampling) -> Iterator[object]:
    if sampling.logit_bias:
        pairs = (llama_cpp.llama_logit_bias * len(sampling.logit_bias))(*sampling.logit_bias)
        yield llama_cpp.llama_sampler_init_logit_bias(n_vocab, len(pairs), pairs)
    if sampling.penalises:
        yield llama_cpp.llama_sampler_init_penalties(
            n_vocab,
            sampling.repeat_last_n,
            sampling.repeat_penalty,
            sampling.frequency_penalty,
            sampling.presence_penalty,
        )
    if sampling.temperature == 0.0:
        yield llama_cpp.llama_sampler_init_greedy()
        return
    if sampling.top_k:
        yield llama_cpp.llama_sampler_init_top_k(sampling.top_k)
    yield llama_cpp.llama_sampler_init_top_p(sampling.top_p, 0)
    yield llama_cpp.llama_sampler_init_min_p(sampling.min_p, 0)
    yield llama_cpp.llama_sampler_init_temp(sampling.temperature)


def _make_draw(seed: int) -> object:
    """Draws one of the candidates that are left, by their probabilities."""
    return llama_cpp.llama_sampler_init_dist(seed)


def _seed_of(seed: int, position: int) -> int:
    """A seed for the second draw at one place of a reply; never the library's mark for "any"."""
    digest = hashlib.blake2b(b"%d %d" % (seed, position), digest_size=8).digest()
    return int.from_bytes(digest, "little") % SEEDS
