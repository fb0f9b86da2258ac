import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from agspec_tui.engine.vllm_proposer import AgspecProposer
from agspec_tui.errors import DraftError

MAX_LEN = 256
TEXT = list(range(1, 41))


def config(k=4, max_model_len=MAX_LEN):
    return SimpleNamespace(
        speculative_config=SimpleNamespace(num_speculative_tokens=k),
        model_config=SimpleNamespace(max_model_len=max_model_len),
    )


class Fixed(AgspecProposer):
    policy = "fixed"


class Batch:
    """The input batch of a server: rows of a table that is never cleared."""

    def __init__(self, proposer, max_rows=4, max_len=MAX_LEN):
        self.proposer = proposer
        self.table = np.full((max_rows, max_len), 7777, dtype=np.int32)
        self.n = np.zeros(max_rows, dtype=np.int32)
        self.sampled = []

    def step(self, *rows):
        """Each row is (tokens before, tokens sampled)."""
        self.sampled = [list(new) for _, new in rows]
        for row, (before, new) in enumerate(rows):
            tokens = [*before, *new]
            self.table[row, : len(tokens)] = tokens
            self.n[row] = len(tokens)
        return self.proposer.propose(self.sampled, self.n, self.table, slot_mappings=None)


@pytest.fixture
def batch():
    return Batch(Fixed(config()))


def test_rows_are_drafted_from_their_own_text_only(batch):
    other = [100 + token for token in TEXT]
    drafts = batch.step(([*TEXT, 5, 6], [7]), ([*other, 5, 6], [7]), ([*other, 105], [106]))
    assert drafts == [[8, 9, 10, 11], [], [107, 108, 109, 110]]


def test_a_row_grows_by_what_was_accepted_and_one_more(batch):
    context = [*TEXT, 5, 6]
    assert batch.step((context, [7])) == [[8, 9, 10, 11]]
    context += [7]
    assert batch.step((context, [8, 9, 10, 11, 12])) == [[13, 14, 15, 16]]
    context += [8, 9, 10, 11, 12]
    first = batch.proposer._rows[0]
    assert batch.step((context, [13, 50])) == [[]]
    context += [13, 50]
    assert batch.step((context, [13])) == [[14, 15, 16, 17]]
    assert batch.proposer._rows[0] is first
    assert first.n_prompt == len(TEXT) + 3  # nothing but growth since


def test_swapped_rows_keep_their_requests(batch):
    a, b = [*TEXT, 5, 6], [*(100 + t for t in TEXT), 105]
    batch.step((a, [7]), (b, [106]))
    before = list(batch.proposer._rows.values())
    assert batch.step(([*b, 106], [107]), ([*a, 7], [8])) == [
        [108, 109, 110, 111],
        [9, 10, 11, 12],
    ]
    assert [batch.proposer._rows[1], batch.proposer._rows[0]] == before


def test_a_row_that_finished_is_replaced_and_the_others_close_up(batch):
    a, b = [*TEXT, 5, 6], [*(100 + t for t in TEXT), 105]
    batch.step((a, [7]), (b, [106]))
    follower = batch.proposer._rows[1]
    assert batch.step(([*b, 106], [107])) == [[108, 109, 110, 111]]
    assert batch.proposer._rows == {0: follower}
    new = [30, 31, 32, 30]
    assert batch.step(([*b, 106, 107], [108]), (new, [31]))[1] == [32, 30, 31, 32]


def test_a_prompt_that_is_still_read_gets_no_draft_and_one_that_was_preempted_comes_back(batch):
    a = [*TEXT, 5, 6]
    assert batch.step((a, []), (a, [7])) == [[], [8, 9, 10, 11]]
    follower = batch.proposer._rows[1]
    assert batch.step((a, []), ([*a, 7], [])) == [[], []]
    assert batch.step(([*a, 7], [8, 9])) == [[10, 11, 12, 13]]
    assert batch.proposer._rows[0] is follower
    assert batch.step() == []


def test_the_next_turn_of_a_conversation_is_drafted_from_the_turns_before(batch):
    first = [200, 201, 202]
    batch.step((first, [1]))
    batch.step(([*first, 1], [2]))
    batch.step(([*first, 1, 2], [3]))
    batch.step()
    follower = batch.proposer._gone[-1]
    drafts = batch.step(([*first, 1, 2, 3, 210, 211, 201, 202], [1]))
    assert drafts == [[2, 3, 210, 211]]
    assert batch.proposer._rows[0] is follower


