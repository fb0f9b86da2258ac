import msgspec
import pytest

from agspec_tui.errors import UsageError
from agspec_tui.events import PlanStep
from agspec_tui.session.handover import Step
from agspec_tui.session.outline import RankedFile
from agspec_tui.session.plan import edited_plan, fallback_plan, nearest_path, read_plan
from agspec_tui.session.roles import Limits

UNSEEN = ["ignored.py", "huge.py"]
KNOWN = ["src/app.py", "src/money.py", "src/util/money.py", "README.md"]
SEEN = [*KNOWN, "package.json", "tests/test_app.py"]
CANDIDATES = [RankedFile("src/app.py", ("run",), 5), RankedFile("src/money.py", (), 2)]


def plan(*steps, **options):
    reply = msgspec.json.encode({"steps": list(steps)}).decode()
    candidates = [RankedFile(path, (), 0) for path in KNOWN]
    return read(reply, candidates, **options)


def read(reply, candidates, limits=None, *, tests_allowed=False):
    return read_plan(
        reply,
        candidates,
        limits or Limits(),
        seen=SEEN,
        may_be_made=lambda path: path not in UNSEEN,
        tests_allowed=tests_allowed,
    )


def step(*files, change="c", **more):
    return {"files": list(files), "change": change, **more}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("src/app.py", "src/app.py"),
        ("./src/app.py", "src/app.py"),
        ("src\\app.py", "src/app.py"),
        ("app.py", "src/app.py"),
        ("/repo/src/app.py", "src/app.py"),
        ("lib/app.py", "src/app.py"),
        ("src.app", "src/app.py"),
        ("src/ap.py", "src/app.py"),
        ("util/money.py", "src/util/money.py"),
        ("readme", ""),
        ("", ""),
        ("completely/else.go", ""),
    ],
)
def test_a_said_path_becomes_the_nearest_real_one(said, meant):
    assert nearest_path(said, KNOWN) == meant


def test_a_good_plan_is_kept():
    made = plan(step("src/app.py", change="fix it"), step("src/money.py", change="and this"))
    assert made.steps == (Step(("src/app.py",), "fix it"), Step(("src/money.py",), "and this"))
    assert made.fallback == ""
    assert made.files == ("src/app.py", "src/money.py")


def test_steps_that_share_a_file_become_one():
    made = plan(step("src/app.py", change="a"), step("src/app.py", "src/money.py", change="b"))
    assert made.steps == (Step(("src/app.py", "src/money.py"), "a b"),)


def test_unknown_paths_are_dropped_and_the_rest_stays():
    assert plan(step("nowhere/else.go", "src/app.py")).files == ("src/app.py",)


@pytest.mark.parametrize(
    "path",
    ["../out.py", "~/x.py", ".git/config.ini", "py", "tests/test_new.py", *UNSEEN],
)
def test_a_new_path_must_be_inside_have_a_suffix_and_be_no_test(path):
    assert plan(step("src/money.py", new=[path])).steps[0].new == ()


def test_a_new_file_is_kept_and_a_new_test_only_if_the_issue_asks():
    assert plan(step(new=["src/new.py"])).steps[0].new == ("src/new.py",)
    made = plan(step(new=["tests/test_new.py"]), tests_allowed=True)
    assert made.steps[0].new == ("tests/test_new.py",)


@pytest.mark.parametrize(
    ("path", "tests_allowed"),
    [("src/app.py", False), ("package.json", False), ("tests/test_app.py", True)],
)
def test_a_new_path_that_is_there_already_is_one_to_change(path, tests_allowed):
    made = plan(step(new=[path]), tests_allowed=tests_allowed)
    assert made.steps[0] == Step((path,), "c")


@pytest.mark.parametrize("path", [*UNSEEN, "../x.py"])
def test_a_plan_that_the_person_writes_makes_no_file_that_is_there_unseen(path):
    with pytest.raises(UsageError, match="cannot be made"):
        edited_plan([PlanStep((path,), "c")], SEEN, lambda path: path in UNSEEN and "it is ignored")


def test_a_plan_is_cut_to_its_limits_and_says_what_it_lacks():
    steps = [step(path, change=path) for path in KNOWN]
    cut = plan(*steps, limits=Limits(n_steps=2, n_files=4))
    assert (len(cut.steps), cut.dropped) == (2, tuple(KNOWN[2:]))
    cut = plan(*steps, limits=Limits(n_steps=4, n_files=3))
    assert (len(cut.files), cut.dropped) == (3, tuple(KNOWN[3:]))
    cut = plan(step(*KNOWN, new=["new.py"]), limits=Limits(n_files=4))
    assert (cut.files, cut.dropped) == (tuple(KNOWN), ("new.py",))
    assert plan(*steps).dropped == ()


@pytest.mark.parametrize("reply", ["", "no json", '{"steps": []}', '{"steps": [{"files": ["x'])
def test_an_unusable_reply_falls_back_to_the_likeliest_file(reply):
    made = read(reply, CANDIDATES)
    assert made.files == ("src/app.py",)
    assert made.fallback


def test_the_fallback_takes_two_files_that_are_as_likely():
    tie = [RankedFile("a.py", (), 5), RankedFile("b.py", (), 5), RankedFile("c.py", (), 1)]
    assert fallback_plan(tie, "why").files == ("a.py", "b.py")
    unknown = [RankedFile("a.py", (), 0), RankedFile("b.py", (), 0)]
    assert fallback_plan(unknown, "why").files == ("a.py",)


def test_without_source_files_there_is_no_plan():
    assert fallback_plan([], "why").steps == ()
