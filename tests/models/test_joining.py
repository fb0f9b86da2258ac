import os

import msgspec
import pytest

from agspec_tui.models.catalogue import PackageSource
from agspec_tui.models.joining import Joining, SourceFailed, discard, part_path
from tests.models.wheels import MEMBER, content, make_entry, make_wheel

WHOLE = content(100_001)
CUT = 60_000
SOURCE = PackageSource(("tiny-part1==1.0", "tiny-part2==1.0"), MEMBER)
ENTRY = make_entry(WHOLE, SOURCE)


@pytest.fixture
def pieces(tmp_path):
    """The two wheels of the model."""
    return (
        make_wheel(tmp_path / "index", "tiny-part1", WHOLE[:CUT]),
        make_wheel(tmp_path / "index", "tiny-part2", WHOLE[CUT:]),
    )


@pytest.fixture
def half(tmp_path, pieces):
    """A folder with the first piece joined."""
    folder = tmp_path / "models"
    folder.mkdir()
    Joining(ENTRY, SOURCE, folder).append(pieces[0])
    return folder


def test_joined_piece_is_taken_up_by_the_next_try(half, pieces):
    joining = Joining(ENTRY, SOURCE, half)
    assert (joining.n_joined, joining.n_bytes) == (1, CUT)
    joining.append(pieces[1])
    assert joining.path.read_bytes() == WHOLE


def test_bytes_after_the_noted_length_are_cut_off(half, pieces):
    with part_path(ENTRY, half).open("ab") as part:
        part.write(bytes(200_000))
    joining = Joining(ENTRY, SOURCE, half)
    joining.append(pieces[1])
    assert joining.path.read_bytes() == WHOLE


@pytest.mark.parametrize("note", [b"", b"{", b'{"n_joined": 99}', b"[]", b"null"])
def test_unreadable_note_only_costs_a_new_start(half, pieces, note):
    (half / "tiny.gguf.part.json").write_bytes(note)
    joining = Joining(ENTRY, SOURCE, half)
    assert (joining.n_joined, joining.n_bytes) == (0, 0)
    for piece in pieces:
        joining.append(piece)
    assert joining.path.read_bytes() == WHOLE


def test_part_file_that_is_missing_or_shorter_than_its_note_is_not_trusted(half):
    os.truncate(part_path(ENTRY, half), CUT - 1)
    assert Joining(ENTRY, SOURCE, half).n_joined == 0
    part_path(ENTRY, half).unlink()
    assert Joining(ENTRY, SOURCE, half).n_joined == 0


@pytest.mark.parametrize(
    "other",
    [
        PackageSource(("tiny-part1==2.0", "tiny-part2==2.0"), MEMBER),
        PackageSource(("elsewhere-part1==1.0",), MEMBER),
    ],
)
def test_pieces_of_another_source_are_not_mixed(half, other):
    assert Joining(ENTRY, other, half).n_joined == 0


def test_pieces_of_another_file_of_that_name_are_not_mixed(half):
    renewed = msgspec.structs.replace(ENTRY, sha256="0" * 64)
    assert Joining(renewed, SOURCE, half).n_joined == 0


def test_discarding_leaves_nothing(half):
    discard(ENTRY, half)
    assert list(half.iterdir()) == []
    discard(ENTRY, half)


def test_refused_piece_leaves_the_ones_before_it(half, tmp_path, pieces):
    bad = make_wheel(tmp_path / "bad", "tiny-part2", bytes(50_000_000))
    joining = Joining(ENTRY, SOURCE, half)
    with pytest.raises(SourceFailed, match="more than is left"):
        joining.append(bad)
    assert part_path(ENTRY, half).stat().st_size == CUT
    joining.append(pieces[1])
    assert joining.path.read_bytes() == WHOLE


@pytest.mark.parametrize(
    ("name", "n_copies", "problem"),
    [("part1.bin", 2, "holds 2 pieces"), ("other.txt", 1, "holds 0 pieces")],
)
def test_wheel_without_exactly_one_piece_is_refused(half, tmp_path, name, n_copies, problem):
    wheel = make_wheel(tmp_path / "bad", "tiny-part2", b"x", name=name, n_copies=n_copies)
    with pytest.raises(SourceFailed, match=problem):
        Joining(ENTRY, SOURCE, half).append(wheel)


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:5_000] + b"0123456789" + raw[5_010:],
        lambda raw: b"0123456789" + raw[10:],
        lambda raw: raw[:-30],
        lambda raw: b"",
    ],
    ids=["in the piece", "at its start", "cut short", "empty"],
)
def test_damaged_wheel_is_refused_and_what_it_gave_is_cut_off(half, pieces, damage):
    whole = pieces[1].read_bytes()
    pieces[1].write_bytes(damage(whole))
    joining = Joining(ENTRY, SOURCE, half)
    with pytest.raises(SourceFailed, match="is damaged"):
        joining.append(pieces[1])
    pieces[1].write_bytes(whole)
    joining.append(pieces[1])
    assert joining.path.read_bytes() == WHOLE
