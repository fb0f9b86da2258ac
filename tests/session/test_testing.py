import shlex
import shutil
import subprocess
import sys
import venv

import pytest

from agspec_tui.session.runner import run
from agspec_tui.session.testing import failing_names, find_test_command, given, parse_counts

CASE = "import unittest\n\nclass TestA(unittest.TestCase):\n"
PASSES = f"{CASE}    def test_good(self):\n        self.assertTrue(True)\n"
ONE_OF_EACH = f"""{PASSES}
    def test_bad(self):
        self.assertEqual(1, 2)

    def test_broken(self):
        '''Says what it does.'''
        raise ValueError("no")

    @unittest.skip("later")
    def test_later(self):
        pass

    @unittest.expectedFailure
    def test_known(self):
        self.fail()
"""


@pytest.fixture
def repo(tmp_path):
    root = (tmp_path / "repo").resolve()
    root.mkdir()
    return root


@pytest.fixture
def bare_python(repo):
    """A virtual environment of the repository, without pytest."""
    venv.create(repo / ".venv", symlinks=True, with_pip=False)


def lay(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def outcome(repo):
    command = find_test_command(repo)
    result = await run(command.argv, repo, 100)
    counts = parse_counts(command.kind, result.output, result.exit_code)
    return command, result, counts, failing_names(command.kind, result.output)


async def test_pytest_runs_and_is_counted(repo):
    lay(repo, {"tests/test_a.py": ONE_OF_EACH, "mod.py": "x = 1\n"})
    command, result, counts, names = await outcome(repo)
    assert command.kind == "pytest"
    assert command.argv[0] == sys.executable
    assert command.display == "python -m pytest -q --tb=short -p no:cacheprovider"
    assert result.exit_code == 1
    assert counts == (1, 2)
    assert names == ("tests/test_a.py::TestA::test_bad", "tests/test_a.py::TestA::test_broken")
    assert not list(repo.rglob("__pycache__"))
    assert not (repo / ".pytest_cache").exists()


async def test_pytest_tests_of_all_styles_see_the_root_and_src(repo, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    lay(
        repo,
        {
            "top.py": "x = 1\n",
            "src/inner.py": "y = 2\n",
            "tests/b_test.py": "import top, inner\n\ndef test_it():\n    assert top.x < inner.y\n",
        },
    )
    command, result, counts, _ = await outcome(repo)
    assert command.display.startswith("env PYTHONPATH=src python -m pytest")
    assert (result.exit_code, counts) == (0, (1, 0))


@pytest.mark.parametrize("option", ["-q", "-vv", "--lf", "-q --ff"])
async def test_the_repositorys_own_pytest_options_do_not_hide_the_counts(repo, option):
    lay(
        repo,
        {
            "pyproject.toml": f'[tool.pytest.ini_options]\naddopts = "{option}"\n',
            "tests/test_a.py": PASSES,
        },
    )
    _, result, counts, _ = await outcome(repo)
    assert (result.exit_code, counts) == (0, (1, 0))


async def test_a_file_that_cannot_be_collected_counts_as_failed(repo):
    lay(repo, {"tests/test_a.py": "import no_such_module\n"})
    _, result, counts, names = await outcome(repo)
    assert result.exit_code == 2
    assert counts == (0, 1)
    assert names == ("tests/test_a.py",)


@pytest.mark.usefixtures("bare_python")
async def test_unittest_runs_where_pytest_is_not_and_is_counted(repo):
    lay(repo, {"tests/test_a.py": "import mod\n" + ONE_OF_EACH, "mod.py": "x = 1\n"})
    command, result, counts, names = await outcome(repo)
    assert command.kind == "unittest"
    assert command.argv[0] == str(repo / ".venv/bin/python")
    assert command.display == ".venv/bin/python -m unittest discover -s tests"
    assert result.exit_code == 1
    assert counts == (1, 2)
    assert set(names) == {"test_a.TestA.test_bad", "test_a.TestA.test_broken"}


@pytest.mark.usefixtures("bare_python")
@pytest.mark.parametrize(
    ("paths", "arguments"),
    [
        (("tests/test_a.py",), "discover -s tests"),
        (("tests/__init__.py", "tests/test_a.py"), "discover -s tests -t ."),
        (("test/test_a.py", "test/test_b.py"), "discover -s test"),
        (("test_a.py",), "discover"),
        (("pkg/__init__.py", "pkg/tests/__init__.py", "pkg/tests/test_a.py"), "discover"),
        (("tests/a_test.py",), "discover -s tests -p '*_test.py'"),
        (("tests/unit/test_a.py", "tests/test_b.py"), "tests/test_b.py tests/unit/test_a.py"),
        (("tests/test_a.py", "tests/b_test.py"), "tests/b_test.py tests/test_a.py"),
        (("tests/test_a.py", "test_b.py"), "test_b.py tests/test_a.py"),
        (("pkg/test_a.py",), "pkg/test_a.py"),
        (("tests/test_a.py", "examples/one/tests/test_b.py"), "discover -s tests"),
    ],
)
async def test_unittest_finds_every_test_file(repo, paths, arguments):
    lay(repo, {path: "" if path.endswith("__init__.py") else PASSES for path in paths})
    command, result, counts, _ = await outcome(repo)
    assert command.display == f".venv/bin/python -m unittest {arguments}"
    n_files = sum(not path.endswith("__init__.py") and "examples" not in path for path in paths)
    assert (result.exit_code, counts) == (0, (n_files, 0))


@pytest.mark.usefixtures("bare_python")
async def test_a_module_that_unittest_cannot_import_counts_as_failed(repo):
    lay(repo, {"tests/test_a.py": f"import no_such_module\n{PASSES}"})
    _, result, counts, names = await outcome(repo)
    assert (result.exit_code, counts, names) == (1, (0, 1), ("test_a",))


@pytest.mark.usefixtures("bare_python")
def test_tests_that_only_pytest_can_run_are_no_unittest_tests(repo):
    lay(repo, {"tests/test_a.py": "def test_it():\n    assert True\n"})
    assert find_test_command(repo) is None


@pytest.mark.usefixtures("bare_python")
def test_pytest_is_found_in_the_repositorys_environment(repo):
    site = next((repo / ".venv").glob("lib*/python3*/site-packages"))
    lay(site, {"pytest/__init__.py": "raise SystemExit('must not be imported')\n"})
    lay(repo, {"tests/test_a.py": PASSES})
    command = find_test_command(repo)
    assert command.kind == "pytest"
    assert command.display.startswith(".venv/bin/python -m pytest")


@pytest.mark.parametrize("folder", [".venv", "venv"])
def test_a_repositorys_interpreter_is_never_run_to_find_out(repo, folder):
    lay(repo, {f"{folder}/bin/python": "#!/bin/sh\ntouch sprung\n", "tests/test_a.py": PASSES})
    (repo / folder / "bin/python").chmod(0o755)
    assert find_test_command(repo).argv[0] == str(repo / folder / "bin/python")
    assert not (repo / "sprung").exists()


@pytest.mark.parametrize(
    ("files", "display", "kind"),
    [
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, "npm test", "npm"),
        ({"Cargo.toml": "[package]\n"}, "cargo test", "cargo"),
        ({"go.mod": "module x\n"}, "go test ./...", "go"),
    ],
)
def test_other_languages_are_known_by_their_manifest(repo, files, display, kind):
    lay(repo, files)
    command = find_test_command(repo)
    assert (command.display, command.kind) == (display, kind)
    assert command.argv == tuple(display.split())


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"readme.md": "x"},
        {"mod.py": "x = 1\n"},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": '{"scripts": {"build": "x"}}'},
        {"package.json": '{"scripts": {"test": ""}}'},
        {"package.json": "[]"},
        {"package.json": "{ not json"},
        {"pyproject.toml": "[tool.black]\n"},
    ],
)
def test_a_repository_without_tests_has_no_command(repo, files):
    lay(repo, files)
    assert find_test_command(repo) is None


