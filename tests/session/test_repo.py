import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from agspec_tui.errors import ToolError, UsageError
from agspec_tui.session.repo import (
    MAX_FILE_BYTES,
    check_repo,
    ignored,
    is_secret,
    list_files,
    locate,
    read_text_file,
)


@pytest.fixture
def repo(tmp_path):
    root = (tmp_path / "repo").resolve()
    root.mkdir()
    return root


def put(root, path, data="text\n"):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data if isinstance(data, bytes) else data.encode())
    return target


def git(root, *arguments):
    subprocess.run(("git", "-C", str(root), *arguments), check=True, capture_output=True)


def test_a_work_tree_lists_tracked_and_new_files_but_not_ignored_ones(repo):
    git(repo, "init", "-q")
    put(repo, ".gitignore", "*.log\n/out/\n")
    put(repo, "a.py")
    put(repo, "pkg/ü name.py")
    put(repo, "noise.log")
    put(repo, "out/made.py")
    put(repo, "build/kept.py")
    put(repo, "gone.py")
    git(repo, "add", "a.py", "gone.py")
    (repo / "gone.py").unlink()
    assert list_files(repo) == (".gitignore", "a.py", "build/kept.py", "pkg/ü name.py")


def test_a_subfolder_of_a_work_tree_lists_its_own_paths(repo):
    git(repo, "init", "-q")
    put(repo, "outer.py")
    put(repo, ".gitignore", "*.log\n")
    put(repo, "examples/one/a.py")
    put(repo, "examples/one/tests/test_a.py")
    put(repo, "examples/one/b.log")
    assert list_files(repo / "examples/one") == ("a.py", "tests/test_a.py")


def test_a_folder_that_an_outer_work_tree_ignores_is_walked(repo):
    git(repo, "init", "-q")
    put(repo, ".gitignore", "/scratch/\n")
    put(repo, "scratch/one/a.py")
    inner = repo / "scratch/one"
    assert list_files(inner) == ("a.py",)
    assert read_text_file(inner, "a.py") == "text\n"


def test_without_version_control_the_folders_without_source_are_skipped(repo):
    for folder in ("node_modules", ".venv", "venv", "__pycache__", "build", "dist", "target"):
        put(repo, f"{folder}/x.py")
        put(repo, f"pkg/{folder}/x.py")
    put(repo, "pkg/a.py")
    put(repo, "b.py")
    assert list_files(repo) == ("b.py", "pkg/a.py")


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
def test_binary_secret_large_and_outside_files_are_not_listed(repo, tmp_path, with_git):
    if with_git:
        git(repo, "init", "-q")
    put(repo, "a.py")
    put(repo, "image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    put(repo, ".env.production", "KEY=1\n")
    put(repo, "keys/server.pem")
    put(repo, "big.py", b"x" * (MAX_FILE_BYTES + 1))
    put(repo, "at_limit.py", b"x" * MAX_FILE_BYTES)
    put(tmp_path, "outside.py")
    (repo / "leads_out.py").symlink_to(tmp_path / "outside.py")
    (repo / "dangling.py").symlink_to("nowhere.py")
    (repo / "settings").symlink_to(".env.production")
    (repo / "inner.py").symlink_to("a.py")
    os.mkfifo(repo / "pipe.py")
    assert list_files(repo) == ("a.py", "at_limit.py", "inner.py")


def test_names_that_cannot_be_shown_are_not_listed(repo):
    git(repo, "init", "-q")
    put(repo, "a.py")
    put(repo, "two\nlines.py")
    with contextlib.suppress(OSError):  # file systems that hold UTF-8 names only
        (repo / os.fsdecode(b"caf\xe9.py")).write_text("x")
    assert list_files(repo) == ("a.py",)


def test_a_program_in_the_repositorys_own_git_configuration_is_not_run(repo):
    git(repo, "init", "-q")
    put(repo, "a.py")
    trap = put(repo, "trap.sh", '#!/bin/sh\ntouch "$(dirname "$0")/sprung"\n')
    trap.chmod(0o755)
    git(repo, "config", "core.fsmonitor", str(trap))
    assert list_files(repo) == ("a.py", "trap.sh")
    assert not (repo / "sprung").exists()


def test_variables_of_an_outer_git_command_do_not_mislead(repo, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(repo, "init", "-q")
    put(repo, "a.py")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert list_files(repo) == ("a.py",)


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        (".env", True),
        (".env.local", True),
        (".envrc", True),
        ("prod.env", True),
        ("deep/Server.PEM", True),
        ("id_rsa", True),
        ("id_ed25519.pub", True),
        (".ssh/config", True),
        ("home/.aws/config", True),
        ("credentials", True),
        ("credentials.json", True),
        ("secrets.yaml", True),
        ("tls/site.key", True),
        ("environment.py", False),
        ("credentials.py", False),
        ("keys.py", False),
        ("keyboard.keymap", False),
        ("tests/test_secrets.py", False),
    ],
)
def test_secrets_are_known_by_name(path, secret):
    assert is_secret(path) is secret


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "not the path of a file"),
        (".", "not the path of a file"),
        ("pkg/", "not the path of a file"),
        ("a\0b", "not the path of a file"),
        ("/etc/passwd", "outside the repository"),
        ("../outside.py", "outside the repository"),
        ("pkg/../../outside.py", "outside the repository"),
        (".env", "may hold secrets"),
        (".git/hooks/pre-commit", "version control"),
        (".GIT/config", "version control"),
        ("sub/.git/config", "version control"),
    ],
)
def test_paths_that_are_not_the_agents_business_are_refused(repo, path, message):
    with pytest.raises(ToolError, match=message):
        locate(repo, path)


