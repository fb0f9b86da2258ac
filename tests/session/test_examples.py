import shutil
import sys
from pathlib import Path

import pytest

from agspec_tui.session.repo import list_files, read_text_file
from agspec_tui.session.runner import run
from agspec_tui.session.testing import failing_names, find_test_command, parse_counts

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
UNITTEST = (sys.executable, "-m", "unittest", "discover", "-s", "tests")

FAILING = {
    "word-count": {
        "CountTest.test_capitals_make_no_difference",
        "SummaryTest.test_different_words_are_counted_once",
    },
    "room-booking": {
        "SlotTest.test_text_and_slot_are_the_same",
        "RoomTest.test_a_room_can_be_booked_right_after_another_booking",
    },
    "playlist": {
        "PlaylistTest.test_a_new_playlist_is_empty",
    },
    "supplier-list": {
        "ParseTest.test_spaces_around_the_fields_do_not_matter",
        "SupplierListTest.test_names_are_sorted",
        "SupplierListTest.test_sellers_of_an_item_are_named",
    },
    "hopeless": {"PricesTest.test_the_shop_rounds_halves_up"},
}
FIXES = {
    "word-count": [("wordcount.py", "counts[word] += 1", "counts[word.lower()] += 1")],
    "room-booking": [
        (
            "booking/slot.py",
            'return f"{hours}:{rest:02d}"',
            'return f"{hours:02d}:{rest:02d}"',
        )
    ],
    "playlist": [("playlist.py", "self.tracks = tracks\n", "self.tracks = list(tracks)\n")],
    "supplier-list": [
        (
            "suppliers/parse.py",
            'fields = line.split(";")',
            'fields = [field.strip() for field in line.split(";")]',
        ),
        (
            "suppliers/directory.py",
            "return list(self._by_name)",
            "return sorted(self._by_name)",
        ),
    ],
}


@pytest.fixture(params=sorted(FAILING))
def sample(request, tmp_path):
    """A sample, copied elsewhere."""
    copy = tmp_path.resolve() / request.param
    shutil.copytree(EXAMPLES / request.param, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


async def failing(folder, argv, kind):
    result = await run(argv, folder, 60)
    names = failing_names(kind, result.output)
    passed, failed = parse_counts(kind, result.output, result.exit_code)
    assert failed == len(names)
    assert (result.exit_code == 0) is (failed == 0)
    return {".".join(name.replace("::", ".").split(".")[-2:]) for name in names}, passed


async def test_exactly_the_intended_tests_fail_and_most_pass(sample):
    command = find_test_command(sample)
    for argv, kind in ((command.argv, command.kind), (UNITTEST, "unittest")):
        names, passed = await failing(sample, argv, kind)
        assert names == FAILING[sample.name]
        assert passed > 2 * len(names)


@pytest.mark.parametrize("sample", sorted(FIXES), indirect=True)
async def test_a_small_fix_makes_all_tests_pass(sample):
    for path, old, new in FIXES[sample.name]:
        file = sample / path
        assert file.read_text().count(old) == 1
        file.write_text(file.read_text().replace(old, new))
    for argv, kind in ((find_test_command(sample).argv, "pytest"), (UNITTEST, "unittest")):
        names, passed = await failing(sample, argv, kind)
        assert names == set()
        assert passed > 0


@pytest.mark.parametrize("sample", ["supplier-list"], indirect=True)
@pytest.mark.parametrize("left_out", [0, 1])
async def test_the_two_file_sample_needs_both_files(sample, left_out):
    path, old, new = FIXES["supplier-list"][1 - left_out]
    (sample / path).write_text((sample / path).read_text().replace(old, new))
    names, _ = await failing(sample, UNITTEST, "unittest")
    assert set() < names < FAILING["supplier-list"]


@pytest.mark.parametrize("sample", ["hopeless"], indirect=True)
@pytest.mark.parametrize(
    "rounded", ["int(price + 0.5)", "-int(-price // 1)", "int(price)", "3", "2"]
)
async def test_no_rounding_helps_the_hopeless_sample(sample, rounded):
    file = sample / "prices.py"
    file.write_text(file.read_text().replace("return round(price)", f"return {rounded}"))
    names, _ = await failing(sample, UNITTEST, "unittest")
    assert any("halves" in name for name in names)


async def test_samples_run_where_they_lie_and_leave_nothing_behind(sample):
    place = EXAMPLES / sample.name
    before = list_files(place)
    names, _ = await failing(place, find_test_command(place).argv, "pytest")
    assert names == FAILING[sample.name]
    assert list_files(place) == before


def test_samples_are_small_readable_text(sample):
    files = list_files(sample)
    assert {"ISSUE.md", "pyproject.toml"} < set(files)
    assert read_text_file(sample, "ISSUE.md").startswith("# ")
    sources = [f for f in files if f.endswith(".py") and not f.startswith("tests/")]
    n_lines = sum(len(read_text_file(sample, f).splitlines()) for f in sources)
    assert n_lines <= 150
    assert sample.name == "hopeless" or n_lines >= 60