async def test_a_given_command_runs_in_the_shell_and_is_counted(repo):
    lay(repo, {"tests/test_a.py": ONE_OF_EACH})
    command = given(f"cd tests && {shlex.quote(sys.executable)} -m unittest test_a")
    assert command.kind == "given"
    result = await run(command.argv, repo, 100)
    assert parse_counts(command.kind, result.output, result.exit_code) == (1, 2)
    assert set(failing_names("given", result.output)) == {
        "test_a.TestA.test_bad",
        "test_a.TestA.test_broken",
    }


RUST = """pub fn add(a: i32, b: i32) -> i32 { a + b }
#[cfg(test)]
mod tests {
    #[test] fn adds() { assert_eq!(super::add(1, 2), 3); }
    #[test] fn fails() { assert_eq!(super::add(1, 2), 4); }
    #[test] #[ignore] fn later() {}
}
"""


@pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not installed")
async def test_cargo_runs_and_is_counted(repo):
    manifest = '[package]\nname = "sum"\nversion = "0.1.0"\nedition = "2021"\n'
    lay(repo, {"Cargo.toml": manifest, "src/lib.rs": RUST})
    _, result, counts, names = await outcome(repo)
    assert result.exit_code != 0
    assert (counts, names) == ((1, 1), ("tests::fails",))


