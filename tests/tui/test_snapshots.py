from pathlib import Path

import pytest

from agspec_tui.events import ApprovalRequested, Event, PrefillProgressed, SessionStarted
from agspec_tui.tui.app import AgspecApp
from tests.tui.driving import FIXED, IN_GENERATION, Clock, RecordingSource

SIZES = [(80, 24), (120, 40), (200, 50)]


def reading_a_prompt(event: Event) -> bool:
    return isinstance(event, PrefillProgressed) and event.n_done < event.n_total


SCENES = {
    "generating": (IN_GENERATION, lambda event: False),
    "fixed": (FIXED, lambda event: False),
    "approval": (FIXED, lambda event: isinstance(event, ApprovalRequested)),
    "empty": (FIXED, lambda event: isinstance(event, SessionStarted)),
    "prefill": (FIXED, reading_a_prompt),
}


def compare(snap_compare, scene: str, size: tuple[int, int], theme: str, *keys: str) -> bool:
    recording, stop = SCENES[scene]
    source, clock = RecordingSource(recording), Clock()
    app = AgspecApp(source, repo=Path("durations"), model="test-model", theme=theme, clock=clock)

    async def play(pilot) -> None:
        await pilot.pause()
        while (batch := source.step()) and not stop(batch[-1]):
            pass
        app.main.draw()
        await pilot.pause()
        clock.now += 2.0
        await pilot.pause(0.3)
        for key in keys:
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause(0.3)

    return snap_compare(app, terminal_size=size, run_before=play)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("scene", SCENES)
def test_the_screen_looks_as_it_should(snap_compare, scene, size):
    assert compare(snap_compare, scene, size, "agspec-dark")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("scene", SCENES)
def test_the_light_screen_looks_as_it_should(snap_compare, scene, size):
    assert compare(snap_compare, scene, size, "agspec-light")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("theme", ["agspec-dark", "agspec-light"])
@pytest.mark.parametrize("key", ["f9", "ctrl+o", "f5", "f1", "slash"])
def test_what_a_key_opens_looks_as_it_should(snap_compare, key, theme, size):
    assert compare(snap_compare, "fixed", size, theme, key)


@pytest.mark.parametrize("theme", ["agspec-light", "high-contrast", "ansi-dark"])
def test_other_themes_look_as_they_should(snap_compare, theme):
    assert compare(snap_compare, "generating", (120, 40), theme)
