"""Grammars of tree-sitter: which one reads a file, loaded at its first use."""

import importlib
from functools import cache

from tree_sitter import Language

_BY_SUFFIX_TEXT = (
    "py:python pyi:python js:javascript mjs:javascript cjs:javascript jsx:javascript "
    "ts:typescript mts:typescript cts:typescript tsx:tsx go:go rs:rust c:c h:cpp cc:cpp cpp:cpp "
    "cxx:cpp hh:cpp hpp:cpp java:java sh:bash bash:bash"
)
_BY_SUFFIX = dict(pair.split(":") for pair in _BY_SUFFIX_TEXT.split())


def grammar_of(path: str) -> str:
    """Name of the grammar for a file by its extension; empty if there is none."""
    name = path.rsplit("/", 1)[-1]
    return _BY_SUFFIX.get(name.rsplit(".", 1)[-1].lower(), "") if "." in name else ""


@cache
def language(grammar: str) -> Language:
    """A language by the name of its grammar; its compiled tables are loaded here."""
    package = "typescript" if grammar == "tsx" else grammar
    module = importlib.import_module(f"tree_sitter_{package}")
    maker = "language" if package != "typescript" else f"language_{grammar}"
    return Language(getattr(module, maker)())
