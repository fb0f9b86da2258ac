import json
import re
import shutil
import subprocess
import sys

import pytest

from tests.house.sources import ROOT, text

PAGE = "docs/results.md"
CHECK = [sys.executable, "scripts/write_results.py", "--check"]


def check(root):
    return subprocess.run(CHECK, cwd=root, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path):
    """The page, its documents and its scripts, to be changed."""
    for folder in ("scripts", "docs/results"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / PAGE, tmp_path / PAGE)
    return tmp_path


def test_the_figures_of_the_page_are_those_of_the_documents():
    result = check(ROOT)
    assert result.returncode == 0, result.stderr


def test_every_question_has_its_figures_commands_and_reason():
    page = text(ROOT / PAGE)
    sections = re.split(r"^## \d+\. ", page.partition("## What replay cannot show")[0], flags=re.M)
    assert len(sections) == 11
    for section in sections[1:]:
        for part in (
            "**The paper:**",
            "**Here:**",
            "**Why it differs:**",
            "agspec-tui replay",
            "|",
        ):
            assert part in section


def test_another_figure_in_the_page_is_noticed(copy):
    page = copy / PAGE
    page.write_text(re.sub(r"×1\.\d\d", "×9.99", page.read_text(), count=1))
    result = check(copy)
    assert (result.returncode, "make results" in result.stderr) == (1, True)


def test_another_figure_in_a_document_is_noticed(copy):
    document = copy / "docs/results/global-session.json"
    report = json.loads(document.read_text())
    for row in report["rows"]:
        row["accept_length"] += 1
    document.write_text(json.dumps(report))
    assert check(copy).returncode == 1


def test_without_documents_nothing_is_written(copy):
    (copy / "docs/results/main.json").unlink()
    result = subprocess.run(CHECK[:2], cwd=copy, capture_output=True, text=True)
    assert result.returncode == 2
    assert (
        result.stderr == "error: there is no docs/results/main.json (run: make results TRACES=…)\n"
    )
