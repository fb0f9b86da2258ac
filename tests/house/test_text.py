import re

import pytest

from tests.house.sources import ROOT, project_files

TEXT = {
    *(".py", ".pyi", ".md", ".toml", ".sh", ".cpp", ".hpp", ".txt", ".tcss", ".gbnf", ".json"),
    *(".jsonl", ".svg", ".cfg", ".ini", ".yml", ".yaml", ""),
}
# The patterns are put together from halves, so that this file does not find itself. The home of
# `me` is nobody's: examples may name it.
MACHINE_PATH = re.compile(
    "|".join(
        [
            "/" + "work/",
            "/" + "root/",
            "/" + r"home/(?!me/)\w",
            "/" + r"Users/(?!me/)\w",
            "/" + "tmp/w/",
        ]
    )
)
REGISTRY_HOST = re.compile(
    "|".join(
        [
            *("pypi" + r"\.org", "python" + r"hosted\.org", "hugging" + r"face\.co\b"),
            *(
                "npm" + r"js\.(?:org|com)",
                "debian" + r"\.org",
                "docker" + r"\.io",
                "gh" + r"cr\.io",
            ),
            *("crates" + r"\.io", "proxy" + r"\.golang\.org"),
        ]
    )
)
UNFINISHED = re.compile("|".join([r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bXX" + r"X\b"]))
CONFLICT = re.compile("^(<" + "<<<<<< |>" + ">>>>>> )", re.MULTILINE)


def lines_with(pattern: re.Pattern[str], *, skip: tuple[str, ...] = ()) -> list[str]:
    """`path:line` of every hit in the project's text files."""
    found = []
    for path in project_files():
        if path.suffix not in TEXT or str(path).startswith(skip):
            continue
        content = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        found += [
            f"{path}:{number} {line.strip()[:80]}"
            for number, line in enumerate(content.splitlines(), 1)
            if pattern.search(line)
        ]
    return found


@pytest.mark.parametrize(
    ("pattern", "skip"),
    [
        pytest.param(MACHINE_PATH, (), id="paths of one machine"),
        pytest.param(REGISTRY_HOST, (), id="registry hosts"),
        pytest.param(UNFINISHED, (), id="unfinished work"),
        pytest.param(CONFLICT, ("agspec_tui/forms/", "tests/forms/"), id="merge conflicts"),
    ],
)
def test_no_text_file_holds(pattern, skip):
    assert lines_with(pattern, skip=skip) == []


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (MACHINE_PATH, "open('/" + "home/ann/x')"),
        (REGISTRY_HOST, "https://" + "pypi" + ".org/simple"),
        (UNFINISHED, "# TO" + "DO: later"),
        (CONFLICT, "<" + "<<<<<< HEAD"),
    ],
)
def test_the_patterns_see_what_they_are_for(pattern, line):
    assert pattern.search(line)


def test_files_end_in_one_newline_and_lines_in_no_blank():
    wrong = []
    for path in project_files():
        if path.suffix not in {".py", ".pyi", ".toml", ".sh", ".cpp", ".hpp", ".tcss"}:
            continue
        content = (ROOT / path).read_text(encoding="utf-8")
        if path.parts[0] == "examples" or not content:
            continue
        if not content.endswith("\n") or content.endswith("\n\n"):
            wrong.append(f"{path}: end of file")
        if re.search(r"[ \t]+$", content, re.MULTILINE):
            wrong.append(f"{path}: blank at the end of a line")
    assert wrong == []
