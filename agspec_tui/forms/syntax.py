"""Whether a file that parsed before an edit still parses after it, told by tree-sitter."""

import ast
import warnings
from functools import cache

from tree_sitter import Node, Parser

from agspec_tui.errors import EditError
from agspec_tui.forms.grammars import grammar_of, language
from agspec_tui.forms.text import decode

_MAX_BYTES = 1_000_000
_N_AROUND = 3


def refuse_broken(path: str, before: bytes | None, after: bytes | None) -> None:
    """Refuse an edit after which a file that parsed no longer does.

    New and deleted files, files that did not parse before, languages without a grammar and files
    above 1 MB are left alone.

    Raises:
        EditError: the file is broken; the message names the line, `detail` the lines around it.
    """
    grammar = grammar_of(path)
    if not grammar or before is None or after is None or max(len(before), len(after)) > _MAX_BYTES:
        return
    lines = decode(after).lines
    place = _first_error(grammar, lines)
    if place is None or _first_error(grammar, decode(before).lines) is not None:
        return
    line, what = place
    low, high = max(0, line - _N_AROUND), min(len(lines), line + _N_AROUND + 1)
    shown = "\n".join(f"{i + 1:>5}  {lines[i][:120]}" for i in range(low, high))
    raise EditError(
        f"{path}: after the edit line {line + 1} is no valid {grammar}: {what}",
        "the file was fine before: close what is opened, keep the indentation",
        f"the file after the edit:\n{shown}",
    )


def _first_error(grammar: str, lines: tuple[str, ...]) -> tuple[int, str] | None:
    """Line, from 0, and kind of the first place that does not parse."""
    text = "".join(f"{line}\n" for line in lines)
    if grammar == "python" and (place := _indentation(text)) is not None:
        return place
    tree = _parser(grammar).parse(text.encode("utf-8", "replace"))
    if not tree.root_node.has_error:
        return None
    node = _deepest(tree.root_node)
    what = f"{node.type!r} is missing" if node.is_missing else "it does not parse"
    return node.start_point[0], what


def _indentation(text: str) -> tuple[int, str] | None:
    """Line, from 0, of an error of indentation, which the grammar for Python lets pass."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # e.g. an unknown escape in a string
            ast.parse(text)
    except IndentationError as error:
        return max(0, (error.lineno or 1) - 1), error.msg
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass  # what else is wrong, or only new to this Python, is the grammar's to tell
    return None


def _deepest(node: Node) -> Node:
    """The first error within a node that has one: a missing token, or an error without another."""
    while not node.is_missing:
        inner = next((child for child in node.children if child.has_error), None)
        if inner is None:
            break
        node = inner
    return node


@cache
def _parser(grammar: str) -> Parser:
    return Parser(language(grammar))
