import asyncio
import re
from pathlib import Path

import pytest
from screenshots import SCENES, TUTORIAL, picture

from agspec_tui.events import ApprovalRequested, TaskFinished
from agspec_tui.session.recorded import read_events

DOCS = Path("docs")


def shown(page):
    return re.findall(r"!\[[^]]+]\(images/([^)]+)\.svg\)", (DOCS / page).read_text())


def test_the_tutorial_shows_its_pictures_in_their_order():
    assert shown("tutorial.md") == [one.name for one in SCENES if one.recording == TUTORIAL]
    for scene in SCENES:
        assert (DOCS / "images" / f"{scene.name}.svg").is_file()


def test_its_session_was_asked_about_and_fixed():
    events = read_events(TUTORIAL)
    asked = [event.asks for event in events if isinstance(event, ApprovalRequested)]
    assert asked[0] == "plan"
    assert "edit" in asked
    assert isinstance(events[-1], TaskFinished)
    assert events[-1].status == "fixed"


@pytest.mark.parametrize("scene", SCENES[1:], ids=lambda scene: scene.name)
def test_a_picture_shows_what_the_page_says(scene):
    words = {
        "tutorial-1-start": "sandbox",
        "tutorial-2-plan": "Work by this plan?",
        "tutorial-3-panels": "accept",
        "tutorial-4-diff": "hunk",
        "tutorial-5-tests": "passed",
        "tutorial-6-provenance": "Where this was copied from",
        "tutorial-7-speculation": "planner",
    }
    made = asyncio.run(picture(scene))
    # Spaces in pictures are those that do not break.
    text = re.sub(r"<[^>]+>", "", made).replace("\xa0", " ").replace("&#160;", " ")
    assert words[scene.name] in text
