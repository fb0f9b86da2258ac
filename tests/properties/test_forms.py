"""Random file, random edit, each form, badly copied: the right file or a refusal."""

import re
import subprocess
from collections.abc import Set

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agspec_tui.errors import EditError
from agspec_tui.forms.applier import land
from agspec_tui.forms.choose import NAMES, form
from agspec_tui.forms.types import Landing
from tests.properties.edits import (
    DIALECTS,
    JSON_MANGLES,
    LINES,
    PATH,
    PLAIN,
    ROW_MANGLES,
    Edit,
    as_blocks,
    as_calls,
    as_json,
    as_udiff,
    as_whole,
    edits,
)

NIGHTLY = settings().max_examples > 1000
many = settings(
    max_examples=20_000 if NIGHTLY else 300,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
context = st.sampled_from([1, 3, 20])
plain = edits(st.sampled_from(PLAIN))
either = st.one_of(edits(), plain)


def some(*names: str):
    return st.sets(st.sampled_from(names), max_size=3)


around = st.sampled_from(
    [
        "{}",
        "Sure, here it is:\n\n{}\nThat is all.\n",
        "<think>\nFirst I try:\n```\ndraft\n```\n</think>\n{}",
        "thinking aloud\n</think>\n\n{}",
        "{}\nThis `calls` f(x).",
    ]
)


def answer(name: str, reply: str, edit: Edit, fuzzy: bool = False) -> Landing | EditError:
    try:
        edits = form(name).parse(reply, (PATH,))
        return land(edits, {PATH: edit.before}.get, allow_shrink=True, fuzzy=fuzzy)
    except EditError as error:
        return error


def landed(name: str, reply: str, edit: Edit, fuzzy: bool = False) -> Landing | None:
    given_back = answer(name, reply, edit, fuzzy)
    if isinstance(given_back, Landing):
        return given_back
    assert given_back.message
    assert "\n" not in given_back.message
    assert len(given_back.report().splitlines()) <= 20
    return None


def hold(edit: Edit, landing: Landing | None, how: Set[str] = frozenset()) -> None:
    """Nothing landed, or exactly the edit, and no byte outside the spans is another one.

    A reply that leaves out blank lines does not say where they stand: only those may differ then.
    """
    if landing is None:
        return
    (change,) = landing.changes
    before, after = change.before or b"", change.after or b""
    at = shift = 0
    for place in landing.placements:
        assert before[at : place.start] == after[at + shift : place.start + shift]
        at, shift = place.end, shift + place.size - (place.end - place.start)
    assert before[at:] == after[at + shift :]
    assert change.path == PATH
    if "blank" in how:
        assert [x for x in lines(after) if x.strip()] == [x for x in edit.new if x.strip()]
    else:
        assert after == "".join(x + edit.end for x in edit.new).encode()


@many
@example(Edit(b"x\n", ("x",), ("```", "```", "x"), "\n"), {"short fence"}, "{}", False)
@example(
    Edit(b"x\n```\n", ("x", "```"), ("x", "```", "```python"), "\n"), {"short fence"}, "{}", False
)
@example(
    Edit(b"```\nx\n", ("```", "x"), ("```", "x", "```python"), "\n"), {"short fence"}, "{}", False
)
@example(Edit(b"x\nx\n", ("x", "x"), ("x", "```", "x", "```"), "\n"), {"short fence"}, "{}", False)
@given(either, some("short fence"), around, st.booleans())
def test_a_whole_file(edit, how, prose, crlf):
    reply = prose.replace("{}", as_whole(edit, how))
    hold(edit, landed("whole", reply.replace("\n", "\r\n") if crlf else reply, edit))


@many
@given(
    either,
    some(*ROW_MANGLES, "counts", "bare", "strip", "no headers", "no fence"),
    context,
    around,
    st.booleans(),
)
def test_a_diff(edit, how, n, prose, crlf):
    reply = prose.replace("{}", as_udiff(edit, how, n))
    hold(edit, landed("udiff", reply.replace("\n", "\r\n") if crlf else reply, edit), how)


SAY = LINES[6]
MOVED_BLANK = Edit(
    f"def f(x):\n{SAY}\n\n{SAY}\n".encode(),
    ("def f(x):", SAY, "", SAY),
    ("def f(x):", "def f(x):", "", SAY, SAY),
    "\n",
)


@many
@example(MOVED_BLANK, {"trailing", "outdent"}, 1, "{}", False)
@given(either, some(*ROW_MANGLES, "no fence", "fence inside"), context, around, st.booleans())
def test_search_and_replace_blocks(edit, how, n, prose, crlf):
    reply = prose.replace("{}", as_blocks(edit, how, n))
    hold(edit, landed("search-replace", reply.replace("\n", "\r\n") if crlf else reply, edit), how)


@many
@given(either, some(*JSON_MANGLES), around, st.booleans())
def test_files_as_json(edit, how, prose, fenced):
    body = as_json(edit, how)
    reply = prose.replace("{}", f"```json\n{body}```\n" if fenced else body)
    hold(edit, landed("whole-json", reply, edit))


@many
@given(
    either,
    st.sampled_from(["whole", "udiff", "search-replace", "whole-json"]),
    st.sampled_from(DIALECTS),
    some(*ROW_MANGLES, *JSON_MANGLES, "whole", "whole", "no opener"),
    context,
    around,
)
def test_a_tool_call(edit, name, dialect, how, n, prose):
    reply = prose.replace("{}", as_calls(edit, dialect, how, n))
    hold(edit, landed(name, reply, edit), how)


@settings(max_examples=100)
@given(plain, st.sampled_from(DIALECTS), around)
def test_a_reply_without_a_flaw_lands_in_every_form(edit, dialect, prose):
    def told(name: str, body: str) -> Landing | EditError:
        return answer(name, prose.replace("{}", body), edit)

    answers = [
        told("whole", as_whole(edit, set())),
        told("udiff", as_udiff(edit, set(), 20)),
        told("search-replace", as_blocks(edit, set(), 20)),
        told("whole-json", as_json(edit, set())),
        *(told(name, as_calls(edit, dialect, {"whole"}, 20)) for name in NAMES),
        *(told(name, as_calls(edit, dialect, set(), 20)) for name in NAMES),
    ]
    if dialect == "bare":  # without a wrapper nothing may stand behind a call
        answers = answers[: 8 if prose.endswith("{}") else 4]
    for one in answers:
        assert isinstance(one, Landing), one
        hold(edit, one)


@many
@given(
    plain,
    st.sampled_from(DIALECTS),
    st.sampled_from(
        [
            "<think>\n{}\n</think>\nDone.",
            "I see. <think>{}</think>\nDone.\n",
            "<think>a</think><think>\n{}</think>",
            "Let's see: <think>\n{}</think>",
            "{}\n</think>\nDone.",
        ]
    ),
)
def test_what_stands_in_the_reasoning_never_lands(edit, dialect, prose):
    bodies = [
        *(as_calls(edit, dialect, how, 20) for how in (set(), {"whole"})),
        as_whole(edit, set()),
        as_udiff(edit, set(), 20),
        as_blocks(edit, set(), 20),
        as_json(edit, set()),
    ]
    for name in NAMES:
        for body in bodies:
            assert isinstance(answer(name, prose.replace("{}", body), edit), EditError), body


@many
@given(plain, st.sampled_from(["udiff", "search-replace"]), st.data())
def test_what_is_placed_by_likeness_is_right_or_marked_as_doubtful(edit, name, data):
    make = as_udiff if name == "udiff" else as_blocks
    rows = make(edit, {"bare"}, 3).split("\n")
    at = data.draw(st.integers(0, len(rows) - 1))
    rows[at] = rows[at].replace("compute", "computed").replace("say", "says")
    landing = landed(name, "\n".join(rows), edit, fuzzy=True)
    if landing is not None and not landing.doubtful:
        (change,) = landing.changes
        got = [x.replace("computed", "compute").replace("says", "say") for x in lines(change.after)]
        assert got == list(edit.new)


def lines(data: bytes | None) -> list[str]:
    text = re.split("\r\n|\n|\r", (data or b"").decode())
    return text[:-1] if text[-1] == "" else text


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / "src").mkdir()
    return root


@settings(max_examples=2000 if NIGHTLY else 60, suppress_health_check=list(HealthCheck))
@given(edit=either, n=st.sampled_from([1, 3]), how=some("strip", "counts", "trailing"))
def test_where_git_applies_a_diff_we_give_the_same_file(repository, edit, n, how):
    patch = as_udiff(edit, {*how, "no fence"}, n)
    (repository / PATH).write_bytes(edit.before)
    done = subprocess.run(
        ["git", "apply", "--recount", "-"],
        input=patch.encode(),
        cwd=repository,
        capture_output=True,
    )
    landing = landed("udiff", f"```diff\n{patch}```\n", edit)
    if done.returncode == 0 and landing is not None:
        assert landing.changes[0].after == (repository / PATH).read_bytes()
