"""Texts of hundreds of kilobytes on the screen: lines are cut, and the screen goes on."""

import pytest

from agspec_tui.events import (
    ApprovalRequested,
    EditProposed,
)
from agspec_tui.forms.diff import unified
from agspec_tui.forms.types import FileChange
from agspec_tui.tui.widgets.transcript import Transcript
from tests.tui.driving import driven

MARKDOWN = "".join(
    f"## Part {n}\n\n*text* `code` [link](x{n})\n\n```py\nx = {n}\n```\n\n" for n in range(4000)
)
TEXTS = {
    "Markdown": MARKDOWN,
    "minified": "var a=0;" + "f(a,b);" * 40_000 + "\n",
    "wide and hidden": "naïve ☃ 日本語\u202e\x1b[2J" * 13_000 + "\n",
}


def proposals(text):
    diff = unified([FileChange("big.md", b"old\n", text.encode())])
    yield EditProposed(turn=1, role="coder", form="whole", files=("big.md",), diff=diff)
    yield ApprovalRequested(call_id=9, asks="edit", summary="big.md", diff=diff)


@pytest.mark.parametrize("what", TEXTS)
async def test_d11_a_large_text_is_drawn_by_the_rows_that_are_seen(what, monkeypatch):
    drawn = []
    whole = Transcript.render_line

    def counted(self, y):
        drawn.append(y)
        return whole(self, y)

    monkeypatch.setattr(Transcript, "render_line", counted)
    assert len(TEXTS[what]) > 200_000
    async with driven() as d:
        for event in proposals(TEXTS[what]):
            await d.show(event)
        view = d.app.screen.query_one("#approval-diff")
        assert max(map(len, view.plain_text.split("\n"))) < 2100
        n_lines = len(view.plain_text.split("\n"))
        drawn.clear()
        await d.pilot.press("pagedown", "end", "pageup", "home")
        await d.pilot.resize_terminal(70, 30)
        await d.pilot.pause()
        assert drawn
        if what == "Markdown":  # of many lines: scrolling animates, and still draws far fewer
            assert n_lines > 20_000
            assert len(drawn) < n_lines
        assert "big.md" in d.screen_text()
