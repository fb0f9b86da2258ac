"""Compiled core of agspec-tui: verification and retrieval over token ids.

Arrays are taken as they are: float32 for logits, int32 for token ids, C order. Another type is a
`TypeError`, since converting a row of logits would cost more than reading it. Functions that read
many values release the interpreter lock.
"""

from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

def greedy_verify(logits: npt.NDArray[np.float32], draft: npt.NDArray[np.int32]) -> tuple[int, int]:
    """Accept drafted tokens while they are the target's greedy choice.

    Rows behind the first rejection are not read.

    Args:
        logits: rows for the newest token and each drafted one, shape (len(draft) + 1, n_vocab).
        draft: drafted token ids, shape (k,).

    Returns:
        How many were accepted, and the bonus token chosen after them.

    Raises:
        ValueError: the shapes do not fit each other.
    """

def argmax(row: npt.NDArray[np.float32]) -> int:
    """Id of the largest logit of a row; the lowest id on exact ties.

    NaN is never larger than anything; a row of nothing but NaN and -inf gives 0.

    Raises:
        ValueError: the row is not one-dimensional or is empty.
    """

def top_candidates(
    row: npt.NDArray[np.float32],
    n: int,
    always: npt.NDArray[np.int32],
    out: npt.NDArray[np.void],
) -> int:
    """Tokens among which a sampler finds the `n` with the largest logits.

    They are written to `out`, ids ascending: all of the `n` largest, whatever is added to the
    logits of `always` afterwards, and these themselves; ties of the last one, and a few more. NaN
    is left out.

    Args:
        row: logits, shape (n_vocab,).
        n: how many are looked for.
        always: ids that are to be among them, shape (k,), in any order.
        out: fields `id` (int32), `logit` and `p` (float32), shape (n_vocab,) or longer.

    Returns:
        How many were written.

    Raises:
        ValueError: a shape is wrong, or an id of `always` is not in the row.
    """

def install_columns(library: int) -> str:
    """Take over products of K-quantised weights with several columns in a loaded ggml.

    They are computed so from then on and for the life of the process; again, nothing is done. No
    graph may be computed meanwhile, and ggml must have been asked for its extra buffer types.

    Args:
        library: a handle of dlopen, through which the symbols of ggml and its CPU back end are
            found.

    Returns:
        Why that cannot be done, in words; empty if it is.
    """

def most_columns() -> int:
    """Most columns of a product that is taken over; 0 for any number."""

def n_column_products() -> int:
    """Products that were taken over and computed so far."""

@final
class CancelFlag:
    """A flag that the target's compute threads read without the interpreter.

    Keep the object alive for as long as its addresses are in use.
    """

    callback_address: ClassVar[int]
    """Address of a C function `bool (void *)`: whether the flag at its argument is set."""
    def __init__(self) -> None:
        """Make a flag that is not set."""
    @property
    def data_address(self) -> int:
        """Address of the flag, the argument for the callback."""
    def set(self) -> None:
        """Ask the decode to stop."""
    def clear(self) -> None:
        """Take the request back."""
    def is_set(self) -> bool:
        """Whether a stop was asked for."""

@final
class SuffixAutomaton:
    """An online suffix automaton over a growing text of token ids.

    A negative id is a separator: no match, group or copy holds one. Positions count every token of
    the text, separators too, from 0. Use an automaton from one thread at a time.
    """

    def __init__(self) -> None:
        """Make one over the empty text."""
    def append(self, ids: npt.NDArray[np.int32]) -> None:
        """Append tokens; amortised constant time a token."""
    @property
    def n_tokens(self) -> int:
        """Tokens in the text, with separators."""
    @property
    def n_states(self) -> int:
        """States, the root included; at most twice the tokens."""
    @property
    def memory_bytes(self) -> int:
        """Bytes taken from the allocator."""
    def match_length(self) -> int:
        """Length of the longest suffix of the text that also ends at an earlier position."""
    def copy_start(self, visit_cap: int = 256) -> int:
        """Where to copy from after that suffix.

        Its occurrences are grouped by the three tokens that follow them. The start of the most
        frequent group counts, ties go to the most recent occurrence. If no occurrence is followed
        by three tokens, it is the most recent one that is followed by any.

        Args:
            visit_cap: most successors looked at; the answer is exact if that is not reached.

        Returns:
            Position of the first token to copy; -1 if there is nothing to copy.
        """
    def first_copy_start(self, n_wanted: int) -> int:
        """Where the first occurrence of that suffix goes on.

        While fewer than `n_wanted` tokens follow it, the next shorter suffix with an earlier first
        occurrence takes its place, down to the shortest that is not empty.

        Returns:
            Position of the first token to copy; -1 without a match.
        """
    def occurrences(self, ids: npt.NDArray[np.int32]) -> tuple[int, int, int]:
        """How often a substring occurs, and the positions of its first and its last end.

        Returns:
            (count, first end, last end); (0, -1, -1) for a substring that does not occur, the empty
            one, and one with a separator.
        """
    def check_integrity(self) -> str:
        """Compare every figure with one worked out the slow way; for tests.

        Returns:
            The first fault in words; empty if there is none.
        """

