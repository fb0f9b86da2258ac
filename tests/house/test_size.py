import ast
import re
from pathlib import Path

import pytest

from tests.house.sources import files, nodes, own_python, text

MOST_LINES = 400
MOST_FUNCTION_LINES = 60

CPP_FUNCTION = re.compile(r"^(?!namespace|class|struct|enum|extern)[A-Za-z\[].*\)[^;]*\{$")


@pytest.mark.parametrize("suffix", [".py", ".cpp", ".hpp", ".tcss"])
def test_no_file_is_too_long(suffix):
    long = {
        str(path): n_lines
        for path in files(suffix)
        if (n_lines := len(text(path).splitlines())) > MOST_LINES
    }
    assert long == {}


def test_no_python_function_is_too_long():
    long = {
        f"{path}:{node.lineno} {node.name}": n_lines
        for path in own_python()
        for node in nodes(path, ast.FunctionDef, ast.AsyncFunctionDef)
        if (n_lines := node.end_lineno - node.lineno + 1) > MOST_FUNCTION_LINES
    }
    assert long == {}


def cpp_functions(path: Path) -> dict[str, int]:
    """Lines of each function at namespace level: from its opening line to a brace in column 0."""
    found = {}
    opened = None
    for number, line in enumerate(text(path).splitlines(), 1):
        if opened is None and CPP_FUNCTION.match(line):
            opened = (number, line)
        elif opened is not None and line.startswith("}"):
            found[f"{path}:{opened[0]} {opened[1]}"] = number - opened[0] + 1
            opened = None
    return found


def test_no_cpp_function_is_too_long():
    lengths = {
        name: n_lines for path in files(".cpp") for name, n_lines in cpp_functions(path).items()
    }
    assert lengths, "the rule found no function to look at"
    long = {name: n_lines for name, n_lines in lengths.items() if n_lines > MOST_FUNCTION_LINES}
    assert long == {}
