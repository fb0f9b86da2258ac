import asyncio

import pytest

from agspec_tui.events import DocumentIndexed
from agspec_tui.session.corpus_feed import digest
from tests.session.following import until
from tests.session.scripted import FIXED, of, open_session, plan, run_task, script, whole


def indexed(events):
    return {event.path: event.skipped for event in of(events, DocumentIndexed)}


async def indexed_at_start(session):
    subscription, events = session.bus.subscribe(), []
    await session.start()
    for _ in range(30):
        await asyncio.sleep(0.05)
        events += subscription.drain()
    await session.close()
    return indexed(events)


async def test_with_the_scope_repo_every_source_file_is_indexed_at_the_start(repo, tmp_path):
    session = open_session(repo, script(tmp_path, "x"), corpus_scope="repo")
    subscription, events = session.bus.subscribe(), []
    await session.start()

    def all_there():
        events.extend(subscription.drain())
        return len(indexed(events)) == 3

    await until(all_there)
    assert set(indexed(events)) == {"calc.py", "show.py", "tests/test_calc.py"}
    await session.close()


@pytest.mark.parametrize("settings", [{}, {"corpus_scope": "repo", "watch": False}])
async def test_otherwise_nothing_is_indexed_before_an_agent_opens_it(repo, tmp_path, settings):
    session = open_session(repo, script(tmp_path, "x"), **settings)
    assert await indexed_at_start(session) == {}


async def test_a_file_that_an_agent_opened_is_followed_until_the_session_ends(repo, tmp_path):
    replies = (plan("calc.py"), whole("calc.py", FIXED), "PASS")
    session = open_session(repo, script(tmp_path, *replies))
    await session.start()
    await run_task(session)
    assert session._corpus._feed.holds("calc.py") == digest(FIXED)
    (repo / "calc.py").write_text(f"# mine\n{FIXED}")
    await until(lambda: session._corpus._feed.holds("calc.py") == digest(f"# mine\n{FIXED}"))
    await session.close()


async def test_what_an_agent_opens_but_is_not_drafted_from_is_said_with_its_reason(repo, tmp_path):
    session = open_session(repo, script(tmp_path, "x"))
    subscription = session.bus.subscribe()
    await session.start()
    await session._corpus.index("poetry.lock", "x\n")
    await session._corpus.index("calc.py", "x\n")
    events = subscription.drain()
    assert indexed(events) == {"poetry.lock": "poetry.lock is a lock file.", "calc.py": ""}
    await session.close()
