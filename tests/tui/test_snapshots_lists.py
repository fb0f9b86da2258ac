"""Pictures of the lists that open something else."""

import os
import time
from pathlib import Path

import pytest

from agspec_tui.config import Config, sessions_dir
from agspec_tui.session.recorded import read_events
from agspec_tui.session.store import Meta, SessionStore
from agspec_tui.tui.app import AgspecApp
from tests.tui.driving import FIXED, IN_GENERATION, Clock, RecordingSource

SIZES = [(80, 24), (120, 40), (200, 50)]
NOON = 1_767_268_800.0
"""2026-01-01 12:00 UTC."""


@pytest.fixture
def filled(tmp_path, smollm2, monkeypatch):
    """Two stored sessions, one file that is none, one model that can be opened."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    for name in ("HOME", "XDG_DATA_HOME", "AGSPEC_MODELS"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    models = tmp_path / "agspec_models"
    models.mkdir()
    (models / "smollm2-135m.gguf").symlink_to(smollm2)
    sessions_dir().mkdir(parents=True)
    for number, recording in enumerate((FIXED, IN_GENERATION)):
        name = f"5e55{number}"
        meta = Meta(
            session_id=name,
            repo="/src/durations",
            model="qwen2.5-coder-1.5b",
            test_command="",
            settings="{}",
            started_s=NOON,
        )
        store = SessionStore.create(sessions_dir() / f"{name}.db", meta)
        store.append(read_events(recording))
        store.close()
    (sessions_dir() / "bad.db").write_text("no database")
    for age, path in enumerate(sorted(sessions_dir().glob("*.db"), reverse=True)):
        os.utime(path, (NOON - 5000 * age, NOON - 5000 * age))
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("theme", ["agspec-dark", "agspec-light"])
@pytest.mark.parametrize("what", ["models", "sessions"])
def test_the_list_looks_as_it_should(snap_compare, filled, what, theme, size):
    app = AgspecApp(
        RecordingSource(FIXED),
        repo=Path("durations"),
        model="qwen2.5-coder-1.5b",
        theme=theme,
        config=Config(n_ctx=512),
        clock=Clock(),
    )

    async def play(pilot) -> None:
        await pilot.pause()
        await app.main.run_action(what)
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause(0.3)

    assert snap_compare(app, terminal_size=size, run_before=play)
