"""Reads the output of test runners: how many tests passed and failed, and which failed."""

import re
from collections.abc import Callable

UNKNOWN = -1
"""Stands for a number that the output does not say."""

_Counts = tuple[int, int]

_PYTEST = re.compile(r"^=*\s*((?:\d+ [a-z]+, )*\d+ [a-z]+|no tests ran) in [\d.]+s\b", re.MULTILINE)
_PYTEST_PASSED = frozenset({"passed", "xpassed"})
_PYTEST_FAILED = frozenset({"failed", "error", "errors"})
_PYTEST_NAME = re.compile(
    r"^(?:FAILED|ERROR|SUBFAILED(?:\([^)]*\))?) ([^\s(].*?)(?: - .*)?$", re.MULTILINE
)

_UNITTEST = re.compile(
    r"^Ran (\d+) tests? in [\d.]+s\n\s*^(?:OK|FAILED|NO TESTS RAN)(?: \(([^)\n]*)\))?",
    re.MULTILINE,
)
_UNITTEST_FAILED = frozenset({"failures", "errors", "unexpected successes"})
_UNITTEST_NAME = re.compile(
    r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+) \(([\w.<>]+)\)", re.MULTILINE
)

_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.MULTILINE)
_CARGO_NAME = re.compile(r"^test (\S.*?) \.\.\. FAILED$", re.MULTILINE)

_GO_FAILED = re.compile(r"^--- FAIL: ", re.MULTILINE)
_GO_PASSED = re.compile(r"^--- PASS: ", re.MULTILINE)
_GO_BROKEN = re.compile(r"^FAIL\t(\S+) \[(?:build|setup) failed\]", re.MULTILINE)
_GO_ENDED = re.compile(r"^(?:ok  |FAIL|\?   |PASS)(?:\t|$)", re.MULTILINE)
_GO_NAME = re.compile(r"^\s*--- FAIL: (\S+)", re.MULTILINE)

_JEST = re.compile(r"^\s*Tests:\s+(.*\d+ total)", re.MULTILINE)
_VITEST = re.compile(r"^\s*Tests\s+((?:\d+ \w+(?: \| )?)+|no tests)", re.MULTILINE)
_SUITES = re.compile(r"^\s*Test (?:Suites:|Files)\s+(\d+) failed", re.MULTILINE)
_NODE = re.compile(r"^(?:#|ℹ) (pass|fail|cancelled) (\d+)$", re.MULTILINE)
_MOCHA = re.compile(r"^\s+(\d+) (passing|failing)\b", re.MULTILINE)
_AVA = re.compile(r"^\s+(\d+) (?:tests?|uncaught exceptions?) (passed|failed)", re.MULTILINE)

_NODE_NAMES = (
    re.compile(r"^\s*● (?!Console$)(\S.*)$", re.MULTILINE),  # Jest
    re.compile(r"^\s*FAIL\s+(\S+ > .*)$", re.MULTILINE),  # Vitest
    re.compile(r"^\s*✖ (?!failing tests:)(\S.*?)(?: \([\d.]+m?s\))?$", re.MULTILINE),  # node:test
    re.compile(r"^\s*not ok \d+ - (\S.*?)(?: #.*)?$", re.MULTILINE),  # TAP
)
_MOCHA_NAME = re.compile(r"^  \d+\) (\S.*)\n((?:^ {5,}\S.*\n)*?^ {5,}\S.*):$", re.MULTILINE)

_ERROR = re.compile(r"(?:E +|[\w/.-]+:\d+: )?(?:[\w.]+\.)?\w*(?:Error|Exception)\b")
_AROUND = re.compile(r"Traceback|[-=_]{3}|(?:ERROR|FAIL)\b")
_LOADER = "Failed to import test module"  # unittest says so first; why comes behind it
_N_ABOVE, _N_BELOW = 3, 3


def parse_counts(kind: str, output: str, exit_code: int) -> _Counts:
    """Tests that passed and that failed; `UNKNOWN` for what the output does not say.

    Skipped and expected failures count as neither; errors count as failures.

    Args:
        kind: the runner, as in `TestCommand.kind`; with `given` the output decides.
        output: cleaned output.
        exit_code: exit code of the command.
    """
    if kind in _COUNTERS:
        return _COUNTERS[kind](output, exit_code) or (UNKNOWN, UNKNOWN)
    found = [counts for read in _COUNTERS.values() if (counts := read(output, exit_code))]
    if not found:
        return UNKNOWN, UNKNOWN
    passed = sum(p for p, _ in found) if all(p >= 0 for p, _ in found) else UNKNOWN
    return passed, sum(f for _, f in found)


def failing_names(kind: str, output: str) -> tuple[str, ...]:
    """Names of the tests that failed, in the order they are reported, each once.

    Pytest's are node ids; unittest's are dotted names that its command line takes.
    """
    readers = [_NAMERS[kind]] if kind in _NAMERS else list(_NAMERS.values())
    return tuple(dict.fromkeys(name for read in readers for name in read(output)))


