import ast
from pathlib import Path

import pytest

from tests.house.sources import nodes, own_python, package_python

BOUNDARIES = {
    "agspec_tui/session/session.py": "turn boundary",
    "agspec_tui/engine/child.py": "engine process boundary",
    "agspec_tui/tui/bridge.py": "UI bridge",
}
BROAD = {"Exception", "BaseException"}


def caught(handler: ast.ExceptHandler) -> set[str]:
    """Names of the exceptions a handler catches; `bare` if it names none."""
    if handler.type is None:
        return {"bare"}
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {ast.unparse(kind).rpartition(".")[2] for kind in kinds}


def raises_again(handler: ast.ExceptHandler) -> bool:
    """True if the handler only cleans up: it ends in a bare `raise`."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def broad_handlers(path: Path) -> list[int]:
    """Lines of the handlers of a file that catch bugs and go on."""
    return [
        handler.lineno
        for handler in nodes(path, ast.ExceptHandler)
        if caught(handler) & (BROAD | {"bare"}) and not raises_again(handler)
    ]


def test_bugs_are_caught_at_the_three_boundaries_only():
    astray = [
        f"{path}:{line}"
        for path in own_python()
        if str(path) not in BOUNDARIES
        for line in broad_handlers(path)
    ]
    assert astray == []


@pytest.mark.parametrize("path", BOUNDARIES)
def test_each_boundary_catches_bugs(path):
    assert broad_handlers(Path(path))


def test_no_exception_is_swallowed_in_silence():
    silent = [
        f"{path}:{node.lineno}"
        for path in package_python()
        for node in nodes(path, ast.Call)
        if ast.unparse(node.func).endswith("suppress")
        and {ast.unparse(argument) for argument in node.args} & BROAD
    ]
    assert silent == []
