import numpy as np
import pytest

from agspec_tui.drafting.choose import make_drafter
from agspec_tui.drafting.corpus_file import open_corpus
from agspec_tui.replay.halves import OpenHalves, build_halves
from agspec_tui.replay.oracle import Oracle
from agspec_tui.replay.steps import walk_policy
from agspec_tui.replay.tokens import TokenisedSession, half_of
from agspec_tui.replay.walk import walk_session
from tests.replay.test_tokens import call, tokenised
from tests.replay.words import Words


def session_of(number: int, task: str) -> TokenisedSession:
    """Session of a task: one text of its own, one of the task, one that all have."""
    return tokenised(
        call(f"own{number} text of session{number}", "all of them say this", f"of {task} only"),
        call("and an end", "more"),
        task=task,
        session_id=f"s{number}",
    )


@pytest.fixture
def sessions() -> list[TokenisedSession]:
    return [session_of(n, f"task{n // 2}") for n in range(24)]


def contains(ids: np.ndarray, part: np.ndarray) -> bool:
    windows = np.lib.stride_tricks.sliding_window_view(ids, len(part))
    return bool((windows == part).all(axis=1).any())


def test_no_text_of_the_own_task_is_in_the_corpus_of_a_session(tmp_path, sessions):
    corpora = build_halves(sessions, tmp_path, Words())
    assert len({session.half for session in sessions}) == 2
    for session in sessions:
        ids = open_corpus(corpora.path_for(session.half)).ids
        task_text = Words().tokenize(f"of {session.task} only", special=False)
        assert not contains(ids, task_text)
        assert not contains(ids, session.calls[0].output)
        others = [other for other in sessions if other.half != session.half]
        assert all(contains(ids, other.calls[0].output) for other in others)
        assert not {other.task for other in others} & {session.task}


def test_documents_are_named_by_sessions_of_the_other_half(tmp_path, sessions):
    corpora = build_halves(sessions, tmp_path, Words())
    halves = {session.session_id: session.half for session in sessions}
    for half in (0, 1):
        file = open_corpus(corpora.path_for(half))
        names = [file.name(number) for number in range(file.header.n_documents)]
        assert {halves[name.split()[0]] for name in names} == {1 - half}


def test_a_text_is_taken_once(tmp_path, sessions):
    corpora = build_halves(sessions, tmp_path, Words())
    ids = open_corpus(corpora.path_for(0)).ids
    text = Words().tokenize("all of them say this", special=False)
    windows = np.lib.stride_tricks.sliding_window_view(ids, len(text))
    assert (windows == text).all(axis=1).sum() == 1


def test_what_has_no_room_is_counted(tmp_path, sessions):
    corpora = build_halves(sessions, tmp_path, Words(), max_tokens=40)
    assert all(n > 0 for n in corpora.n_left_out)
    assert all(open_corpus(path).header.n_tokens <= 40 for path in corpora.paths)


def test_a_half_without_sessions_has_no_corpus(tmp_path):
    session = session_of(0, "task")
    opened = OpenHalves(build_halves([session], tmp_path, Words()))
    assert opened.corpus_for(half_of("task")) is None
    assert opened.corpus_for(1 - half_of("task")) is not None


def test_drafts_come_from_the_global_corpus(tmp_path, sessions):
    text = " ".join(f"w{n}" for n in range(60))
    tasks = sorted({session.task for session in sessions}, key=half_of)
    pair = [
        tokenised(call(text, "go"), task=task, session_id=task) for task in (tasks[0], tasks[-1])
    ]
    opened = OpenHalves(build_halves(pair, tmp_path, Words()))
    for session in pair:
        corpus = opened.corpus_for(session.half)
        walk = walk_session(session, lambda corpus=corpus: make_drafter("agspec-sam", corpus))
        [steps] = walk_policy(walk, Oracle())
        assert steps.n_steps < steps.n_tokens / 4
        assert "global" in walk.sources
