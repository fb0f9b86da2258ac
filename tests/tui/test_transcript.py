from textual.app import App
from textual.events import MouseScrollUp

from agspec_tui.tui.lines import line
from agspec_tui.tui.widgets.transcript import Transcript
from tests.tui.driving import driven


def numbered(n: int, start: int = 0) -> list:
    return [line(f"line {number}") for number in range(start, start + n)]


async def test_the_end_is_followed_until_the_reader_scrolls_up():
    async with driven() as d:
        view = d.transcript
        view.extend(numbered(200))
        await d.pilot.pause()
        assert view.scroll_offset.y == view.max_scroll_y > 0
        await d.pilot.press("pageup")
        await d.pilot.pause()
        at = view.scroll_offset.y
        assert at < view.max_scroll_y
        view.extend(numbered(50, 200))
        await d.pilot.pause()
        assert view.scroll_offset.y == at
        assert "End follows" in d.screen_text()
        await d.pilot.press("end")
        view.extend(numbered(50, 250))
        await d.pilot.pause()
        assert view.scroll_offset.y == view.max_scroll_y
        assert "line 299" in d.screen_text()
        assert "End follows" not in d.screen_text()


async def test_paging_to_the_end_follows_again():
    async with driven() as d:
        view = d.transcript
        view.extend(numbered(60))
        await d.pilot.press("pageup", "pagedown", "pagedown", "pagedown")
        view.extend(numbered(60, 60))
        await d.pilot.pause()
        assert view.scroll_offset.y == view.max_scroll_y


async def test_the_wheel_scrolls_the_transcript_over_the_prompt_too():
    async with driven() as d:
        view = d.transcript
        view.extend(numbered(200))
        await d.pilot.pause()
        end = view.scroll_offset.y
        prompt = d.main.query_one("#prompt")
        await d.pilot._post_mouse_events([MouseScrollUp], prompt)
        await d.pilot.pause()
        assert view.scroll_offset.y < end
        assert prompt.text == ""


async def test_streamed_text_grows_one_line_and_breaks_at_line_feeds():
    async with driven() as d:
        before = d.transcript.n_lines
        for text in ("def f", "(x):\n", "    retu", "rn x\n", "\n# end"):
            d.transcript.stream(text)
        assert d.transcript.plain_text.split("\n")[before:] == [
            "def f(x):",
            "    return x",
            "",
            "# end",
        ]


async def test_memory_is_bounded_and_the_loss_is_told():
    class Holder(App):
        def compose(self):
            yield Transcript(max_lines=100)

    app = Holder()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(Transcript)
        for start in range(0, 1000, 7):
            view.extend(numbered(7, start))
        await pilot.pause()
        assert view.n_lines <= 100
        first, second, *_, last = view.plain_text.split("\n")
        n_dropped = int(first.split()[1])
        assert second == f"line {n_dropped}"
        assert last == "line 1000"


async def test_text_is_wrapped_anew_when_the_width_changes():
    async with driven(size=(120, 40)) as d:
        d.transcript.extend([line("word " * 60)])
        await d.pilot.resize_terminal(60, 30)
        await d.pilot.pause()
        assert d.transcript.virtual_size.width <= 60
        assert d.transcript.scroll_offset.y == d.transcript.max_scroll_y


async def test_a_reader_stays_at_the_line_while_all_is_wrapped_anew():
    async with driven(size=(120, 40)) as d:
        view = d.transcript
        view.extend(line(f"{number} " + "x" * 70) for number in range(4_000))
        await d.pilot.pause()
        view.scroll_to_line(1_001)
        await d.pilot.pause()
        await d.pilot.resize_terminal(70, 40)
        for _ in range(100):
            await d.pilot.pause(0.05)
            if view.virtual_size.height > 2 * 4_000:
                break
        assert view.virtual_size.height > 2 * 4_000
        await d.pilot.pause()
        assert "".join(one.text for one in view.render_line(0)).lstrip().startswith("1000 x")
        assert not view.following
        view.action_follow()
        await d.pilot.pause()
        assert "3999 x" in d.screen_text()


async def test_marks_can_be_switched_off_and_on():
    async with driven() as d:
        d.transcript.stream("drafted", "accepted")
        d.transcript.stream(" own")
        await d.pilot.press("f2")
        await d.pilot.pause()
        plain = d.transcript._style("accepted")
        await d.pilot.press("f2")
        marked = d.transcript._style("accepted")
        assert plain == d.transcript.rich_style != marked


async def test_shown_text_can_be_selected_and_copied():
    async with driven() as d:
        d.transcript.extend([line("copy me")])
        d.main.text_select_all()
        text = d.main.get_selected_text()
        assert text is not None
        assert "copy me" in text
