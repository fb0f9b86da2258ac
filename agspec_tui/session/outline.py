"""A repository in a few lines: each file with the names it defines, the likeliest first.

Localisation decides whether a small model can fix a bug at all, so the ranking uses what is known
for certain: frames of the failing run, names in the issue, and what the failing tests import.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_DEFINITION = re.compile(
    r"^[ \t]*(?:(?:export|default|pub(?:\([^)]*\))?|async|static|abstract)\s+)*"
    r"(?:def|class|function\*?|fn|func(?:\s*\([^)]*\))?|struct|enum|trait|interface|module)"
    r"\s+([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_BINDING = re.compile(
    r"^(?:export\s+)?(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*(?:async\s*)?(?:\(|function|\w+\s*=>)",
    re.MULTILINE,
)
_IMPORT = re.compile(
    r"^\s*(?:from\s+([\w.]+)\s+import|import\s+([\w.]+)|.*?(?:from|require\()\s*['\"]([^'\"]+)['\"])",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_$][\w$]{2,}")
_N_NAMES = 14
_PROSE_TEXT = ".md .rst .txt .adoc .json .toml .yaml .yml .ini .cfg .lock .csv .tsv .xml .svg .log"
_PROSE = frozenset(_PROSE_TEXT.split())
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "testing"})
_TEST_NAME = re.compile(
    r"^(?:test_.*|.*_test|tests?|conftest|.*\.(?:test|spec))\.[A-Za-z]+$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may have to change."""

    path: str
    """Path relative to the repository."""
    names: tuple[str, ...]
    """Names it defines, in order."""
    score: int
    """How much speaks for it; 0 if nothing does."""

    def line(self) -> str:
        """One line for the planner: the path and the names."""
        if not self.names:
            return self.path
        more = ", …" if len(self.names) > _N_NAMES else ""
        return f"{self.path}: {', '.join(self.names[:_N_NAMES])}{more}"


def is_test(path: str) -> bool:
    """Whether a path is a test by its name or one of its folders."""
    parts = PurePosixPath(path).parts
    return bool(_TEST_NAME.match(parts[-1])) or any(part in _TEST_FOLDERS for part in parts[:-1])


def definitions(text: str) -> tuple[str, ...]:
    """Names of the functions, methods and types that a source text defines, in order, once."""
    found = [(match.start(), match.group(1)) for match in _DEFINITION.finditer(text)]
    found += [(match.start(), match.group(1)) for match in _BINDING.finditer(text)]
    names = (name for _, name in sorted(found))
    return tuple(name for name in dict.fromkeys(names) if not name.startswith("__"))


def rank(
    texts: Mapping[str, str], issue: str, output: str, failing: Iterable[str]
) -> list[Candidate]:
    """Every source file, the likeliest to hold the bug first; tests and prose are left out.

    Args:
        texts: text of each file by path, tests included (their imports point at the source).
        issue: the issue, in the user's words.
        output: what the failing test command printed.
        failing: names of failing tests.
    """
    frames = frame_counts(texts, output)
    imported = _imports(texts, output, failing)
    issue_words = set(_WORD.findall(issue))
    test_words = {part for name in failing for part in _WORD.findall(name.replace(".", " "))}
    ranked = []
    for path, text in texts.items():
        if is_test(path) or (_is_prose(path) and not _mentions(issue, path)):
            continue
        names = definitions(text)
        score = 4 * min(frames.get(path, 0), 2)
        score += 6 if _mentions(issue, path) else 0
        score += 3 if path in imported else 0
        score += 3 * min(len(issue_words & set(names)), 2)
        score += 2 * sum(
            any(name in word for word in test_words) for name in names[:40] if len(name) > 3
        )
        ranked.append(Candidate(path, names, score))
    return sorted(ranked, key=lambda candidate: (-candidate.score, candidate.path))


def frame_counts(paths: Iterable[str], output: str) -> dict[str, int]:
    """How often a failing run names each path, e.g. `File "…/a.py", line 3` or `a.py:3`."""
    counts = {}
    for path in paths:
        pattern = rf"(?<![\w.-]){re.escape(path)}(?:\"?, line \d+|:\d+|\(\d+)"
        n = len(re.findall(pattern, output))
        if n:
            counts[path] = n
    return counts


def failing_tests(texts: Mapping[str, str], output: str, failing: Iterable[str]) -> list[str]:
    """Test files that the failing run names, by path or by the name of a test in them."""
    named = frame_counts((path for path in texts if is_test(path)), output)
    short = {re.split(r"[.:]+", name.split(" ")[0])[-1] for name in failing}
    by_name = [
        path
        for path, text in texts.items()
        if is_test(path) and path not in named and short & set(definitions(text))
    ]
    return sorted(named, key=lambda path: -named[path]) + by_name


def _imports(texts: Mapping[str, str], output: str, failing: Iterable[str]) -> set[str]:
    """Source files that the failing tests import."""
    found = set()
    for test in failing_tests(texts, output, failing):
        for groups in _IMPORT.findall(texts[test]):
            module = next(group for group in groups if group)
            tail = module.strip("./").replace(".", "/") if "/" not in module else module.strip("./")
            found |= {
                path
                for path in texts
                if f"/{path}".endswith(
                    (f"/{tail}{PurePosixPath(path).suffix}", f"/{tail}/__init__.py", f"/{tail}")
                )
            }
    return found


def _is_prose(path: str) -> bool:
    """Whether a file is text for people or settings for tools, and no source."""
    name = PurePosixPath(path)
    return name.suffix.lower() in _PROSE or not name.suffix


def _mentions(issue: str, path: str) -> bool:
    """Whether the issue names a file, by its path, its name or its dotted module."""
    name = PurePosixPath(path).name
    dotted = str(PurePosixPath(path).with_suffix("")).replace("/", ".")
    return any(
        re.search(rf"(?<![\w.-]){re.escape(form)}(?![\w])", issue)
        for form in {path, name, dotted}
        if "." in form
    )
