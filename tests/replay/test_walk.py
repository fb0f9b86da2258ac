import json

import numpy as np
import pytest

from agspec_tui.drafting.choose import NAMES, make_drafter
from agspec_tui.errors import DraftError
from agspec_tui.policy.agspec import AgSpec
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.own import Own
from agspec_tui.replay.oracle import Oracle
from agspec_tui.replay.read import read_sessions
from agspec_tui.replay.steps import walk_policy, walk_steps
from agspec_tui.replay.tokens import FileViews, TokenisedCall, TokenisedSession
from agspec_tui.replay.walk import WalkOptions, n_agreeing, walk_session
from tests.replay.test_tokens import call, tokenised
from tests.replay.words import Words

CODE = "".join(f"def f{n}(x):\n    return x * {n} + g(x)\n\n" for n in range(12))
STEADY = [name for name in NAMES if make_drafter(name).steady]


def copying_session() -> TokenisedSession:
    edited = CODE.replace("x * 5", "x * 55")
    return tokenised(
        call(f"I change it.\n{edited}", f"Please change this:\n{CODE}", role="coder"),
        call(edited[:300], "Once more.", role="coder"),
        call(f"It says {edited[40:200]}", f"Look at:\n{edited}", role="reviewer", agent_id="r"),
        call("", "nothing"),
    )


def with_max_tokens(session: TokenisedSession, n: int) -> TokenisedSession:
    calls = tuple(TokenisedCall(**{**fields(each), "max_tokens": n}) for each in session.calls)
    return TokenisedSession("s", "file", "s", ("whole",), calls)


def fields(each: TokenisedCall) -> dict[str, object]:
    return {name: getattr(each, name) for name in TokenisedCall.__dataclass_fields__}


@pytest.mark.parametrize("name", STEADY)
def test_a_walk_tells_what_the_drafter_says_at_every_position(name):
    session = copying_session()
    walk = walk_session(session, lambda: make_drafter(name))
    drafter = make_drafter(name)
    assert len(walk.calls) == 3  # one wrote nothing
    for recorded, found in zip(session.calls, walk.calls, strict=False):
        drafter.begin(recorded.agent_id, recorded.pieces)
        output = tuple(recorded.output.tolist())
        assert len(found) == len(output)
        for i, token in enumerate(output):
            match = drafter.match()
            ids = drafter.draft(match, len(output) - i - 1).ids
            evidence = (found.match_len[i], found.n_seen[i], found.n_group[i])
            assert evidence == (match.length, match.n_seen, match.n_group)
            assert walk.sources[found.source[i]] == match.source
            assert found.n_draft[i] == len(ids)
            assert output[i : i + found.reusable[i]] == ids[: found.reusable[i]]
            assert (
                len(ids) <= found.reusable[i]
                or ids[found.reusable[i]] != (output[i + found.reusable[i]])
            )
            drafter.feed((token,))
    copies = name not in ("none", "rest")  # there is no global corpus here
    assert any(each.reusable.any() for each in walk.calls) == copies


@pytest.mark.parametrize("name", [name for name in NAMES if name not in STEADY])
def test_a_drafter_that_learns_is_not_walked_over_positions(name):
    with pytest.raises(DraftError, match="step by step"):
        walk_session(copying_session(), lambda: make_drafter(name))


@pytest.mark.parametrize(
    ("ids", "start", "expected"),
    [
        ((), 0, 0),
        ((9,), 0, 0),
        ((1, 2, 3), 0, 3),
        ((2, 3, 9), 1, 2),
        ((3, 4), 3, 1),
        ((1,), 5, 0),
    ],
)
def test_agreement_ends_with_the_first_difference(ids, start, expected):
    output = (1, 2, 3, 3)
    assert n_agreeing(ids, output, start) == expected


def test_long_agreement_is_counted_to_the_token():
    output = tuple(range(300))
    for n in (1, 31, 32, 33, 64, 100, 255):
        draft = (*output[:n], -7, *output[n + 1 : 256])
        assert n_agreeing(draft, output, 0) == n


@pytest.mark.parametrize("policy", [AgSpec(), AgSpec(4), Fixed(8), Own(), Oracle()])
def test_accepted_and_bonus_tokens_make_up_the_output(policy):
    session = copying_session()
    walk = walk_session(session, lambda: make_drafter("agspec-sam"))
    for steps in walk_policy(walk, policy):
        assert sum(steps.n_accepted) + steps.n_steps == steps.n_tokens
        assert all(a <= d for a, d in zip(steps.n_accepted, steps.n_drafted, strict=True))
        ends = [i + a + 1 for i, a in zip(steps.positions, steps.n_accepted, strict=True)]
        assert ends[:-1] == list(steps.positions)[1:]
        assert ends[-1] == steps.n_tokens
        assert steps.histogram().sum() == steps.n_steps
        assert (steps.histogram() * np.arange(len(steps.histogram()))).sum() == sum(steps.n_drafted)
        assert len(steps.draft_us) == steps.n_steps


