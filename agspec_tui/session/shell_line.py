"""Parses a command line into the simple commands in it, with a real grammar of the shell."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

_MAX_CHARS = 8000
_MAX_DEPTH = 3
_SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
_JOINS = frozenset({"program", "list", "pipeline", "negated_command", "redirected_statement"})
_WORDS = frozenset({"word", "number", "string", "string_content", "raw_string", "concatenation"})
_SIGNS = frozenset({"&&", "||", ";", "\n", "|", "!", '"'})
_NAMES = {
    "ERROR": "it cannot be parsed",
    "&": "it goes to the background",
    "ansi_c_string": "an escaped string",
    "arithmetic_expansion": "an expansion",
    "brace_expression": "an expansion",
    "command_substitution": "a substitution",
    "declaration_command": "it sets or shows variables",
    "expansion": "a variable",
    "file_redirect": "a redirect to or from a file",
    "function_definition": "a function",
    "heredoc_redirect": "a here-document",
    "herestring_redirect": "a here-string",
    "process_substitution": "a substitution",
    "simple_expansion": "a variable",
    "unset_command": "it sets or shows variables",
    "variable_assignment": "it sets or shows variables",
}


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program and its arguments, as the shell would pass them but for globs."""

    words: tuple[str, ...]
    """Program first; quotes and backslashes are undone."""
    globs: frozenset[int] = frozenset()
    """Numbers of the words that the shell would match against names of files."""

    @property
    def program(self) -> str:
        """Name of the program, without its folder."""
        return PurePosixPath(self.words[0]).name if self.words else ""


@dataclass(frozen=True, slots=True)
class ShellLine:
    """What a command line consists of."""

    commands: tuple[SimpleCommand, ...]
    """Every simple command anywhere in it, in substitutions and strings for other shells too."""
    odd: tuple[str, ...]
    """What in it is more than simple commands joined by `&&`, `||`, `;` or `|`; empty if
    nothing."""
    files: tuple[str, ...] = ()
    """What it redirects to or from."""


def parse(line: str) -> ShellLine:
    """Parse a command line. Never fails: what cannot be parsed is `odd`."""
    return _parse(line, 0)


def _parse(line: str, depth: int) -> ShellLine:
    if len(line) > _MAX_CHARS or depth > _MAX_DEPTH:
        return ShellLine((), ("it is too long",))
    odd: dict[str, None] = {}
    if any(not char.isprintable() and char not in "\n\t" for char in line) or "\\\n" in line:
        odd["control characters"] = None
    commands: list[SimpleCommand] = []
    files: list[str] = []
    for node in _walk(_parser().parse(line.encode("utf-8", "replace")).root_node):
        reason = _reason(node)
        if reason:
            odd[reason] = None
        place = node.child_by_field_name("destination")
        if node.type == "file_redirect" and place is not None and reason:
            files.append(_unquoted(place))
        if node.type in ("command", "declaration_command", "unset_command", "test_command"):
            command = _command(node)
            commands.append(command)
            for inner in _inner_lines(command):
                within = _parse(inner, depth + 1)
                commands += within.commands
                files += within.files
    return ShellLine(tuple(commands), tuple(odd), tuple(files))


@functools.cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _walk(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _reason(node: Node) -> str:
    """Why a node is more than a simple command; empty if it is not."""
    if node.is_missing or node.is_error:
        return _NAMES["ERROR"]
    if node.type == "file_redirect":
        return "" if _is_harmless(node) else _NAMES["file_redirect"]
    if node.type == "concatenation" and "{" in _text(node) and "," in _text(node):
        return _NAMES["brace_expression"]
    if node.type in _JOINS or node.type in _WORDS or node.type in _SIGNS:
        return ""
    if node.type in ("command", "command_name", "comment", "file_descriptor"):
        return ""
    if node.parent is not None and node.parent.type == "file_redirect":
        return ""
    return _NAMES.get(node.type) or f"not a simple command: {node.type.replace('_', ' ')}"


def _is_harmless(redirect: Node) -> bool:
    """True for a redirect that only joins output and errors, or throws one of them away."""
    sign = next((child.type for child in redirect.children if not child.is_named), "")
    place = redirect.child_by_field_name("destination")
    target = _text(place) if place is not None else ""
    if sign == ">&":
        return target in ("1", "2")
    return sign in (">", ">>", "&>") and target == "/dev/null"


def _command(node: Node) -> SimpleCommand:
    words: list[str] = []
    globs: set[int] = set()
    for child in node.named_children:
        if child.type in ("file_redirect", "heredoc_redirect", "comment", "variable_assignment"):
            continue
        if _matches_names(child):
            globs.add(len(words))
        words.append(_unquoted(child))
    if node.type == "declaration_command" and node.children:
        words.insert(0, _text(node.children[0]))
    return SimpleCommand(tuple(words), frozenset(globs))


def _matches_names(node: Node) -> bool:
    """True if a word holds an unquoted glob character."""
    if node.type in ("word", "number"):
        text = _text(node)
        return any(
            char in "*?[" and not text[:place].endswith("\\") for place, char in enumerate(text)
        )
    if node.type in ("concatenation", "command_name"):
        return any(_matches_names(child) for child in node.children)
    return False


def _unquoted(node: Node) -> str:
    text = _text(node)
    match node.type:
        case "raw_string":
            return text[1:-1]
        case "string":
            return _without_backslashes(text[1:-1], '$`"\\')
        case "concatenation" | "command_name":
            return "".join(_unquoted(child) for child in node.children) or text
        case _:
            return _without_backslashes(text, "")


def _without_backslashes(text: str, only_before: str) -> str:
    """Text with backslashes undone; in quotes they count only before a few characters."""
    found: list[str] = []
    chars = iter(text)
    for char in chars:
        if char != "\\":
            found.append(char)
            continue
        following = next(chars, "")
        keeps = bool(only_before) and following not in only_before
        found.append(f"\\{following}" if keeps else following)
    return "".join(found)


def _inner_lines(command: SimpleCommand) -> Iterator[str]:
    """Command lines that a command passes to a shell."""
    if command.program == "eval":
        yield " ".join(command.words[1:])
    elif any(PurePosixPath(word).name in _SHELLS for word in command.words):
        flags = [place for place, word in enumerate(command.words) if _is_line_flag(word)]
        yield from (command.words[place + 1] for place in flags if place + 1 < len(command.words))


def _is_line_flag(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--") and word.endswith("c")
