"""Themes: `themes/*.toml` palettes become Textual themes; what a palette leaves out is derived."""

import msgspec
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from agspec_tui import resources
from agspec_tui.errors import AgspecError, ThemeError

DEFAULT = "agspec-dark"
"""The theme that is used when another cannot be."""
STYLESHEETS = ("main.tcss", "screens.tcss")
"""Structure, without a colour of its own."""


SEMANTIC = (
    "draft-accepted",
    "draft-accepted-background",
    "diff-added",
    "diff-added-background",
    "diff-removed",
    "diff-removed-background",
    "diff-hunk",
    "role-planner",
    "role-coder",
    "role-executor",
    "role-other",
    "badge-foreground",
    "muted",
    "rule",
)
"""Names of our own colour variables."""


class Palette(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One theme file. Only `primary` must be given."""

    primary: str
    """Colour of what is active: focus, bars, keys."""
    secondary: str | None = None
    """Second colour of emphasis."""
    accent: str | None = None
    """Colour that stands apart from both."""
    warning: str | None = None
    """Colour of warnings."""
    error: str | None = None
    """Colour of errors and removed lines."""
    success: str | None = None
    """Colour of success and added lines."""
    foreground: str | None = None
    """Colour of text."""
    background: str | None = None
    """Colour behind everything."""
    surface: str | None = None
    """Colour behind what stands on the background."""
    panel: str | None = None
    """Colour behind the header and the footer."""
    dark: bool = True
    """True if text is lighter than the background."""
    ansi: bool = False
    """True if the colours are the terminal's own, `ansi_blue` and the like."""
    variables: dict[str, str] = {}
    """Semantic colours by name, see `derived`, and colour variables of Textual."""


_ANSI_VARIABLES = BUILTIN_THEMES["ansi-dark"].variables
"""What Textual's own stylesheets ask of a theme with the terminal's colours."""
_NO_COLOURS = ("dark", "ansi", "variables")
_COLOURS = tuple(name for name in Palette.__struct_fields__ if name not in _NO_COLOURS)


def derived(theme: Theme) -> dict[str, str]:
    """Every semantic colour, made from the base colours of a theme.

    Serves the app's variable defaults, so that any theme works, Textual's own included.
    """
    base = theme.to_color_system().generate()

    def pick(name: str) -> str:
        return base[name]

    return {
        "draft-accepted": pick("foreground"),
        "draft-accepted-background": _tint(base, "primary", 0.20) or pick("background"),
        "diff-added": pick("text-success"),
        "diff-added-background": _tint(base, "success", 0.10) or pick("background"),
        "diff-removed": pick("text-error"),
        "diff-removed-background": _tint(base, "error", 0.10) or pick("background"),
        "diff-hunk": pick("text-accent"),
        "role-planner": pick("text-warning"),
        "role-coder": pick("text-primary"),
        "role-executor": pick("text-success"),
        "role-other": pick("text-accent"),
        "badge-foreground": pick("background"),
        "muted": _tint(base, "foreground", 0.72) or pick("foreground"),
        "rule": _tint(base, "foreground", 0.18) or pick("panel"),
    }


def read(name: str) -> Theme:
    """Read one theme by the stem of its file; a user's file wins over a built-in one.

    Raises:
        ThemeError: no such file, not TOML, or a key or colour in it is wrong.
    """
    try:
        raw = resources.find("themes", f"{name}.toml").read_bytes()
        palette = msgspec.toml.decode(raw, type=Palette)
    except AgspecError as error:
        raise ThemeError(f"theme {name}: {error.message}", error.hint) from error
    except (OSError, msgspec.DecodeError) as error:
        raise ThemeError(
            f"theme {name}: {error}", f"known keys: {', '.join(Palette.__struct_fields__)}"
        ) from error
    colours = {key: getattr(palette, key) for key in _COLOURS}
    _check(name, {key: value for key, value in colours.items() if value is not None})
    theme = Theme(name=name, dark=palette.dark, ansi=palette.ansi, **colours)
    known = {*SEMANTIC, *theme.to_color_system().generate()}
    unknown = sorted(key for key in palette.variables if key not in known)
    if unknown:
        raise ThemeError(
            f"theme {name}: unknown variable {unknown[0]}", f"ours are {', '.join(SEMANTIC)}"
        )
    _check(name, palette.variables)
    theme.variables = {**(_ANSI_VARIABLES if palette.ansi else {}), **palette.variables}
    return theme


def load_all() -> tuple[list[Theme], list[ThemeError]]:
    """All themes that can be read, the default first, and what is wrong with the others."""
    themes: list[Theme] = []
    errors: list[ThemeError] = []
    for name in sorted(
        resources.names("themes", ".toml"), key=lambda stem: (stem != DEFAULT, stem)
    ):
        try:
            themes.append(read(name))
        except ThemeError as error:
            errors.append(error)
    return themes, errors


def stylesheets() -> list[tuple[str, str]]:
    """Name and text of each stylesheet."""
    return [(name, resources.find("themes", name).read_text("utf-8")) for name in STYLESHEETS]


def _check(name: str, colours: dict[str, str]) -> None:
    for key, value in colours.items():
        try:
            Color.parse(value)
        except ColorParseError as error:
            raise ThemeError(
                f"theme {name}: {key} = {value!r} is no colour", "write it like #7aa2f7"
            ) from error


def _tint(base: dict[str, str], name: str, share: float) -> str:
    """A share of one colour over the background; empty where the terminal owns the colours."""
    background, colour = Color.parse(base["background"]), Color.parse(base[name])
    if background.ansi is not None or colour.ansi is not None:
        return ""
    return background.blend(colour, share).hex