@final
class SessionCorpus:
    """The text of a session with its documents; the text's end is the decoding context.

    Use a corpus from one thread at a time.
    """

    def __init__(self) -> None:
        """Make an empty corpus."""
    def begin_document(self, *, joined: bool, offset: int = 0) -> int:
        """Begin a document, to which later tokens belong.

        Args:
            joined: it goes on from the text before it; otherwise a separator is put in between.
            offset: tokens of the document that are left out before the first one appended.

        Returns:
            The document's number: 0, 1, 2, ….
        """
    def append(self, ids: npt.NDArray[np.int32]) -> None:
        """Append tokens to the last document.

        Raises:
            RuntimeError: no document was begun.
            ValueError: an id is negative.
        """
    def match_length(self) -> int:
        """Length of the longest suffix of the decoding context that occurred before."""
    def match(self) -> tuple[int, int, int]:
        """That suffix, and what followed it.

        Returns:
            (its length, how often it occurred before, how often the group followed that a draft
            begins with); (0, 0, 0) if nothing matches, and 0 groups if no three tokens followed.
        """
    def draft(self, k: int, visit_cap: int = 256) -> tuple[list[int], int, int]:
        """Up to `k` tokens from `SuffixAutomaton.copy_start` on.

        A draft that reaches the text's end goes on with its own tokens, as periodic text does.

        Returns:
            (token ids, document number, token offset in it); ([], -1, 0) if there is none.
        """
    def read(self, document: int, offset: int, k: int) -> tuple[list[int], int, int]:
        """Up to `k` tokens of the text from a place on, never past a separator.

        The place may lie behind its document's end, where the next one is joined to it.

        Returns:
            (token ids, document number, token offset in it); ([], -1, 0) for no place in the text.
        """
    @property
    def n_tokens(self) -> int:
        """Tokens in the text, with separators."""
    @property
    def memory_bytes(self) -> int:
        """Bytes taken from the allocator."""
    def check_integrity(self) -> str:
        """As `SuffixAutomaton.check_integrity`."""

