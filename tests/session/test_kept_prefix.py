import stat

from agspec_tui.config import prefixes_dir
from agspec_tui.events import CacheRestored, CacheSaved, GenerationFinished, Warned
from tests.session.scripted import FIXED, make_repo, of, open_session, plan, run_task, script, whole

REPLIES = [plan("calc.py"), whole("calc.py", FIXED), "PASS"]


async def solve(repo, path, **settings):
    session = open_session(repo, path, **settings)
    subscription = session.bus.subscribe()
    await session.start()
    try:
        await run_task(session)
    finally:
        await session.close()
    return subscription.drain()


def restart(repo):
    (repo / "calc.py").write_text(FIXED.replace("+ number", "- number"))


async def test_the_next_session_over_a_repository_reads_only_what_is_new(tmp_path):
    repo, path = make_repo(tmp_path / "repo"), script(tmp_path, *REPLIES)
    first = await solve(repo, path, keep_prefix=True)
    assert len(of(first, CacheSaved)) == 1
    files = [file for file in prefixes_dir().rglob("*") if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    restart(repo)
    second = await solve(repo, path, keep_prefix=True)
    restored = of(second, CacheRestored)[0]
    assert (set(restored.sequences), restored.notes) == ({"planner", "coder", "executor"}, ())
    before, after = (of(events, GenerationFinished)[0] for events in (first, second))
    assert before.n_reused == 0
    assert after.n_reused > before.n_prompt // 2
    assert after.ids == before.ids


async def test_nothing_is_kept_unless_it_is_asked_for(tmp_path):
    repo, path = make_repo(tmp_path / "other"), script(tmp_path, *REPLIES)
    there = {file.name for file in prefixes_dir().rglob("*")}
    events = await solve(repo, path)
    assert {file.name for file in prefixes_dir().rglob("*")} == there
    assert not of(events, CacheSaved)
    recorded = open_session(repo, path, keep_prefix=True)
    recorded._record = tmp_path / "recordings"
    restart(repo)
    await recorded.start()
    await run_task(recorded)
    await recorded.close()
    assert {file.name for file in prefixes_dir().rglob("*")} == there


async def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    repo, path = make_repo(tmp_path / "repo"), script(tmp_path, *REPLIES)
    events = await solve(repo, path, keep_prefix=True)
    assert any("was not kept" in one.message for one in of(events, Warned))