def _pytest_counts(output: str, _exit_code: int) -> _Counts | None:
    summaries = _PYTEST.findall(output)
    if not summaries:
        return None
    counts = [pair.split(" ") for pair in summaries[-1].split(", ") if pair[0].isdigit()]
    passed = sum(int(n) for n, word in counts if word in _PYTEST_PASSED)
    return passed, sum(int(n) for n, word in counts if word in _PYTEST_FAILED)


def _unittest_counts(output: str, _exit_code: int) -> _Counts | None:
    summaries = _UNITTEST.findall(output)
    if not summaries:
        return None
    n_run, details = summaries[-1]
    counts = dict(pair.split("=") for pair in details.split(", ") if "=" in pair)
    failed = sum(int(n) for word, n in counts.items() if word in _UNITTEST_FAILED)
    # Subtests fail apart, and errors of a whole class come on top of the tests that ran.
    return max(0, int(n_run) - sum(map(int, counts.values()))), failed


def _cargo_counts(output: str, _exit_code: int) -> _Counts | None:
    results = _CARGO.findall(output)
    if not results:
        return None
    return sum(int(p) for p, _ in results), sum(int(f) for _, f in results)


def _go_counts(output: str, exit_code: int) -> _Counts | None:
    if not _GO_ENDED.search(output):
        return None
    n_failed = len(_GO_FAILED.findall(output)) + len(_GO_BROKEN.findall(output))
    # Without -v the tests that pass are not printed; their number is unknown then.
    n_passed = len(_GO_PASSED.findall(output)) or UNKNOWN
    return n_passed, n_failed or (UNKNOWN if exit_code else 0)


def _node_counts(output: str, _exit_code: int) -> _Counts | None:
    for read in (_jest_counts, _word_counts):
        counts = read(output)
        if counts is not None:
            return counts
    return None


def _jest_counts(output: str) -> _Counts | None:
    lines = _JEST.findall(output) or _VITEST.findall(output)
    if not lines:
        return None
    text = "\n".join(lines)
    passed = sum(map(int, re.findall(r"(\d+) passed", text)))
    failed = sum(map(int, re.findall(r"(\d+) failed", text)))
    # A suite that could not be loaded has no tests to count.
    return passed, failed or sum(map(int, _SUITES.findall(output)))


def _word_counts(output: str) -> _Counts | None:
    pairs = [(word, int(n)) for word, n in _NODE.findall(output)]
    pairs = pairs or [(word, int(n)) for n, word in _MOCHA.findall(output) + _AVA.findall(output)]
    if not pairs:
        return None
    passed = sum(n for word, n in pairs if word.startswith("pass"))
    return passed, sum(n for word, n in pairs if not word.startswith("pass"))


def _pytest_names(output: str) -> list[str]:
    return _PYTEST_NAME.findall(output)


def _unittest_names(output: str) -> list[str]:
    names = []
    for name, where in _UNITTEST_NAME.findall(output):
        full = where if where.endswith(f".{name}") else f"{where}.{name}"
        names.append(full.removeprefix("unittest.loader._FailedTest."))
    return names


def _cargo_names(output: str) -> list[str]:
    return _CARGO_NAME.findall(output)


def _go_names(output: str) -> list[str]:
    return _GO_NAME.findall(output) + _GO_BROKEN.findall(output)


def _node_names(output: str) -> list[str]:
    names = [name for pattern in _NODE_NAMES for name in pattern.findall(output)]
    for suite, rest in _MOCHA_NAME.findall(output):
        names.append(" ".join([suite, *rest.split()]))
    return names


_COUNTERS: dict[str, Callable[[str, int], _Counts | None]] = {
    "pytest": _pytest_counts,
    "unittest": _unittest_counts,
    "npm": _node_counts,
    "cargo": _cargo_counts,
    "go": _go_counts,
}
_NAMERS: dict[str, Callable[[str], list[str]]] = {
    "pytest": _pytest_names,
    "unittest": _unittest_names,
    "npm": _node_names,
    "cargo": _cargo_names,
    "go": _go_names,
}


def first_error(output: str) -> str:
    """The first error that an output names, with the lines above that say where and those below.

    Known are errors as Python, pytest, node and the JVM name them.

    Returns:
        At most seven lines; empty if there is none.
    """
    lines = output.split("\n")
    for at, line in enumerate(lines):
        if not _ERROR.match(line) or _LOADER in line:
            continue
        start = at
        while start > max(0, at - _N_ABOVE) and _is_of_error(lines[start - 1]):
            start -= 1
        end = at + 1
        while end < min(len(lines), at + 1 + _N_BELOW) and _is_of_error(lines[end]):
            end += 1
        return "\n".join(lines[start:end])
    return ""


def _is_of_error(line: str) -> bool:
    return bool(line.strip()) and not _AROUND.match(line)