@pytest.mark.parametrize(
    ("link", "target", "path", "message"),
    [
        ("out.py", "../outside.py", "out.py", "leads outside"),
        ("dangling.py", "../not-there.py", "dangling.py", "leads outside"),
        ("folder", "..", "folder/outside.py", "leads outside"),
        ("cfg", ".env", "cfg", "may hold secrets"),
        ("hooks", ".git/hooks", "hooks/pre-commit", "version control"),
    ],
)
def test_links_are_judged_by_where_they_lead(repo, link, target, path, message):
    (repo / link).symlink_to(target)
    with pytest.raises(ToolError, match=message):
        locate(repo, path)


def test_a_link_within_the_repository_is_followed(repo):
    put(repo, "real/a.py")
    (repo / "short").symlink_to("real")
    assert locate(repo, "short/a.py") == repo / "real/a.py"
    assert locate(repo, "./short//new.py") == repo / "real/new.py"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\nb\n", "a\nb\n"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"a\rb\r", "a\nb\n"),
        (b"\xef\xbb\xbfa\n", "a\n"),
        (b"", ""),
        ("ünï\n".encode(), "ünï\n"),
    ],
)
def test_text_is_read_as_a_prompt_shows_it(repo, data, text):
    put(repo, "a.txt", data)
    assert read_text_file(repo, "a.txt") == text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04\0\0rest", "binary, 10 bytes, type zip archive; not shown"),
        (b"caf\xe9\n", r"not UTF-8 text \(byte 3\), 5 bytes; not shown"),
        (b"x" * (MAX_FILE_BYTES + 1), f"{MAX_FILE_BYTES + 1} bytes; not shown"),
    ],
)
def test_d10_what_is_not_text_is_named_and_not_shown(repo, data, message):
    put(repo, "a.bin", data)
    with pytest.raises(ToolError, match=message):
        read_text_file(repo, "a.bin")


def test_missing_files_folders_and_loops_are_tool_errors(repo):
    (repo / "pkg").mkdir()
    (repo / "loop").symlink_to("loop")
    for path, message in (("no.py", "no such file"), ("pkg", "is a folder"), ("loop", "loop")):
        with pytest.raises(ToolError, match=message):
            read_text_file(repo, path)


def test_ignored_files_are_not_read_by_name_either(repo):
    git(repo, "init", "-q")
    put(repo, ".gitignore", "*.log\nlocal/\n")
    put(repo, "a.log")
    put(repo, "tracked.log")
    git(repo, "add", "-f", "tracked.log")
    (repo / "alias.txt").symlink_to("a.log")
    assert ignored(repo, ("a.log", "tracked.log", "local/x/y.py", "b.py", "alias.txt")) == {
        "a.log",
        "local/x/y.py",
        "alias.txt",
    }
    with pytest.raises(ToolError, match="ignored"):
        read_text_file(repo, "a.log")
    assert read_text_file(repo, "tracked.log") == "text\n"


def test_a_repository_is_a_folder_that_can_be_opened(repo, tmp_path):
    (tmp_path / "link").symlink_to(repo)
    assert check_repo(tmp_path / "link") == repo
    put(tmp_path, "file.py")
    for path, message in (
        (tmp_path / "missing", "does not exist"),
        (tmp_path / "file.py", "is a file"),
        (tmp_path / "file.py" / "below", "cannot be opened"),
        (Path("nul\0"), "cannot be opened"),
    ):
        with pytest.raises(UsageError, match=message) as caught:
            check_repo(path)
        assert caught.value.hint