def test_the_oracle_drafts_what_is_accepted_and_has_the_fewest_steps():
    walk = walk_session(copying_session(), lambda: make_drafter("agspec-sam"))
    oracle = list(walk_policy(walk, Oracle()))
    assert all(steps.n_drafted == steps.n_accepted for steps in oracle)
    n_least = sum(steps.n_steps for steps in oracle)
    for policy in (AgSpec(), Fixed(8), Fixed(250)):
        assert sum(steps.n_steps for steps in walk_policy(walk, policy)) >= n_least


@pytest.mark.parametrize("name", ["agspec-sam", "suffix", "llama-ngram-mod", "fastcoder"])
def test_the_oracle_asks_any_drafter(name):
    steps = list(walk_steps(copying_session(), lambda: make_drafter(name), Oracle()))
    assert all(each.n_drafted == each.n_accepted for each in steps)
    assert all(sum(s.n_accepted) + s.n_steps == s.n_tokens for s in steps)


def test_no_drafts_are_plain_decoding():
    walk = walk_session(copying_session(), lambda: make_drafter("none"))
    for steps in walk_policy(walk, Own()):
        assert steps.n_steps == steps.n_tokens
        assert not any(steps.n_drafted)


def test_a_reply_with_room_drafts_past_its_end():
    session = with_max_tokens(copying_session(), 1000)
    walk = walk_session(session, lambda: make_drafter("agspec-sam"))
    asked = list(walk_steps(session, lambda: make_drafter("agspec-sam"), Fixed(30)))
    walked = list(walk_policy(walk, Fixed(30)))
    drafted = [list(steps.n_drafted) for steps in asked]
    assert drafted == [list(steps.n_drafted) for steps in walked]
    bounded = walk_session(copying_session(), lambda: make_drafter("agspec-sam"))
    last = next(walk_policy(bounded, Fixed(30)))
    room = last.n_tokens - last.positions[-1] - 1
    assert last.n_drafted[-1] <= room < drafted[0][-1]


def shown_session(tmp_path) -> TokenisedSession:
    """An agent that emits a file as JSON which it was shown as text with line numbers."""
    numbered = "".join(f"{n:6}→{line}\n" for n, line in enumerate(CODE.splitlines(), 1))
    record = {
        "session_id": "s",
        "edit_format": "tool call Write {content}",
        "calls": [
            {"prompt": [], "output": '[tool_use Read]\n{"file_path": "/r/a.py"}'},
            {
                "prompt": [{"role": "tool", "content": numbered}],
                "output": json.dumps({"file_path": "/r/b.py", "content": CODE}),
            },
        ],
    }
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(record) + "\n")
    [session] = read_sessions([path], Words())
    return session


def test_escaped_views_of_shown_files_make_longer_matches(tmp_path):
    session = shown_session(tmp_path)

    def n_steps(options: WalkOptions) -> int:
        walk = walk_session(session, lambda: make_drafter("agspec-sam"), options)
        return sum(steps.n_steps for steps in walk_policy(walk, Oracle()))

    off, raw, full = (
        n_steps(WalkOptions(workspace=False)),
        n_steps(WalkOptions(views=False)),
        n_steps(WalkOptions()),
    )
    assert full < raw <= off


def test_a_match_in_a_shown_file_is_the_workspaces(tmp_path):
    walk = walk_session(shown_session(tmp_path), lambda: make_drafter("agspec-sam"))
    last = walk.calls[-1]
    names = [walk.sources[number] for number in last.source.tolist()]
    assert names.count("workspace") > len(last) / 2


@pytest.mark.parametrize("scope", ["session", "call", "off"])
@pytest.mark.parametrize("name", ["agspec-sam", "agspec-suffix"])
def test_a_smaller_session_corpus_accepts_less(name, scope):
    session = tokenised(
        call(CODE, "write it", agent_id="a"),
        call(CODE, "write it too", agent_id="b"),
        call(CODE[:200], "and again", agent_id="b"),
    )
    walk = walk_session(session, lambda: make_drafter(name, session=scope))
    n_reusable = [int(each.reusable.sum()) for each in walk.calls]
    if scope == "off":
        assert n_reusable == [0, 0, 0]
        return
    longest = [int(each.match_len.max()) for each in walk.calls]
    assert (longest[1] > 50) == (scope == "session")
    assert longest[2] > 50


def test_a_file_without_room_is_counted_and_the_walk_goes_on():
    [recorded] = tokenised(call("x y z", "in")).calls
    views = (("raw", np.zeros(2_000_001, np.int32)),)
    large = TokenisedCall(**{**fields(recorded), "shown": (FileViews("a", views),)})
    session = TokenisedSession("s", "file", "s", ("whole",), (large,))
    walk = walk_session(session, lambda: make_drafter("agspec-sam"))
    assert walk.n_refused == 1
    assert len(walk.calls) == 1


def test_progress_adds_up_to_the_tokens_of_the_session():
    session = copying_session()
    told: list[int] = []
    walk_session(session, lambda: make_drafter("pld"), progress=told.append)
    assert sum(told) == session.n_prompt + session.n_output
    told.clear()
    list(walk_steps(session, lambda: make_drafter("suffix"), Own(), progress=told.append))
    assert sum(told) == session.n_prompt + session.n_output
