import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import ROOT, files, text

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
DEFINITION = "mean of A + 1 over steps"
MAKE_TARGET = re.compile(r"\bmake ([a-z][a-z-]*)")


def pages() -> list[Path]:
    """Documents for people; prompts and samples are not."""
    return [path for path in files(".md") if path.parts[0] not in ("agents", "examples", "tests")]


def prose(path: Path) -> str:
    """A page without its code blocks."""
    return FENCE.sub("", text(path))


def anchors(path: Path) -> set[str]:
    """Anchors of a page's headings, made as code hosts make them."""
    titles = HEADING.findall(prose(path))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_and_pictures_exist():
    broken = []
    for page in pages():
        for target in LINK.findall(prose(page)):
            if "://" in target or target.startswith("mailto:"):
                continue
            name, _, anchor = target.partition("#")
            linked = (page.parent / name) if name else page
            if not (ROOT / linked).exists():
                broken.append(f"{page}: {target}")
            elif anchor and anchor not in anchors(linked):
                broken.append(f"{page}: {target} (no such heading)")
    assert broken == []


def test_the_readme_shows_a_picture():
    assert re.search(r"!\[[^\]]+\]\(docs/images/[\w-]+\.svg\)", text(Path("README.md")))


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_accept_length_is_defined_where_it_is_named(page):
    flat = " ".join(text(Path(page)).replace("*", "").split())
    assert "accept length" in flat.lower()
    assert DEFINITION in flat


def test_quoted_help_is_the_real_help():
    result = subprocess.run(
        [sys.executable, "scripts/update_docs.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr


def test_every_command_is_in_the_reference():
    listing = subprocess.run(
        [str(Path(sys.executable).parent / "agspec-tui"), "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    commands = re.findall(r"^  ([a-z][\w-]*)  ", listing.partition("Commands:")[2], re.MULTILINE)
    quoted = set(re.findall(r"<!-- help: agspec-tui ([\w-]+)", text(Path("docs/cli.md"))))
    assert commands, listing
    assert set(commands) <= quoted


def test_every_make_target_that_a_page_names_exists():
    makefile = text(Path("Makefile"))
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {
        target
        for page in pages()
        for span in re.findall(r"`[^`\n]+`|^```.*?^```", text(page), re.MULTILINE | re.DOTALL)
        for target in MAKE_TARGET.findall(span)
    }
    assert named, "no page names a target"
    assert named - targets == set()


def test_every_make_target_for_people_says_what_it_does():
    makefile = text(Path("Makefile"))
    phony = set(re.findall(r"^\.PHONY: ([a-z-]+)", makefile, re.MULTILINE))
    described = set(re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE))
    assert phony - described == {"always", "pull-test"}


def test_the_changelog_keeps_the_known_form():
    changelog = text(Path("CHANGELOG.md"))
    assert changelog.startswith("# Changelog\n")
    assert "\n## [Unreleased]\n" in changelog
    kinds = set(re.findall(r"^### (\w+)", changelog, re.MULTILINE))
    assert kinds
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_decisions_fit_on_a_page_and_are_numbered_without_gaps():
    decisions = sorted(files(".md", under="docs/adr"))
    numbers = [int(path.name.partition("-")[0]) for path in decisions]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [str(path) for path in decisions if len(text(path).splitlines()) > 60] == []
