import subprocess

import pytest

from agspec_tui.session.repo import MAX_FILE_BYTES
from agspec_tui.session.skipping import skip_reason

LINE = b"value = compute(first, second)\n"
REASONS = [
    ("src/a.py", LINE, ""),
    ("empty.py", b"", ""),
    ("pkg/ü name.py", "ü\u2028\n".encode(), ""),
    ("at_limit.txt", LINE * (MAX_FILE_BYTES // len(LINE)), ""),
    ("one_long_line.py", LINE * 200 + b"DATA = '" + b"x" * 1500 + b"'\n", ""),
    ("lock.py", LINE, ""),
    ("package-lock.json", b"{}", "package-lock.json is a lock file."),
    ("web/yarn.lock", b"", "web/yarn.lock is a lock file."),
    ("pnpm-lock.yaml", b"", "pnpm-lock.yaml is a lock file."),
    ("go.sum", b"", "go.sum is a lock file."),
    ("a.py~", LINE, "a.py~ is a temporary file of an editor or a tool."),
    (".a.py.swp", LINE, ".a.py.swp is a temporary file of an editor or a tool."),
    ("pkg/.agspec-0f.tmp", LINE, "pkg/.agspec-0f.tmp is a temporary file of an editor or a tool."),
    ("jquery.min.js", b"f()\n", "jquery.min.js is a minified file."),
    (
        "node_modules/a.js",
        LINE,
        "node_modules/a.js is in a folder of installed or generated files.",
    ),
    (".env", b"A=1\n", ".env: may hold secrets."),
    ("keys/id_rsa", b"x\n", "keys/id_rsa: may hold secrets."),
    (".git/config", b"x\n", ".git/config is in a folder of installed or generated files."),
    ("../a.py", LINE, "../a.py: outside the repository."),
    ("link.py", LINE, "link.py: a link that leads outside the repository"),
    ("bell\x07.py", LINE, "'bell\\x07.py' holds control characters."),
    ("noise.log", LINE, "noise.log is ignored by the repository's ignore rules."),
    ("out/deep/a.py", LINE, "out/deep/a.py is ignored by the repository's ignore rules."),
    ("big.py", b"x" * (MAX_FILE_BYTES + 1), "big.py is larger than 256 KiB."),
    ("a.png", b"\x89PNG\r\n\0\0", "a.png is binary, 8 bytes, type PNG image."),
    ("a.xlsx", b"PK\x03\x04\0\0", "a.xlsx is binary, 6 bytes, type Excel spreadsheet."),
    ("a.ods", b"PK\x03\x04\0\0", "a.ods is binary, 6 bytes, type OpenDocument spreadsheet."),
    ("b.png", b"\x89PNG\r\n", "b.png is binary, 6 bytes, type PNG image."),
    ("a.bin", b"\0\1", "a.bin is binary, 2 bytes, type unknown."),
    ("latin.py", b"caf\xe9\n", "latin.py is not UTF-8 text (byte 3), 5 bytes."),
    (
        "bundle.js",
        b"var a;\n" + b"f();" * 400,
        "bundle.js is minified: most of it is in lines of more than 1000 bytes.",
    ),
]


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    root = tmp_path_factory.mktemp("skipping").resolve()
    subprocess.run(("git", "init", "-q", str(root)), check=True)
    (root / ".gitignore").write_text("*.log\n/out/\n")
    (root / "link.py").symlink_to(root.parent / "elsewhere.py")
    return root


@pytest.mark.parametrize(("path", "data", "reason"), REASONS, ids=[row[0] for row in REASONS])
def test_a_file_is_skipped_for_a_reason_that_is_a_sentence(repo, path, data, reason):
    given = skip_reason(repo, path, data)
    assert given.startswith(reason) if "link" in path else given == reason


def test_a_file_that_is_not_read_yet_is_judged_by_its_name_alone(repo):
    assert skip_reason(repo, "a.png") == ""
    assert skip_reason(repo, "yarn.lock") == "yarn.lock is a lock file."
    assert "ignored" in skip_reason(repo, "a.py", is_ignored=True)
    assert skip_reason(repo, "noise.log", is_ignored=False) == ""