NODE = """const test = require('node:test');
const assert = require('node:assert');
test('adds', () => assert.strictEqual(1 + 1, 2));
test('subtracts', () => assert.strictEqual(1 - 1, 2));
test.skip('later', () => {});
"""


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
@pytest.mark.parametrize("reporter", ["tap", "spec"])
async def test_node_runs_and_is_counted(repo, reporter):
    script = f"node --test --test-reporter={reporter}"
    lay(repo, {"package.json": f'{{"scripts": {{"test": "{script}"}}}}', "a.test.js": NODE})
    _, result, counts, names = await outcome(repo)
    assert result.exit_code == 1
    assert (counts, names) == ((1, 1), ("subtracts",))


GO = """package sum
import "testing"
func TestAdds(t *testing.T) {}
func TestFails(t *testing.T) { t.Run("deep", func(t *testing.T) { t.Error("no") }) }
"""


@pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")
async def test_go_runs_and_is_counted(repo):
    lay(repo, {"go.mod": "module sum\n", "sum_test.go": GO})
    _, result, counts, names = await outcome(repo)
    assert result.exit_code == 1
    assert (counts, names) == ((-1, 1), ("TestFails", "TestFails/deep"))


@pytest.mark.parametrize(
    ("kind", "output", "exit_code", "counts"),
    [
        ("pytest", "....\n4 passed in 0.03s\n", 0, (4, 0)),
        (
            "pytest",
            "== 2 failed, 3 passed, 1 skipped, 1 xfailed in 61.20s (0:01:01) ==\n",
            1,
            (3, 2),
        ),
        ("pytest", "1 passed, 1 xpassed, 2 errors in 0.10s\n", 1, (2, 2)),
        ("pytest", "1 failed, 2 passed, 4 warnings in 0.10s\n", 1, (2, 1)),
        ("pytest", "\nno tests ran in 0.01s\n", 5, (0, 0)),
        ("pytest", "1 failed in 0.01s\ncaptured from an inner run\n2 passed in 0.5s\n", 0, (2, 0)),
        ("pytest", "ImportError: no pytest\n", 1, (-1, -1)),
        ("unittest", "----\nRan 5 tests in 0.001s\n\nOK\n", 0, (5, 0)),
        ("unittest", "----\nRan 5 tests in 0.001s\n\nOK (skipped=2)\n", 0, (3, 0)),
        (
            "unittest",
            "Ran 6 tests in 0.0s\n\nFAILED (failures=1, errors=2, skipped=1)\n",
            1,
            (2, 3),
        ),
        ("unittest", "Ran 2 tests in 0.0s\n\nFAILED (unexpected successes=1)\n", 1, (1, 1)),
        ("unittest", "Ran 1 test in 0.0s\n\nFAILED (failures=3)\n", 1, (0, 3)),
        ("unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", 5, (0, 0)),
        ("unittest", "Traceback (most recent call last):\n", 1, (-1, -1)),
        (
            "npm",
            "Test Suites: 1 failed, 2 passed, 3 total\n"
            "Tests:       1 failed, 1 skipped, 14 passed, 16 total\n",
            1,
            (14, 1),
        ),
        ("npm", "Test Suites: 1 failed, 1 total\nTests:       0 total\n", 1, (0, 1)),
        (
            "npm",
            " Test Files  1 failed | 1 passed (2)\n      Tests  2 failed | 9 passed (11)\n",
            1,
            (9, 2),
        ),
        ("npm", " Test Files  1 failed (1)\n      Tests  no tests\n", 1, (0, 1)),
        ("npm", "      Tests  3 passed (3)\n", 0, (3, 0)),
        ("npm", "  12 passing (34ms)\n  1 pending\n  2 failing\n", 1, (12, 2)),
        ("npm", "ℹ tests 4\nℹ pass 2\nℹ fail 1\nℹ cancelled 1\n", 1, (2, 2)),
        ("npm", "  1 test failed\n  3 tests passed\n", 1, (3, 1)),
        ("npm", "sh: jest: not found\n", 127, (-1, -1)),
        (
            "cargo",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n"
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n",
            101,
            (4, 2),
        ),
        ("cargo", "error[E0308]: mismatched types\nerror: could not compile `x`\n", 101, (-1, -1)),
        ("go", "ok  \texample.org/x\t0.002s\n", 0, (-1, 0)),
        ("go", "--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\nPASS\n", 0, (2, 0)),
        ("go", "--- FAIL: TestA (0.00s)\n    a_test.go:5: no\nFAIL\nFAIL\tx\t0.002s\n", 1, (-1, 1)),
        ("go", "FAIL\texample.org/x [build failed]\n", 1, (-1, 1)),
        ("go", "go: cannot find main module\n", 1, (-1, -1)),
        ("given", "anything\n", 0, (-1, -1)),
        ("given", "12 passed in 1.20s\n", 0, (12, 0)),
        ("given", "2 passed in 0.1s\nTests:       1 failed, 3 passed, 4 total\n", 1, (5, 1)),
    ],
)
def test_counts_are_read_from_the_output(kind, output, exit_code, counts):
    assert parse_counts(kind, output, exit_code) == counts


