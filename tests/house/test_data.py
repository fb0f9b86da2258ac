import re
import tomllib
from importlib.resources import files as resources
from pathlib import Path

import pytest

from tests.house.sources import ROOT, data_folders, files, text

COLOUR_PROPERTY = re.compile(
    r"^(color|background|tint|background-tint|border|outline|hatch|keyline|link-|scrollbar-|"
    r"text-style-|auto-color)"
)
COLOUR_LITERAL = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl)a?\(")
NEVER_A_COLOUR = {"transparent", "auto", "none", "initial"}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DECLARATION = re.compile(r"([a-z][\w-]*)\s*:\s*([^;{}]+);")


def colour_names() -> set[str]:
    """Every colour that the screen library knows by name."""
    from textual.color import COLOR_NAME_TO_RGB

    return set(COLOR_NAME_TO_RGB)


def literal_colours(sheet: str) -> list[str]:
    """Declarations of a style sheet that name a colour instead of a variable."""
    known = colour_names()
    found = []
    for name, value in DECLARATION.findall(COMMENT.sub("", sheet)):
        plain = re.sub(r"\$[\w-]+", " ", value)
        by_name = set(re.findall(r"[a-z_]+", plain)) & known - NEVER_A_COLOUR
        if COLOUR_LITERAL.search(plain) or (COLOUR_PROPERTY.match(name) and by_name):
            found.append(f"{name}: {value.strip()}")
    return found


@pytest.mark.parametrize("folder", ["agents", "themes"])
def test_every_toml_file_parses(folder):
    for path in files(".toml", under=folder):
        assert tomllib.loads(text(path)), path


def test_every_role_has_its_prompt_beside_it():
    roles = {path.stem for path in files(".toml", under="agents")} - {"team"}
    prompts = {path.stem for path in files(".md", under="agents")}
    assert {"planner", "coder", "executor"} <= roles
    assert roles <= prompts


def test_style_sheets_name_colours_by_variable_only():
    wrong = {str(path): found for path in files(".tcss") if (found := literal_colours(text(path)))}
    assert wrong == {}


@pytest.mark.parametrize(
    ("sheet", "n_wrong"),
    [
        ("#id { color: $text; border: round $panel; }", 0),
        ("X { background: #ff0000; }", 1),
        ("X { color: red 50%; } /* color: red; */", 1),
        ("X { border-left: thick rgb(1, 2, 3); }", 1),
        ("X { background: transparent; layout: grid; }", 0),
        ("X { color: $green-on-red; }", 0),
    ],
)
def test_the_colour_rule_sees_literals(sheet, n_wrong):
    assert len(literal_colours(sheet)) == n_wrong


def test_no_code_opens_data_beside_its_own_file():
    beside = [str(path) for path in files(".py", under="agspec_tui") if "__file__" in text(path)]
    assert beside == []


def test_samples_have_an_issue_and_a_bug_to_fix():
    samples = sorted(
        path.parent for path in files(".md", under="examples") if path.name == "ISSUE.md"
    )
    assert len(samples) >= 3
    for sample in samples:
        assert len(sample.parts) == 2, sample
        assert text(sample / "ISSUE.md").strip(), sample
        assert any("test" in path.name for path in (ROOT / sample).rglob("*")), sample


def test_data_folders_are_mapped_into_the_package():
    expected = {"agents", "themes", "profiles", "bench/prompts", "examples"}
    assert expected == set(data_folders())


@pytest.mark.parametrize("folder", data_folders())
def test_a_data_folder_lies_outside_the_package_and_is_found_through_it(folder):
    place = data_folders()[folder]
    assert not (ROOT / place).exists()
    names = {path.name for path in (ROOT / folder).iterdir() if not path.name.startswith(".")}
    assert names
    found = resources("agspec_tui").joinpath(*Path(place).parts[1:])
    assert {entry.name for entry in found.iterdir()} >= names


@pytest.mark.parametrize("folder", ["agents", "themes"])
def test_roles_and_themes_are_data_not_code(folder):
    assert not list((ROOT / folder).rglob("*.py"))
