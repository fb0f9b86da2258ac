"""Edits whose place is only like what the reply gave: a person says yes, or nothing is written."""

import subprocess

import pytest

from agspec_tui.commands import AnswerApproval
from agspec_tui.errors import EditError
from agspec_tui.events import ApprovalRequested, EditApplied, EditRefused, HunkPlaced, Warned
from agspec_tui.forms.choose import form
from agspec_tui.forms.types import FileChange, FileEdit, Hunk
from agspec_tui.session.approval import Approvals
from agspec_tui.session.handover import EditSet
from agspec_tui.session.interrupt import InterruptSwitch
from agspec_tui.session.workspace import Workspace
from tests.session.scripted import (
    CALC,
    DOUBT,
    FIXED,
    NEAR,
    of,
    plan,
    prompts,
    script,
    solve,
    whole,
)

MODES = ("ask", "auto-edit", "full-auto")
SURE = NEAR.replace("number_list", "numbers").replace("- numbers", "- number")


def git(repo, *arguments):
    done = subprocess.run(
        ("git", "-C", str(repo), *arguments), check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def repo(repo):
    """The small repository, committed."""
    git(repo, "init", "-q")
    git(repo, "add", ".")
    git(repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "begin")
    return repo


def changed(repo):
    """Tracked files that differ from the commit, and files that it does not hold."""
    names = git(repo, "status", "--porcelain", "--untracked-files=all").split("\n")
    return [name for name in names if name and "__pycache__" not in name]


class Person:
    """Answers questions, and keeps them with the files as they were then."""

    def __init__(self, repo, *answers):
        self._repo = repo
        self._answers = list(answers)
        self.asked = []
        self.found = []

    async def __call__(self, session, event):
        if isinstance(event, ApprovalRequested):
            self.asked.append(event)
            self.found.append(changed(self._repo))
            yes = self._answers.pop(0)
            await session.send(AnswerApproval(call_id=event.call_id, approved=yes))


@pytest.mark.parametrize("mode", MODES)
async def test_it_is_asked_about_in_every_mode_and_written_after_a_yes(repo, tmp_path, mode):
    person = Person(repo, True)
    path = script(tmp_path, plan("calc.py"), NEAR, "PASS")
    events = await solve(repo, path, auto=False, can_ask=True, approve=mode, on_event=person)
    [question] = person.asked
    assert person.found == [[]], "nothing is written before the answer"
    assert question.asks == "edit"
    assert question.doubtful == (DOUBT,)
    assert "placed by likeness" in question.summary
    [place] = question.placed
    assert (place.path, place.hunk, place.line, place.rule) == ("calc.py", 1, 8, "fuzzy")
    assert 0.96 <= place.likeness < 0.97
    assert events[-1].status == "fixed"
    assert (repo / "calc.py").read_text() == FIXED
    assert changed(repo) == [" M calc.py"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_no_refuses_the_edit_and_the_coder_is_told_and_tries_again(repo, tmp_path, mode):
    person = Person(repo, False, *[True] * (mode == "ask"))
    path = script(
        tmp_path, plan("calc.py"), NEAR.replace("+ number", "* 2"), whole("calc.py", FIXED), "PASS"
    )
    records = tmp_path / "records"
    events = await solve(
        repo, path, auto=False, can_ask=True, approve=mode, on_event=person, record=records
    )
    assert person.found == [[]] * len(person.asked)
    [refused] = of(events, EditRefused)
    assert "the file has no such lines" in refused.message
    assert "the user said no to the lines most like them" in refused.message
    first, second = prompts(records, "coder")
    assert "the user said no" not in first
    assert "the user said no to the lines most like them" in second
    assert "nearest lines of the file:" in second
    assert "    7      for number in numbers:" in second
    assert [question.doubtful for question in person.asked[1:]] == [()] * (mode == "ask")
    assert events[-1].status == "fixed"
    assert (repo / "calc.py").read_text() == FIXED


async def test_the_same_edit_after_a_no_is_not_asked_about_again(repo, tmp_path):
    person = Person(repo, False)
    path = script(tmp_path, plan("calc.py"), NEAR, NEAR, plan("calc.py"), *[NEAR] * 3)
    events = await solve(repo, path, can_ask=True, on_event=person, max_turns=2)
    assert len(person.asked) == 1
    assert events[-1].status == "not_fixed"
    assert [event.message[:26] for event in of(events, EditRefused)] == [
        "calc.py, hunk 1: the file ",
        "the same edit as in turn 1",
    ]
    assert changed(repo) == []


@pytest.mark.parametrize("mode", ["auto-edit", "full-auto"])
async def test_where_nobody_can_be_asked_it_is_refused_with_the_nearest_lines(repo, tmp_path, mode):
    person = Person(repo)
    path = script(tmp_path, plan("calc.py"), *[NEAR] * 10)
    records = tmp_path / "records"
    events = await solve(
        repo, path, auto=False, approve=mode, on_event=person, record=records, max_turns=3
    )
    assert person.asked == []
    assert not of(events, EditApplied)
    refused = of(events, EditRefused)
    assert len(refused) == 3
    assert all("the file has no such lines" in event.message for event in refused)
    assert not any("the user" in event.message for event in refused)
    assert "nearest lines of the file:" in prompts(records, "coder")[1]
    assert changed(repo) == []


async def test_candidates_are_not_placed_by_likeness(repo, tmp_path):
    person = Person(repo)
    path = script(
        tmp_path, plan("calc.py"), NEAR, NEAR, whole("calc.py", FIXED), *[NEAR] * 3, "PASS"
    )
    events = await solve(repo, path, can_ask=True, on_event=person, candidates=2, max_turns=2)
    assert person.asked == []
    assert len(of(events, EditRefused)) == 1
    assert (repo / "calc.py").read_text() == FIXED


@pytest.mark.parametrize(("reply", "rule"), [(SURE, "exact"), (whole("calc.py", FIXED), "whole")])
async def test_an_edit_that_fits_is_not_asked_about_where_edits_are_unasked(
    repo, tmp_path, reply, rule
):
    person = Person(repo)
    path = script(tmp_path, plan("calc.py"), reply, "PASS")
    events = await solve(repo, path, can_ask=True, on_event=person)
    assert person.asked == []
    assert events[-1].status == "fixed"
    asked = Person(repo, True)
    git(repo, "checkout", "-q", ".")
    events = await solve(repo, path, auto=False, can_ask=True, on_event=asked)
    assert [place.rule for place in asked.asked[0].placed] == [rule]
    assert asked.asked[0].doubtful == ()


def test_lines_are_those_on_disk_also_behind_an_earlier_edit(repo):
    head = Hunk(1, ('"""Sums."""',), ("# One", "# Two", '"""Sums."""'))
    workspace = Workspace(repo)
    workspace.stage([FileEdit("calc.py", hunks=(head,))])
    workspace.stage(form("udiff").parse(NEAR), fuzzy=True)
    edits = workspace.edit_set("udiff")
    assert edits.doubtful == (DOUBT,)
    assert [(place.line, place.rule) for place in edits.placed] == [(1, "exact"), (8, "fuzzy")]
    assert edits.changes[0].after == f"# One\n# Two\n{FIXED}".encode()
    assert changed(repo) == []


def test_what_no_longer_changes_is_not_doubtful(repo):
    workspace = Workspace(repo)
    workspace.stage(form("udiff").parse(NEAR), fuzzy=True)
    workspace.stage([FileEdit("calc.py", whole=CALC), FileEdit("show.py", whole="x = 1\n")])
    edits = workspace.edit_set("whole")
    assert edits.files == ("show.py",)
    assert (edits.doubtful, edits.refusal) == ((), None)


@pytest.mark.parametrize(
    ("given", "instead"),
    [("result = result - numbers", "yield from everything()"), ("+ number", "+ (number")],
    ids=["unlike", "breaks the syntax"],
)
def test_what_does_not_land_by_likeness_is_refused_in_the_words_of_the_strict_rules(
    repo, given, instead
):
    edits = form("udiff").parse(NEAR.replace(given, instead))
    refused = []
    for fuzzy in (False, True):
        with pytest.raises(EditError) as error:
            Workspace(repo).stage(edits, fuzzy=fuzzy)
        refused.append(error.value.report())
    assert refused[0] == refused[1]
    assert "nearest lines of the file:" in refused[0]


def test_a_reply_is_refused_if_what_likeness_places_is_only_what_stays(repo):
    stays = ("def mean(number):", '    """Mean of the number."""')
    goes = Hunk(2, ("        result = result - number",), ("        result = result + number",))
    edit = FileEdit("calc.py", hunks=(Hunk(1, stays, stays), goes))
    with pytest.raises(EditError, match="no such lines"):
        Workspace(repo).stage([edit], fuzzy=True)


async def test_a_step_without_a_place_is_left_out_and_the_rest_is_asked_about(repo, tmp_path):
    far = NEAR.replace("calc.py", "show.py")
    person = Person(repo, True)
    path = script(tmp_path, plan("show.py", "calc.py"), far, NEAR, "PASS")
    events = await solve(repo, path, can_ask=True, on_event=person)
    assert [question.doubtful for question in person.asked] == [(DOUBT,)]
    assert any("one step was left out" in event.message for event in of(events, Warned))
    assert events[-1].status == "fixed"


@pytest.mark.parametrize("mode", ["plan-only", *MODES])
async def test_a_doubtful_edit_is_never_approved_where_nobody_can_be_asked(mode):
    published = []
    approvals = Approvals(published.append, InterruptSwitch(), mode=mode)
    place = HunkPlaced("calc.py", 1, 8, "fuzzy", 0.9)
    change = FileChange("calc.py", CALC.encode(), FIXED.encode())
    edits = EditSet("udiff", (change,), "", placed=(place,), doubtful=(DOUBT,))
    assert not approvals.can_ask
    assert await approvals.ask(edits, 1) is None
    assert published == []
