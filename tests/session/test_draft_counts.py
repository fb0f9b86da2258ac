import pytest

from agspec_tui.config import Config, profiles_dir
from agspec_tui.errors import DraftError
from agspec_tui.events import ModelLoaded, StepCommitted
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.profile_file import decode, read_profile, write_profile
from agspec_tui.policy.types import Evidence
from agspec_tui.session.draft_counts import DraftCounts
from agspec_tui.session.session import Session
from tests.session.scripted import make_repo


@pytest.fixture(autouse=True)
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def loaded(tokenizer="ab" * 32, model="My model/1.5b"):
    return ModelLoaded(
        model=model,
        device="CPU, 2 threads",
        n_ctx=512,
        n_vocab=258,
        n_threads=2,
        load_s=0.1,
        n_exact=7,
        rollback=True,
        tokenizer=tokenizer,
    )


def step(n_drafted, n_accepted, role="coder", source="session"):
    return StepCommitted(
        role=role,
        request=1,
        step=1,
        ids=(1,),
        text="x",
        n_drafted=n_drafted,
        n_accepted=n_accepted,
        match_len=5,
        n_seen=2,
        n_group=1,
        source=source,
        document="d",
        offset=0,
        budget=n_drafted,
        cap=16,
        alpha=1.0,
        decode_us=1.0,
        draft_us=1.0,
        n_context=9,
    )


def counted(*steps, config=None, **more):
    counts = DraftCounts(loaded(), config or Config(), **more)
    for each in steps:
        counts.take(each)
    counts.keep()
    return counts


def kept_file():
    (path,) = profiles_dir().iterdir()
    return path


def test_the_next_session_starts_from_the_counts_of_those_before():
    assert DraftCounts(loaded(), Config()).start() == ""
    counted(step(4, 4), step(4, 1))
    counted(step(6, 2, role="planner"))
    found = decode(DraftCounts(loaded(), Config()).start(), "it")
    assert (found.n_drafts("coder"), found.n_drafts("planner")) == (2, 1)
    assert (found.model, found.tokenizer) == ("My model/1.5b", "ab" * 32)


def test_counts_that_were_kept_are_not_kept_again():
    counts = counted(step(4, 4))
    counts.keep()
    counts.take(step(4, 0))
    counts.keep()
    assert read_profile(kept_file()).n_drafts() == 2


def test_the_file_holds_counts_and_can_be_read_by_its_owner_alone():
    counted(step(4, 1))
    assert profiles_dir().stat().st_mode & 0o077 == 0
    assert kept_file().stat().st_mode & 0o077 == 0
    assert "text" not in kept_file().read_text()


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"keep_counts": False}, {}),
        ({"drafter": "pld"}, {}),  # it has a length rule of its own
        ({"drafter": "none"}, {}),
        ({}, {"is_model": False}),  # a script
    ],
)
def test_nothing_is_kept_where_it_is_unwanted_or_says_nothing(settings, more):
    counted(step(4, 4), config=Config(**settings), **more)
    assert not profiles_dir().exists()


def test_steps_without_a_draft_leave_no_file():
    counted(step(0, 0, source=""))
    assert not profiles_dir().exists()


def test_another_vocabulary_has_another_file():
    counted(step(4, 4))
    other = DraftCounts(loaded(tokenizer="cd" * 32), Config())
    assert other.start() == ""


def test_a_named_profile_of_another_vocabulary_is_refused(tmp_path):
    path = tmp_path / "mine.json"
    profile = Profile("other-model", "cd" * 32)
    profile.add("coder", Evidence(3), 4, 4)
    write_profile(path, profile)
    with pytest.raises(DraftError, match=r"another vocabulary \(other-model\)"):
        DraftCounts(loaded(), Config(profile=str(path))).start()


def test_a_named_profile_is_used_and_not_written_to(tmp_path):
    path = tmp_path / "mine.json"
    profile = Profile("m", loaded().tokenizer)
    profile.add("coder", Evidence(3), 4, 4)
    write_profile(path, profile)
    before = path.read_bytes()
    config = Config(profile=str(path))
    assert decode(DraftCounts(loaded(), config).start(), "it").n_drafts() == 1
    counted(step(4, 4), config=config)
    assert path.read_bytes() == before


def test_counts_that_cannot_be_written_are_reported(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(DraftError, match="cannot be written"):
        counted(step(4, 4))


async def test_a_session_with_a_damaged_file_says_so_and_goes_on(tmp_path, smollm2):
    repo = tmp_path / "repo"
    make_repo(repo)
    settings = Config(model=str(smollm2), n_ctx=2048, watch=False, calibrate=False)
    for damage in (None, "{"):
        session = Session(repo, settings)
        subscription = session.bus.subscribe()
        try:
            await session.start()
            events = subscription.drain()
            tokenizer = next(e.tokenizer for e in events if isinstance(e, ModelLoaded))
            warned = [e.message for e in events if "no profile" in getattr(e, "message", "")]
        finally:
            await session.close()
        if damage is None:
            assert warned == []
            path = DraftCounts(loaded(tokenizer, smollm2.stem), settings)._path
            path.parent.mkdir(parents=True)
            path.write_text("{")
        else:
            assert len(warned) == 1
