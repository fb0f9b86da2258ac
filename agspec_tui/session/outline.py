"""A repository in a few lines: each file with the names it defines, the likeliest first.

Localisation decides whether a small model can fix a bug at all, so the ranking uses what is known
for certain: frames of the failing run, names in the issue, and what the failing tests import. To
that is added how much a file is about the issue, and what refers to it.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agspec_tui.session.references import flow, likeness
from agspec_tui.session.tags import Tags, tags_of

_IMPORT = re.compile(
    r"^\s*(?:from\s+([\w.]+)\s+import|import\s+([\w.]+)|.*?(?:from|require\()\s*['\"]([^'\"]+)['\"])",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_$][\w$]{2,}")
_N_NAMES = 14
_BY_WORDS = 0.3
"""Weight of `likeness` beside the score; measured on issues of this project's own history."""
_BY_FLOW = 10.0
"""Weight of `flow` beside the score."""
_FROM_TESTS = 6.0
"""Weight at which references of all failing tests together begin."""
_PROSE_TEXT = ".md .rst .txt .adoc .json .toml .yaml .yml .ini .cfg .lock .csv .tsv .xml .svg .log"
_PROSE = frozenset(_PROSE_TEXT.split())
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "testing"})
_TEST_NAME = re.compile(
    r"^(?:test_.*|.*_test|tests?|conftest|.*\.(?:test|spec))\.[A-Za-z]+$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file that may have to change."""

    path: str
    """Path relative to the repository."""
    names: tuple[str, ...]
    """Names it defines, in order."""
    score: int
    """How much speaks for it for certain; 0 if nothing does."""
    weight: float = 0.0
    """What it is ranked by: the score, how much it is about the issue, and what refers to it."""

    def line(self) -> str:
        """One line for the planner: the path and the names."""
        if not self.names:
            return self.path
        more = ", …" if len(self.names) > _N_NAMES else ""
        return f"{self.path}: {', '.join(self.names[:_N_NAMES])}{more}"


async def n_listed(
    count: Callable[[str], Awaitable[int]], candidates: Sequence[RankedFile], n_tokens: int
) -> int:
    """How many files can be listed in so many tokens, counted exactly; at least one.

    Args:
        count: counts the tokens of a text.
        candidates: the files, the likeliest first.
        n_tokens: most tokens of their lines.
    """
    low, high = 1, len(candidates)
    while low < high:
        middle = (low + high + 1) // 2
        if await count("\n".join(one.line() for one in candidates[:middle])) <= n_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def is_test(path: str) -> bool:
    """Whether a path is a test by its name or one of its folders."""
    parts = PurePosixPath(path).parts
    return bool(_TEST_NAME.match(parts[-1])) or any(part in _TEST_FOLDERS for part in parts[:-1])


def rank(
    texts: Mapping[str, str], issue: str, output: str, failing: Iterable[str]
) -> list[RankedFile]:
    """Every source file, the likeliest to hold the bug first; tests and prose are left out.

    Args:
        texts: text of each file by path, tests included (their imports point at the source).
        issue: the issue, in the user's words.
        output: what the failing test command printed.
        failing: names of failing tests.
    """
    tags = {path: tags_of(path, text) for path, text in texts.items()}
    sources = {
        path: tags[path]
        for path in texts
        if not is_test(path) and (not _is_prose(path) or _mentions(issue, path))
    }
    scores = _scores(sources, texts, issue, output, failing := tuple(failing))
    about = likeness(sources, issue)
    start = {path: scores[path] + _BY_WORDS * about[path] for path in sources}
    tests = failing_tests(texts, output, failing)
    start |= {path: _FROM_TESTS / len(tests) for path in tests}
    reached = flow({path: tags[path] for path in (*sources, *tests)}, start)
    ranked = [
        RankedFile(
            path,
            tuple(found.defined),
            scores[path],
            scores[path] + _BY_WORDS * about[path] + _BY_FLOW * reached[path],
        )
        for path, found in sources.items()
    ]
    return sorted(ranked, key=lambda candidate: (-candidate.weight, candidate.path))


def _scores(
    sources: Mapping[str, Tags],
    texts: Mapping[str, str],
    issue: str,
    output: str,
    failing: Sequence[str],
) -> dict[str, int]:
    """What is known for certain about each source file."""
    frames = frame_counts(texts, output)
    imported = _imports(texts, output, failing)
    issue_words = set(_WORD.findall(issue))
    test_words = {part for name in failing for part in _WORD.findall(name.replace(".", " "))}
    scores = {}
    for path, found in sources.items():
        names = tuple(found.defined)
        score = 4 * min(frames.get(path, 0), 2)
        score += 6 if _mentions(issue, path) else 0
        score += 3 if path in imported else 0
        score += 3 * min(len(issue_words & set(names)), 2)
        score += 2 * sum(
            any(name in word for word in test_words) for name in names[:40] if len(name) > 3
        )
        scores[path] = score
    return scores


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
        if is_test(path) and path not in named and short & set(tags_of(path, text).defined)
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
