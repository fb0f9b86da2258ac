import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.sources import nodes, package_python, tree

ENDS = (".", "…", ".)")
RECORD_BASES = {"Struct", "NamedTuple", "TypedDict"}
FRAMEWORK_HOOKS = ("on_", "watch_", "validate_", "compute_", "compose", "render", "get_", "action_")
"""Methods whose meaning the screen library fixes; only under tui/."""


def base_names(node: ast.ClassDef) -> set[str]:
    """Last part of each base class's name."""
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


def is_dataclass(node: ast.ClassDef) -> bool:
    """True if it carries the dataclass decorator in any spelling."""
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def records() -> Iterator[tuple[Path, ast.ClassDef]]:
    """Every struct, dataclass and named tuple of the package, through their base classes."""
    classes = [(path, node) for path in package_python() for node in nodes(path, ast.ClassDef)]
    known = set(RECORD_BASES)
    while True:
        grown = known | {node.name for _, node in classes if base_names(node) & known}
        if grown == known:
            break
        known = grown
    for path, node in classes:
        if node.name in known or is_dataclass(node):
            yield path, node


def is_text(node: ast.stmt | None) -> bool:
    """True for a statement that is a string: a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def sentences(node: ast.ClassDef) -> Iterator[tuple[str, int, str]]:
    """Public fields with the sentence under each, empty if there is none."""
    for field, below in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if field.target.id.startswith("_") or "ClassVar" in ast.unparse(field.annotation):
            continue
        yield field.target.id, field.lineno, below.value.value if is_text(below) else ""


def test_every_field_has_a_sentence():
    fields = [
        (f"{path}:{line} {node.name}.{name}", sentence)
        for path, node in records()
        for name, line, sentence in sentences(node)
    ]
    assert len(fields) > 100, "the rule does not see the events"
    assert [field for field, sentence in fields if not sentence.strip().endswith(ENDS)] == []


def test_events_commands_and_settings_are_among_the_records():
    seen = {node.name for _, node in records()}
    assert {"StepCommitted", "Generate", "Config"} <= seen


def public(body: list[ast.stmt], path: Path) -> Iterator[ast.stmt]:
    """Public classes, functions and methods, those nested in functions left out."""
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        is_hook = "tui" in path.parts and node.name.startswith(FRAMEWORK_HOOKS)
        overrides = any("overrid" in ast.unparse(d) for d in node.decorator_list)
        if node.name.startswith("_") or is_hook or overrides:
            continue
        yield node
        if isinstance(node, ast.ClassDef):
            yield from public(node.body, path)


def test_everything_public_has_a_docstring():
    missing = [
        f"{path}:{node.lineno} {node.name}"
        for path in package_python()
        for node in public(tree(path).body, path)
        if ast.get_docstring(node) is None
    ]
    assert missing == []
