"""What a source file defines and what it refers to, read from its syntax tree.

Languages without a grammar are read by rules on lines, so that no file is without names.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from tree_sitter import Parser, Query, QueryCursor

from agspec_tui.forms.grammars import grammar_of, language

_MAX_CHARS = 400_000
"""Longest text that is parsed; beyond it, rules on lines do."""
_SCRIPT = """
(function_declaration name: (_) @def) (generator_function_declaration name: (_) @def)
(class_declaration name: (_) @def) (method_definition name: (property_identifier) @def)
(variable_declarator name: (identifier) @def value: [(arrow_function) (function_expression)])
(program (lexical_declaration (variable_declarator name: (identifier) @def)))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @def))))
(identifier) @ref (property_identifier) @ref
"""
_TYPED = f"""{_SCRIPT}
(interface_declaration name: (_) @def) (type_alias_declaration name: (_) @def)
(enum_declaration name: (_) @def) (abstract_class_declaration name: (_) @def)
(type_identifier) @ref
"""
_C = """
(function_definition declarator: (_ declarator: (identifier) @def))
(function_definition declarator: (_ declarator: (_ declarator: (identifier) @def)))
(struct_specifier name: (type_identifier) @def body: (_))
(union_specifier name: (type_identifier) @def body: (_))
(enum_specifier name: (type_identifier) @def body: (_))
(type_definition declarator: (type_identifier) @def)
(preproc_def name: (identifier) @def) (preproc_function_def name: (identifier) @def)
(identifier) @ref (type_identifier) @ref (field_identifier) @ref
"""
_QUERIES: Mapping[str, str] = {
    "python": """
(class_definition name: (identifier) @def) (function_definition name: (identifier) @def)
(module (expression_statement (assignment left: (identifier) @def)))
(identifier) @ref
""",
    "javascript": _SCRIPT,
    "typescript": _TYPED,
    "tsx": _TYPED,
    "go": """
(function_declaration name: (identifier) @def) (method_declaration name: (_) @def)
(type_spec name: (type_identifier) @def)
(source_file (const_declaration (const_spec name: (identifier) @def)))
(source_file (var_declaration (var_spec name: (identifier) @def)))
(identifier) @ref (type_identifier) @ref (field_identifier) @ref
""",
    "rust": """
(function_item name: (identifier) @def) (function_signature_item name: (identifier) @def)
(struct_item name: (_) @def) (enum_item name: (_) @def) (union_item name: (_) @def)
(trait_item name: (_) @def) (type_item name: (_) @def) (mod_item name: (_) @def)
(const_item name: (_) @def) (static_item name: (_) @def) (macro_definition name: (_) @def)
(identifier) @ref (type_identifier) @ref (field_identifier) @ref
""",
    "c": _C,
    "cpp": f"""{_C}
(function_definition declarator: (_ declarator: (field_identifier) @def))
(function_definition declarator: (_ declarator: (qualified_identifier name: (_) @def)))
(class_specifier name: (type_identifier) @def body: (_))
(namespace_definition name: (_) @def)
""",
    "java": """
(class_declaration name: (_) @def) (interface_declaration name: (_) @def)
(enum_declaration name: (_) @def) (record_declaration name: (_) @def)
(method_declaration name: (_) @def)
(identifier) @ref (type_identifier) @ref
""",
    "bash": """
(function_definition name: (word) @def) (program (variable_assignment name: (_) @def))
(command_name (word) @ref) (variable_name) @ref
""",
}
_DEFINITION = re.compile(
    r"^[ \t]*(?:(?:export|default|pub(?:\([^)]*\))?|async|static|abstract|public|private)\s+)*"
    r"(?:def|class|function\*?|fn|func(?:\s*\([^)]*\))?|struct|enum|trait|interface|module)"
    r"\s+([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_$][\w$]{2,}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENDINGS = ("ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e", "y")


@dataclass(frozen=True, slots=True)
class Tags:
    """Names in one file."""

    defined: Mapping[str, int]
    """Line, from 1, of each name's first definition, in order; names like `__init__` left out."""
    used: Mapping[str, int]
    """How often each name stands in the code, definitions left out."""
    words: Mapping[str, int]
    """How often each word stands in the text, comments and parts of names included, as `stem`
    leaves it."""


@lru_cache(maxsize=8192)
def tags_of(path: str, text: str) -> Tags:
    """Names that a file defines and uses; the language is told by the path."""
    grammar = grammar_of(path)
    if not grammar or len(text) > _MAX_CHARS:
        return _by_lines(text)
    data = text.encode("utf-8", "replace")
    parser, query = _reader(grammar)
    found = QueryCursor(query).captures(parser.parse(data).root_node)
    places = sorted((node.start_byte, node.end_byte) for node in found.get("def", ()))
    starts = {start for start, _ in places}
    defined: dict[str, int] = {}
    line, seen = 1, 0
    for start, end in places:
        line, seen = line + data.count(b"\n", seen, start), start
        _define(defined, data[start:end].decode("utf-8", "replace"), line)
    used = Counter(
        data[node.start_byte : node.end_byte].decode("utf-8", "replace")
        for node in found.get("ref", ())
        if node.start_byte not in starts
    )
    return Tags(defined, used, _words(text))


def _by_lines(text: str) -> Tags:
    """Names by rules on lines, for languages without a grammar."""
    defined: dict[str, int] = {}
    for match in _DEFINITION.finditer(text):
        _define(defined, match[1], text.count("\n", 0, match.start(1)) + 1)
    used = Counter(_WORD.findall(text))
    used.subtract(dict.fromkeys(defined, 1))
    return Tags(defined, +used, _words(text))


def stems(text: str) -> list[str]:
    """The words of a text, small and stemmed; `readTaskFile` and `read_task_file` have three."""
    return [stem(part.lower()) for part in _PART.findall(text)]


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without the endings in which prose and names differ."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _words(text: str) -> Counter[str]:
    return Counter(stems(text[:_MAX_CHARS]))


def _define(defined: dict[str, int], name: str, line: int) -> None:
    if not name.startswith("__"):
        defined.setdefault(name, line)


@cache
def _reader(grammar: str) -> tuple[Parser, Query]:
    """Parser and query of a language."""
    known = language(grammar)
    return Parser(known), Query(known, _QUERIES[grammar])