def test_a_shared_system_prompt_shares_no_text(batch):
    system = list(range(300, 340))
    batch.step(([*system, 1, 2], [60]))
    batch.step(([*system, 1, 2, 60], [61]))
    batch.step()
    drafts = batch.step(([*system, 3, 1, 2], [60]))
    assert drafts == [[]]


def test_two_requests_with_one_prompt_part_ways(batch):
    prompt = [*TEXT, 5]
    assert batch.step((prompt, [6]), (prompt, [6])) == [[7, 8, 9, 10]] * 2
    assert batch.step(([*prompt, 6], [7, 8]), ([*prompt, 6], [50]))[0] == [9, 10, 11, 12]
    drafts = batch.step(([*prompt, 6, 50], [6]), ([*prompt, 6, 7, 8], [9]))
    assert drafts[1] == [10, 11, 12, 13]
    assert len(batch.proposer._gone) == 0


@pytest.mark.parametrize(("n_context", "n"), [(43, 4), (44, 4), (45, 3), (47, 1), (48, 0), (49, 0)])
def test_nothing_is_drafted_beyond_the_longest_text(n_context, n):
    batch = Batch(Fixed(config(4, max_model_len=49)), max_len=49)
    context = [*TEXT, *range(1, n_context - len(TEXT) + 1)]
    assert len(context) == n_context
    assert [len(draft) for draft in batch.step((context[:-1], context[-1:]))] == [n]


def test_requests_that_have_left_are_forgotten_in_time():
    batch = Batch(AgspecProposer(config()))
    for number in range(50):
        batch.step(([number, number + 1, number + 2], [5]))
    assert len(batch.proposer._gone) == AgspecProposer.n_kept


def test_a_whole_reply_is_decoded_in_fewer_passes_with_the_default_policy():
    batch = Batch(AgspecProposer(config(16)))
    script = [*TEXT, 99, *TEXT, 98, *TEXT, 97]
    n, n_passes, sampled = len(TEXT) + 2, 0, [script[len(TEXT) + 1]]
    while n < len(script) - 1:
        (draft,) = batch.step((script[: n - len(sampled)], sampled))
        n_accepted = 0
        while n_accepted < len(draft) and draft[n_accepted] == script[n + n_accepted]:
            n_accepted += 1
        sampled = script[n : min(n + n_accepted + 1, len(script))]
        n, n_passes = n + len(sampled), n_passes + 1
    assert n_passes < (len(script) - len(TEXT)) / 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": np.zeros(8, np.int32)}, "token_ids_cpu must have 2"),
        ({"table": np.zeros((4, 8), np.float32)}, "token_ids_cpu must be whole"),
        ({"table": np.zeros((1, 8), np.int32)}, "2 rows were sampled"),
        ({"n": np.array([8], np.int32)}, "2 rows were sampled"),
        ({"n": np.array([9, 8], np.int32)}, "row 0 is said to have 9 tokens"),
        ({"n": np.array([[8, 8]], np.int32)}, "num_tokens_no_spec must have 1"),
        ({"n": 8}, "num_tokens_no_spec must have 1"),
        ({"table": np.full((2, 8), -1, np.int32)}, "row 0 holds a negative"),
    ],
)
def test_arrays_of_another_kind_are_refused(change, message):
    arrays = {"n": np.array([8, 8], np.int32), "table": np.ones((2, 8), np.int32)} | change
    with pytest.raises(DraftError, match=message):
        AgspecProposer(config()).propose([[1], [1]], arrays["n"], arrays["table"])


@pytest.mark.parametrize(("k", "max_model_len"), [(0, 10), (4, 0), (-1, 10)])
def test_settings_that_leave_no_draft_are_refused(k, max_model_len):
    with pytest.raises(DraftError, match="leaves no draft"):
        AgspecProposer(config(k, max_model_len))


def test_an_unknown_drafter_of_a_subclass_is_refused_when_it_is_made():
    class Wrong(AgspecProposer):
        drafter = "magic"

    with pytest.raises(DraftError, match="unknown drafter"):
        Wrong(config())


def test_loading_the_model_is_nothing_to_do():
    assert AgspecProposer(config()).load_model("model", device="cuda") is None


def test_it_imports_numpy_but_neither_vllm_nor_torch_nor_llama_cpp():
    code = (
        "import sys, agspec_tui.engine.vllm_proposer as m;"
        "print([n for n in ('vllm', 'torch', 'llama_cpp') if n in sys.modules], m.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] agspec_tui.engine.vllm_proposer"