@pytest.mark.parametrize(
    ("kind", "output", "names"),
    [
        (
            "pytest",
            "FAILED tests/test_a.py::test_b[x y] - AssertionError: a - b\nERROR tests/test_c.py\n",
            ("tests/test_a.py::test_b[x y]", "tests/test_c.py"),
        ),
        ("unittest", "FAIL: test_b (test_a.TestA)\nSays what.\n----\n", ("test_a.TestA.test_b",)),
        ("unittest", "ERROR: setUpClass (test_a.TestA)\n", ("test_a.TestA.setUpClass",)),
        (
            "unittest",
            "FAIL: test_b (test_a.TestA.test_b) (i=1)\nFAIL: test_b (test_a.TestA.test_b) (i=2)\n",
            ("test_a.TestA.test_b",),
        ),
        (
            "npm",
            "  ● cart › adds tax\n\n    expect(1)\n\n  ● cart › adds tax\n",
            ("cart › adds tax",),
        ),
        ("npm", " FAIL  src/a.test.ts > cart > adds tax\n", ("src/a.test.ts > cart > adds tax",)),
        (
            "npm",
            "  1 failing\n\n  1) cart\n       when full\n         adds tax:\n     AssertionError\n",
            ("cart when full adds tax",),
        ),
        ("cargo", "test a::ok ... ok\ntest a::bad ... FAILED\n", ("a::bad",)),
        (
            "cargo",
            "test src/lib.rs - add (line 3) ... FAILED\n",
            ("src/lib.rs - add (line 3)",),
        ),
        ("go", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/x (0.00s)\n", ("TestA", "TestA/x")),
        ("go", "FAIL\texample.org/x [build failed]\n", ("example.org/x",)),
        ("given", "make: nothing failed\n", ()),
    ],
)
def test_failing_tests_are_named_once_in_order(kind, output, names):
    assert failing_names(kind, output) == names


def test_finding_the_command_leaves_the_repository_as_it_was(repo):
    subprocess.run(("git", "-C", str(repo), "init", "-q"), check=True)
    lay(repo, {"tests/test_a.py": PASSES})
    find_test_command(repo)
    status = subprocess.run(
        ("git", "-C", str(repo), "status", "--porcelain", "-uall"), capture_output=True, check=True
    )
    assert status.stdout == b"?? tests/test_a.py\n"
