"""Texts of hundreds of kilobytes on the screen: lines are cut, and the screen goes on."""

import time

import pytest

from agspec_tui.events import (
    ApprovalRequested,
    EditProposed,
)
from agspec_tui.forms.diff import unified
from agspec_tui.forms.types import FileChange
from tests.tui.driving import driven

MARKDOWN = "".join(
    f"## Part {n}\n\n*text* `code` [link](x{n})\n\n```py\nx = {n}\n```\n\n" for n in range(4000)
)
TEXTS = {
    "Markdown": MARKDOWN,
    "minified": "var a=0;" + "f(a,b);" * 40_000 + "\n",
    "wide and hidden": "naïve ☃ 日本語\u202e\x1b[2J" * 13_000 + "\n",
}
LIMIT_S = 2.0  # processor time; a few tenths where nothing else runs


def proposals(text):
    diff = unified([FileChange("big.md", b"old\n", text.encode())])
    yield EditProposed(turn=1, role="coder", form="whole", files=("big.md",), diff=diff)
    yield ApprovalRequested(call_id=9, asks="edit", summary="big.md", diff=diff)


@pytest.mark.parametrize("what", TEXTS)
async def test_d11_the_screen_is_not_frozen_by_a_large_text(what):
    assert len(TEXTS[what]) > 200_000
    async with driven() as d:
        for event in proposals(TEXTS[what]):
            started = time.process_time()
            await d.show(event)
            assert time.process_time() - started < LIMIT_S
        view = d.app.screen.query_one("#approval-diff")
        assert max(map(len, view.plain_text.split("\n"))) < 2100
        started = time.process_time()
        await d.pilot.press("pagedown", "end", "pageup", "home")
        await d.pilot.resize_terminal(70, 30)
        await d.pilot.pause()
        assert time.process_time() - started < LIMIT_S
        assert "big.md" in d.screen_text()
