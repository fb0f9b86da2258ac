import pytest
from rich.color import ColorType
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from agspec_tui.errors import ThemeError
from agspec_tui.events import TaskFinished
from agspec_tui.tui.theme import DEFAULT, SEMANTIC, derived, load_all, read
from tests.tui.driving import driven

OURS = ("agspec-dark", "agspec-light", "high-contrast")
PAIRS = [
    ("foreground", "background"),
    ("foreground", "panel"),
    ("foreground", "surface"),
    ("muted", "background"),
    ("muted", "panel"),
    ("muted", "surface"),
    ("draft-accepted", "draft-accepted-background"),
    ("diff-added", "diff-added-background"),
    ("diff-removed", "diff-removed-background"),
    ("diff-hunk", "background"),
    ("role-planner", "background"),
    ("role-coder", "background"),
    ("role-executor", "background"),
    ("role-other", "background"),
    ("badge-foreground", "role-planner"),
    ("badge-foreground", "role-coder"),
    ("badge-foreground", "role-executor"),
    ("text-error", "background"),
    ("text-warning", "background"),
    ("text-success", "background"),
    ("background", "error"),
]


def colours(theme: Theme) -> dict[str, str]:
    return {**derived(theme), **theme.to_color_system().generate(), **theme.variables}


def luminance(colour: Color) -> float:
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_can_be_read(name, text, ground):
    known = colours(read(name))
    light, dark = sorted(
        (luminance(Color.parse(known[text])), luminance(Color.parse(known[ground]))), reverse=True
    )
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_the_built_in_themes_are_found_the_default_first():
    themes, errors = load_all()
    assert [theme.name for theme in themes] == [DEFAULT, *OURS[1:], "terminal"]
    assert errors == []


@pytest.mark.parametrize("theme", [*BUILTIN_THEMES.values(), Theme(name="x", primary="#336699")])
def test_every_semantic_colour_is_derived_for_any_theme(theme):
    assert tuple(derived(theme)) == SEMANTIC


def write_theme(home, name, text):
    folder = home / "themes"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.toml").write_text(text)


async def test_a_theme_of_three_lines_works(own_home):
    write_theme(
        own_home, "mine", 'primary = "#ff8800"\nbackground = "#101010"\nforeground = "#eeeeee"\n'
    )
    async with driven(theme="mine") as d:
        assert d.app.theme == "mine"
        assert not d.app._notifications


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("primary = 3\n", "Expected `str`"),
        ('background = "#000000"\n', "primary"),
        ('primary = "reddish"\n', "'reddish' is no colour"),
        ('primary = "#ff8800"\nnonsense = "#fff"\n', "nonsense"),
        ('primary = "#ff8800"\n[variables]\nnonsense = "#fff"\n', "unknown variable nonsense"),
        ('primary = "#ff8800"\n[variables]\nrule = "solid"\n', "rule = 'solid' is no colour"),
        ("primary = [\n", "theme mine"),
        ("\xff", "theme mine"),
    ],
)
async def test_a_broken_theme_is_one_notification_and_the_default_is_used(own_home, text, part):
    folder = own_home / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(ThemeError, match="theme mine") as caught:
        read("mine")
    assert part in caught.value.message
    async with driven(theme="mine") as d:
        assert d.app.theme == DEFAULT
        assert len(d.app._notifications) == 1


async def test_an_unknown_theme_is_told_with_those_there_are():
    async with driven(theme="nowhere") as d:
        assert d.app.theme == DEFAULT
        (note,) = d.app._notifications
        assert all(name in note.message for name in OURS)


@pytest.mark.parametrize("name", ["textual-light", "ansi-dark", "ansi-light"])
async def test_textuals_own_themes_work_too(name):
    async with driven(theme=name) as d:
        d.source.step(60)
        await d.draw()
        assert d.app.theme == name
        assert "accept length" in d.screen_text()


async def test_without_colour_accepted_text_is_underlined(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with driven() as d:
        assert d.transcript._style("accepted").underline
        d.source.step(60)
        await d.draw()
        colours = {
            segment.style.color.triplet
            for strip in d.app.screen._compositor.render_strips()
            for segment in strip.apply_filter(d.app._filters[-1], Color(0, 0, 0))
            if segment.style and segment.style.color and segment.style.color.triplet
        }
        assert all(max(triplet) - min(triplet) <= 2 for triplet in colours)


async def test_with_colour_accepted_text_is_not_underlined():
    async with driven() as d:
        assert not d.transcript._style("accepted").underline


async def test_the_terminals_own_colours_are_left_to_it():
    async with driven() as d:
        assert not d.app.native_ansi_color
        d.app.theme = "terminal"
        await d.play_until(TaskFinished)
        await d.pilot.pause()
        assert d.app.native_ansi_color
        view = d.main.query_one("#transcript")
        seen = {segment.style for y in range(20) for segment in view.render_line(y)}
        colours = {one for style in seen if style for one in (style.color, style.bgcolor) if one}
        assert colours
        assert all(one.type in (ColorType.DEFAULT, ColorType.STANDARD) for one in colours)