@final
class WorkspaceCorpus:
    """Documents in the order of indexing; drafts follow the first occurrence of a match.

    A document that was taken out stays in the automaton as a dead one until the next rebuild. A
    substring is where it occurs first if that document is live, else where it occurs last if that
    one is live; else it counts as dead, and its longest suffix that occurs elsewhere takes its
    place.

    `add`, `forget` and `rebuild` may run in one thread while another one matches and drafts, which
    waits for some 250 appended tokens at most and never longer than a millisecond: if the corpus
    cannot be read by then, there is no match this time. They release the interpreter lock.
    """

    def __init__(self) -> None:
        """Make an empty corpus."""
    def add(self, ids: npt.NDArray[np.int32]) -> int:
        """Append a document.

        Returns:
            The document's number, never used again: 0, 1, 2, ….

        Raises:
            ValueError: an id is negative, or the text would be too long.
        """
    def forget(self, documents: npt.NDArray[np.int32]) -> None:
        """Take documents out.

        Args:
            documents: their numbers; unknown ones are no error.
        """
    def rebuild_due(self) -> bool:
        """Whether more is dead than live, and enough for a rebuild to be worth its time."""
    def rebuild(self) -> None:
        """Index the live documents anew, in their order and with their numbers; resets cursors.

        What was indexed before serves until the new index takes its place.
        """
    def draft(self, cursor: Cursor, k: int) -> tuple[list[int], int, int]:
        """Up to `k` tokens that follow the place of the cursor's match.

        Returns:
            (token ids, document number, token offset in it); ([], -1, 0) if there is none.

        Raises:
            ValueError: the cursor belongs to another corpus.
        """
    def read_document(self, document: int, offset: int, k: int) -> tuple[list[int], int, int]:
        """Up to `k` tokens of a document from a place on.

        Returns:
            (token ids, document number, token offset in it); ([], -1, 0) for no place in a live
            document.
        """
    @property
    def n_added(self) -> int:
        """Numbers given so far."""
    @property
    def n_tokens(self) -> int:
        """Tokens in the live documents."""
    @property
    def n_dead_tokens(self) -> int:
        """Tokens in documents that were taken out since the last rebuild."""
    @property
    def version(self) -> int:
        """Rises with every change: what a cursor found before may be longer or shorter by now."""
    @property
    def memory_bytes(self) -> int:
        """Bytes taken from the allocator."""
    def check_integrity(self) -> str:
        """As `SuffixAutomaton.check_integrity`, and the documents."""

@final
class Cursor:
    """Follows another text through a workspace corpus, token by token, in one thread."""

    def __init__(self, corpus: WorkspaceCorpus) -> None:
        """Make one that has matched nothing yet; it keeps the corpus alive."""
    def read(self, ids: npt.NDArray[np.int32]) -> bool:
        """Read tokens in place of those read before; amortised constant time a token.

        Returns:
            Whether they were read; False if the corpus was being changed for too long.

        Raises:
            ValueError: an id is negative.
        """
    def advance(self, ids: npt.NDArray[np.int32]) -> bool:
        """Read tokens behind those read before, otherwise as `read`."""
    def length(self) -> int:
        """Length of the longest suffix of what was read that occurs in live documents."""

