"""What every test stands on: folders of its own, the small real model, a cursor that is still."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
from random_gguf import Shape, write_model

from agspec_tui.config import models_dir
from agspec_tui.engine.client import EngineClient
from agspec_tui.engine.watchdog import Limits
from agspec_tui.events import EngineEvent

SMOLLM2 = "smollm2-135m"
GEMMA3 = "gemma3-270m"

MakeClient = Callable[..., tuple[EngineClient, list[EngineEvent]]]

# Tests that give no number of examples take it from the profile: `AGSPEC_HYPOTHESIS=nightly`.
hypothesis.settings.register_profile("default", max_examples=200, deadline=None)
hypothesis.settings.register_profile(
    "nightly",
    max_examples=10_000,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile(os.environ.get("AGSPEC_HYPOTHESIS", "default"))


def pytest_configure(config: pytest.Config) -> None:
    # Child processes of tests must not litter the tree either.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    # As in the engine process: decoding threads that spin for long starve each other.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    # A program in a pseudo-terminal would take these for the size of that terminal.
    for name in ("LINES", "COLUMNS"):
        os.environ.pop(name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"smollm2", "gemma3"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.model)


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Configuration, data, state and cache folders of the run; models stay where they are."""
    folder = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGSPEC_MODELS", str(models_dir()))
        for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
            patch.setenv(f"XDG_{kind}_HOME", str(folder / kind.lower()))
        yield folder


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`AGSPEC_HOME` of one test: a folder that does not exist yet."""
    folder = tmp_path / "agspec-home"
    monkeypatch.setenv("AGSPEC_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def steady_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A blinking cursor would make two pictures of one screen differ."""
    widgets = sys.modules.get("textual.widgets")
    if widgets is not None:
        monkeypatch.setattr(widgets.Input, "cursor_blink", False)
        monkeypatch.setattr(widgets.TextArea, "cursor_blink", False)


@pytest.fixture(scope="session")
def smollm2(own_folders: Path) -> Path:
    """The real GGUF that tests decode with. Missing is a failure: nothing may pass unseen."""
    return _pulled(SMOLLM2)


@pytest.fixture(scope="session")
def gemma3(own_folders: Path) -> Path:
    """The real GGUF with a sliding window that tests decode with."""
    return _pulled(GEMMA3)


@pytest.fixture(scope="session")
def quantised(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny GGUF of random K-quant weights: on a CPU only passes of up to 7 tokens are exact,
    unless weights are packed for AMX or multiplied by our own kernels."""
    path = tmp_path_factory.mktemp("quantised") / "small.gguf"
    write_model(
        path, "small", Shape(n_layers=2, n_embd=256, n_ff=512, n_head=4, n_head_kv=2), smollm2
    )
    return path


def _pulled(name: str) -> Path:
    path = models_dir() / f"{name}.gguf"
    if not path.is_file():
        pytest.fail(f"{path.name} is not in {path.parent} (run: agspec-tui models pull {name})")
    return path


@pytest.fixture
async def make_client(tmp_path: Path) -> AsyncIterator[MakeClient]:
    """Makes engine clients, each with the list of its events; all are closed in the end."""
    clients = []

    def make(limits: Limits | None = None) -> tuple[EngineClient, list[EngineEvent]]:
        events: list[EngineEvent] = []
        client = EngineClient(events.append, tmp_path / "logs", limits)
        clients.append(client)
        return client, events

    yield make
    for client in clients:
        await client.close()
