"""Paths as replies spell them: reading one from a line, and refusing those that lead astray."""

import re
from pathlib import PureWindowsPath

from agspec_tui.errors import EditError

_SUFFIX = re.compile(r"\.[A-Za-z0-9_+-]*[A-Za-z][A-Za-z0-9_+-]*$")
_NEVER = re.compile(r'[<>|*?="\x00-\x1f\x7f]|://|[,;!]$|\.\.\.|…')
_LABEL = re.compile(r"^(?:file ?name|file ?path|file|path)\s*:\s*", re.IGNORECASE)
_LIST_MARK = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"^#{1,6}\s+")
_MARKED = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_BARE_NAMES_TEXT = (
    "Makefile Dockerfile Containerfile Justfile Rakefile Gemfile Procfile Jenkinsfile Vagrantfile "
    "LICENSE NOTICE README CHANGELOG CONTRIBUTING AUTHORS CODEOWNERS BUILD WORKSPACE"
)
_BARE_NAMES = frozenset(_BARE_NAMES_TEXT.split())
_EXTENSIONS_TEXT = (
    "py pyi js jsx ts tsx mjs cjs go rs c h cc cpp hpp cxx java kt kts rb php sh bash zsh fish ps1 "
    "md markdown rst txt json jsonl toml yaml yml ini cfg html htm css scss sql xml csv cs swift "
    "lua pl r scala dart ex exs hs ml vue svelte proto diff patch python javascript typescript "
    "rust golang text"
)
_EXTENSIONS = frozenset(_EXTENSIONS_TEXT.split())
_PROSE_TEXT = (
    "a an the this that these here now below above is are was in into of for to from with at on "
    "and or then see file files new old updated update fixed fix change changed changes create "
    "created modify modified modifies edit edited rewrite replace replaced complete full content "
    "contents code run test open add added save put i we you my your"
)
_PROSE = frozenset(_PROSE_TEXT.split())
_LEADS = frozenset(("in", "to", "at", "see", "for", "file", "from", "into", "is", "of", "the"))


def clean(path: str, root: str = "") -> str:
    """A path from a reply as one relative to the repository, with `/`.

    Args:
        path: The path as it was spelled; backslashes count as separators.
        root: Absolute path of the repository. A path inside it becomes relative.

    Raises:
        EditError: it is absolute and outside, climbs with `..`, lies in `.git`, holds a control
            character, or names no file: empty, a folder, or a bare extension such as `py`.
    """
    shown = repr(path)
    text = path.strip().replace("\\", "/")
    if any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise EditError(f"the path {shown} holds a control character", "name a plain file")
    base = root.replace("\\", "/").rstrip("/")
    if base and text.startswith(f"{base}/"):
        text = text[len(base) + 1 :]
    if text.startswith(("/", "~")) or PureWindowsPath(text).drive:
        raise EditError(f"the path {shown} is outside the repository", "use a relative path")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise EditError(f"the path {shown} climbs with '..'", "use a path inside the repository")
    if any(part.rstrip(". ").lower() in (".git", "git~1") for part in parts):
        raise EditError(f"the path {shown} lies in .git", "the repository's own data stay as is")
    if not parts or text.endswith("/"):
        raise EditError(f"the path {shown} names no file", "name the file with its folder")
    stem = parts[-1].removeprefix(".").lower()
    if stem in _EXTENSIONS or not stem.strip(". "):
        raise EditError(f"the path {shown} is an extension, not a file", "name the whole file")
    return "/".join(parts)


def looks_like_path(text: str) -> bool:
    """Whether a text can be meant as a file's path: a folder, an extension, or a known name."""
    if not text or len(text) > 240 or _NEVER.search(text) or text != text.strip():
        return False
    name = re.split(r"[/\\]", text)[-1]
    if text.startswith(("-", "$ ")) or not name:
        return False
    return bool(_SUFFIX.search(name)) or name in _BARE_NAMES or bool(re.search(r"[/\\]", text))


def expected_path(text: str, expected: tuple[str, ...]) -> str | None:
    """The expected path that `text` spells: equal, or the one that ends with it."""
    plain = text.replace("\\", "/").removeprefix("./")
    if plain in expected:
        return plain
    ends = [path for path in expected if path.endswith(f"/{plain}")] if plain else []
    return ends[0] if len(ends) == 1 else None


def settle(text: str, expected: tuple[str, ...]) -> str:
    """`text`, or the expected path that it abbreviates or spells otherwise."""
    return expected_path(text, expected) or text


def from_line(line: str, expected: tuple[str, ...] = ()) -> tuple[str, bool] | None:
    """The path a line before a block names, and whether the line says nothing else.

    Read are a plain path, `**bold**`, `` `code` ``, `# path`, `File: path`, `path:`, list items,
    and a sentence with exactly one marked path in it. Spaces belong to a path that is
    marked or has a folder, unless the words before its first separator begin or end like prose.
    """
    text = _HEADING.sub("", line.strip())
    text = _LIST_MARK.sub("", text).strip()
    marks = [first or second for first, second in _MARKED.findall(text)]
    bare = _LABEL.sub("", text.replace("**", "")).rstrip(":").strip().strip("`'\"").strip()
    bare = _LABEL.sub("", bare.rstrip(":").strip())
    known = expected_path(bare, expected)
    if known:
        return known, True
    marked = bare != text.rstrip(":").strip()
    if looks_like_path(bare) and "`" not in bare and not _is_prose(bare, marked):
        return settle(bare, expected), True
    named = [mark.strip().rstrip(":") for mark in marks]
    paths = [m for m in named if expected_path(m, expected) or _is_word_path(m)]
    if len(set(paths)) == 1:
        return settle(paths[0], expected), bare == paths[0]
    words = [word.strip("`'\"*:,.()") for word in text.split()]
    hits = {hit for word in words if word and (hit := expected_path(word, expected))}
    return (hits.pop(), False) if len(hits) == 1 else None


def from_first_line(line: str, expected: tuple[str, ...] = ()) -> str | None:
    """The path that the first line inside a block is, if it is nothing else and surely one."""
    text = line.strip()
    known = expected_path(text, expected)
    if known or " " in text or not looks_like_path(text):
        return known
    sure = "/" in text and text.rsplit(".", 1)[-1].lower() in _EXTENSIONS
    return text if sure else None


def from_info(info: str, expected: tuple[str, ...] = ()) -> str | None:
    """The path in a fence's info string: `src/app.py`, `python src/app.py`, `python:src/app.py`."""
    text = info.strip()
    head, _, rest = text.partition(" ")
    rest = re.sub(r"^(?:title|file|filename|path|name)\s*=\s*", "", rest.strip()).strip("\"'`{}")
    candidates = [rest, text]
    if re.match(r"^[A-Za-z0-9+#-]+[:=]", head):
        candidates.insert(0, re.split(r"[:=]", text, maxsplit=1)[1].strip("\"'`{}"))
    for candidate in candidates:
        if expected_path(candidate, expected) or looks_like_path(candidate):
            return settle(candidate, expected)
    return None


def _is_word_path(text: str) -> bool:
    return " " not in text and looks_like_path(text)


def _is_prose(text: str, marked: bool) -> bool:
    words = text.split()
    if len(words) < 2:
        return False
    if not marked and not re.search(r"[/\\]", text):
        return True
    first = next((i for i, word in enumerate(words) if re.search(r"[/\\]", word)), len(words) - 1)
    before = [word.strip(".:(,").lower() for word in words[:first]]
    return bool(before) and (before[0] in _PROSE or before[-1] in _LEADS)
