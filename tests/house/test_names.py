import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.sources import files, nodes, own_python, package_python, project_files, text

BANNED_MODULES = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc"}
BANNED_WORDS = {
    *("speculator", "speculators", "predictor", "predictors", "guess", "guesses", "guesser"),
    *("iteration", "iterations", "bot", "bots"),
}
COUNT_OR_TIME = re.compile(r"^num_|_count$|_(ms|secs?|seconds|msecs?|usecs?)$")
PRESCRIBED = {"num_pred_tokens", "num_speculative_tokens", "num_tokens_no_spec"}
"""Names in the interfaces of the programs that the adapters serve."""
CPP_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)


def words(identifier: str) -> set[str]:
    """`{"accept", "length"}` of `accept_length` and of `AcceptLength`."""
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", identifier)
    return {word for word in split.lower().split("_") if word}


def values(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of every parameter, variable and field of a Python file."""
    for node in nodes(path, ast.arg, ast.Name, ast.Attribute):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr


def defined(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of everything a Python file gives a name to."""
    yield from values(path)
    for node in nodes(path, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef):
        yield node.lineno, node.name


def test_no_module_or_folder_has_a_name_that_says_nothing():
    vague = [
        str(path)
        for path in project_files()
        if path.parts[0] != "examples"
        and any(part.partition(".")[0].lower() in BANNED_MODULES for part in path.parts)
    ]
    assert vague == []


def test_python_names_are_the_words_of_the_field():
    wrong = [
        f"{path}:{line} {name}"
        for path in own_python()
        for line, name in defined(path)
        if words(name) & BANNED_WORDS
    ]
    assert wrong == []


def test_cpp_names_are_the_words_of_the_field():
    wrong = [
        f"{path} {name}"
        for path in files(".cpp", ".hpp", under="native")
        for name in re.findall(r"[A-Za-z_]\w*", CPP_NOISE.sub(" ", text(path)))
        if words(name) & BANNED_WORDS
    ]
    assert wrong == []


def test_counts_begin_with_n_and_times_end_in_s_or_us():
    wrong = [
        f"{path}:{line} {name}"
        for path in package_python()
        for line, name in values(path)
        if COUNT_OR_TIME.search(name) and name not in PRESCRIBED
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("accept_length", {"accept", "length"}),
        ("SuffixAutomaton", {"suffix", "automaton"}),
        ("_bottom", {"bottom"}),
        ("ChatBot", {"chat", "bot"}),
    ],
)
def test_words_splits_both_styles(identifier, expected):
    assert words(identifier) == expected