def sort_suffixes(
    ids: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Sort the suffixes of a text; linear time, about 30 bytes a token while it runs.

    Each separator counts as a symbol of its own, less than every token and in the order of the
    positions; the text's end is less than all. No comparison goes past a separator.

    Returns:
        The positions in the order of their suffixes, and how many leading tokens each suffix has
        in common with the one before it, at most 255; both of shape (len(ids),).

    Raises:
        ValueError: the text has 2^30 tokens or more.
    """

@final
class SuffixArray:
    """A suffix array over a text that does not change, e.g. one in a mapped file.

    It keeps the three arrays alive and copies none of them; they must not change. Any number of
    threads may use it at once, each with a cursor of its own.
    """

    def __init__(
        self,
        ids: npt.NDArray[np.int32],
        order: npt.NDArray[np.int32],
        shared: npt.NDArray[np.uint8],
        n_vocab: int,
    ) -> None:
        """Take a text and what `sort_suffixes` made of it.

        Raises:
            ValueError: the lengths differ, an id is not below `n_vocab`, that is above 2^24, or
                the order does not hold every position once.
        """
    @property
    def n_tokens(self) -> int:
        """Tokens in the text, with separators."""
    @property
    def memory_bytes(self) -> int:
        """Bytes of its own tables, without the three arrays."""
    def find(self, ids: npt.NDArray[np.int32]) -> tuple[int, int]:
        """Where the suffixes that begin with these tokens lie in the order.

        Returns:
            (first place, place behind the last); equal if there are none, or if there are more than
            252 tokens. The empty text begins every suffix.
        """
    def check_integrity(self) -> str:
        """Compare the order and the shared prefixes with the text, suffix by suffix.

        Returns:
            The first fault in words; empty if there is none.
        """

@final
class ArrayCursor:
    """Follows a decoding context through a suffix array; tokens are read when a match is asked for.

    Use a cursor from one thread at a time.
    """

    def __init__(self, array: SuffixArray) -> None:
        """Make one that has matched nothing yet; it keeps the array alive."""
    def reset(self) -> None:
        """Forget the tokens it was advanced over."""
    def advance(self, ids: npt.NDArray[np.int32]) -> None:
        """Take tokens; the last 252 of the context count."""
    def length(self) -> int:
        """Length of the longest suffix of those 252 tokens that occurs in the text."""
    def draft(self, k: int, visit_cap: int = 32768) -> tuple[list[int], int]:
        """Up to `k` tokens of the most frequent group of three that follows the match.

        Ties go to the most recent occurrence, the largest position. If no occurrence is followed by
        three tokens, it is the most recent one that is followed by any. A draft ends before a
        separator.

        Args:
            k: most tokens.
            visit_cap: most suffixes looked at for repeated groups, and an eighth as many again if
                there is none; the answer is exact if that is not reached.

        Returns:
            (token ids, position of the first in the text); ([], -1) if there is none.
        """

@final
class SuffixTree:
    """All strings of at most `depth` tokens of many growing sequences, with counts.

    Drafts are those of SuffixDecoding's tree (Oliaro et al., 2024; arctic-inference 0.3.0): the
    same tokens, scores and match lengths, ties included. Match and draft share the depth. Use a
    tree from one thread at a time.
    """

    def __init__(self, depth: int) -> None:
        """Make an empty tree.

        Raises:
            ValueError: the depth is below 1.
        """
    def append(self, sequence: int, ids: npt.NDArray[np.int32]) -> None:
        """Append tokens to a sequence, which begins with its first token.

        Sequences may take turns. The time a token takes does not depend on the tree's size, and
        depends on the depth only in periodic text.

        Args:
            sequence: its number, chosen by the caller, not negative.
            ids: token ids, shape (n,), none of them negative.

        Raises:
            ValueError: a number is negative; nothing was appended.
        """
    def remove(self, sequence: int) -> None:
        """Take a sequence out; it may begin anew. Sequences leave in any order.

        Raises:
            IndexError: there is no such sequence.
        """
    def compact(self) -> None:
        """Free what removed sequences have left behind.

        `remove` does so when that is more than the rest. No answer changes.
        """
    def draft(
        self,
        context: npt.NDArray[np.int32],
        k: int,
        factor: float = 1.0,
        offset: float = 0.0,
        min_prob: float = 0.1,
    ) -> tuple[list[int], float, int, int, int]:
        """The draft with the highest score behind a match, of whatever length.

        A match of length m is a suffix of the context, not the whole of it, that occurs. Its draft
        follows the most frequent child each time. It has at most min(k, factor · m + offset,
        depth - m) tokens, and ends before the product of the children's shares falls below
        `min_prob`. The score is the sum of those products. Ties go to the longest match.

        Args:
            context: token ids, shape (n,). The first does not matter, nor do those before the last
                `depth`.
            k: most tokens.
            factor: most tokens for each token of the match.
            offset: added to that product.
            min_prob: least probability of a token.

        Returns:
            (token ids, score, match length, sequence and offset of the first token where it
            occurs last); without a draft ([], 0.0, length of the longest match, -1, 0).

        Raises:
            ValueError: a token is negative, a figure is not finite, or the factor is negative.
        """
    def draft_sequence(
        self,
        sequence: int,
        k: int,
        factor: float = 1.0,
        offset: float = 0.0,
        min_prob: float = 0.1,
    ) -> tuple[list[int], float, int, int, int]:
        """The same for the last `depth` tokens of a sequence, without reading them.

        Raises:
            IndexError: there is no such sequence.
            ValueError: as for `draft`.
        """
    def count(self, ids: npt.NDArray[np.int32]) -> int:
        """How often a string occurs: 0 for one beyond the depth, all tokens for the empty one."""
    @property
    def depth(self) -> int:
        """Most tokens of a match and its draft together."""
    @property
    def n_tokens(self) -> int:
        """Tokens of all sequences."""
    @property
    def n_sequences(self) -> int:
        """Sequences that have begun and were not removed."""
    @property
    def n_states(self) -> int:
        """States of the graph that stands for the tree, the root included."""
    @property
    def memory_bytes(self) -> int:
        """Bytes taken from the allocator."""
    def check_integrity(self) -> str:
        """Compare every figure with one worked out the slow way; for tests.

        Returns:
            The first fault in words; empty if there is none.
        """
