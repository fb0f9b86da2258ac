"""What of a repository an agent may see: one path filter for listing, reading and writing."""

import fnmatch
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from agspec_tui.errors import ToolError, UsageError
from agspec_tui.session.content import decoded, not_text

MAX_FILE_BYTES = 256 * 1024
"""Largest file that is listed or read, in bytes."""

INSTALLED_FOLDERS = frozenset(
    {
        "__pycache__",
        ".eggs",
        ".git",
        ".gradle",
        ".hg",
        ".hypothesis",
        ".mypy_cache",
        ".next",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "bower_components",
        "node_modules",
        "site-packages",
        "venv",
    }
)
"""Folders that tools fill, whether or not they are ignored; never watched."""

SKIPPED_FOLDERS = INSTALLED_FOLDERS | {
    ".idea",
    "build",
    "coverage",
    "dist",
    "env",
    "target",
    "vendor",
}
"""Folders that hold no source; left out where no version control says what is ignored."""

_CONTROL_FOLDERS = frozenset({".git", ".hg", ".svn"})
SECRET_FOLDERS = frozenset({".aws", ".azure", ".docker", ".gnupg", ".kube", ".ssh"})
"""Folders in which every file counts as a secret."""
_SECRET_NAMES = (
    ".env*",
    "*.env",
    "*.gpg",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.p12",
    "*.p8",
    "*.pem",
    "*.pfx",
    "*.ppk",
    "*.tfstate",
    "*.tfstate.backup",
    "*.tfvars",
    ".boto",
    ".dockercfg",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".terraformrc",
    ".vault_pass*",
    "_netrc",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "credentials.y*ml",
    "client_secret*.json",
    "gha-creds-*.json",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "id_rsa*",
    "secrets.json",
    "secrets.toml",
    "secrets.y*ml",
    "service-account*.json",
    "service_account*.json",
)
_GIT_PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
_GIT_LIMIT_S = 60.0
_SNIFF_BYTES = 8192


def check_repo(path: Path) -> Path:
    """The resolved root of a repository.

    Raises:
        UsageError: the path is missing, is a file, or may not be opened.
    """
    hint = "REPO is the folder of the project to work on"
    try:
        root = path.resolve(strict=True)
        if not root.is_dir():
            raise UsageError(f"{path} is a file, not a folder", hint)
        with os.scandir(root):
            return root
    except FileNotFoundError as error:
        raise UsageError(f"{path} does not exist", hint) from error
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"{path} cannot be opened: {error}", hint) from error


def is_secret(path: str) -> bool:
    """True if a name on the path says that it holds keys, passwords or the like."""
    *folders, name = PurePosixPath(path.casefold()).parts or ("",)
    if name.startswith("id_") and "." not in name.removesuffix(".pub"):
        return True  # the names of private keys: id_rsa, id_ed25519_sk, id_deploy
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _SECRET_NAMES) or any(
        folder in SECRET_FOLDERS for folder in folders
    )


def locate(repo: Path, path: str) -> Path:
    """The real place of a path of the repository, links followed. It need not exist.

    Both the name and the place it resolves to must be inside the repository and no secret.

    Raises:
        ToolError: the path is empty, absolute, climbs out of the repository by `..` or by a
            link, is a secret, or belongs to the version control.
    """
    pure = PurePosixPath(path)
    if not pure.parts or "\0" in path or path.endswith("/"):
        raise ToolError(f"{path!r} is not the path of a file", "give a path inside the repository")
    if pure.is_absolute() or ".." in pure.parts:
        raise ToolError(
            f"{path}: outside the repository",
            "give a path relative to the repository, without `..`",
        )
    _refuse_private(path, str(pure))
    real = Path(os.path.realpath(repo / pure))
    try:
        inside = real.relative_to(repo).as_posix()
    except ValueError:
        raise ToolError(
            f"{path}: a link that leads outside the repository ({real})",
            "only files inside the repository are read or written",
        ) from None
    _refuse_private(path, inside)
    return real


def _refuse_private(shown: str, path: str) -> None:
    if is_secret(path):
        raise ToolError(f"{shown}: may hold secrets", "secret files are neither read nor written")
    if any(part.casefold() in _CONTROL_FOLDERS for part in PurePosixPath(path).parts):
        raise ToolError(
            f"{shown}: belongs to the version control", "only the project's own files are touched"
        )


def list_files(repo: Path) -> tuple[str, ...]:
    """Text files of the repository that an agent may see, sorted, with `/`.

    Ignore files are respected. Left out are binary, secret and large files, links that lead
    outside, and names that are not UTF-8 or hold control characters.
    """
    return tuple(sorted(name for name in set(list_names(repo)) if _may_be_shown(repo, name)))


def _may_be_shown(repo: Path, name: str) -> bool:
    if not name.isprintable():  # false for undecodable bytes too
        return False
    try:
        real = locate(repo, name)
        if not real.is_file() or real.stat().st_size > MAX_FILE_BYTES:
            return False
        with real.open("rb") as file:
            return b"\0" not in file.read(_SNIFF_BYTES)
    except (OSError, ToolError):
        return False


def list_names(repo: Path) -> tuple[str, ...]:
    """Every file of the repository that the ignore rules leave, by name only, unsorted."""
    names = _git_files(repo)
    return tuple(_walked_files(repo) if names is None else names)


def ignored_folders(repo: Path) -> frozenset[str] | None:
    """Folders that the ignore rules leave out as a whole, relative to the root, outermost only.

    None without version control: then these are the `SKIPPED_FOLDERS`, wherever they are.
    """
    if _git_root(repo) is None:
        return None
    arguments = ("ls-files", "-oi", "--exclude-standard", "--directory", "-z")
    answer = _git(repo, *arguments)
    names = _split(answer.stdout) if answer is not None and answer.returncode == 0 else []
    return frozenset(name.rstrip("/") for name in names if name.endswith("/"))


def git_lock(repo: Path) -> Path | None:
    """The file that exists while git changes the work tree; None without version control."""
    answer = _git(repo, "rev-parse", "--git-path", "index.lock")
    if answer is None or answer.returncode != 0:
        return None
    return repo / os.fsdecode(answer.stdout.rstrip(b"\n"))


def _walked_files(repo: Path) -> list[str]:
    names: list[str] = []
    for folder, folders, files in os.walk(repo):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        here = Path(folder).relative_to(repo)
        names += [(here / name).as_posix() for name in files]
    return names


def _git(repo: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[bytes] | None:
    """Run git in the repository; None without git or if it cannot be waited for."""
    environment = {k: v for k, v in os.environ.items() if k not in _GIT_PLACES}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    # A repository's own configuration may name a program for fsmonitor: never run it.
    argv = ("git", "-c", "core.fsmonitor=false", "-C", str(repo), *arguments)
    try:
        return subprocess.run(
            argv,
            input=os.fsencode(text),
            capture_output=True,
            check=False,
            env=environment,
            timeout=_GIT_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _split(output: bytes) -> list[str]:
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def _git_root(repo: Path) -> Path | None:
    """Root of the work tree the repository lies in; None if in none, or if that ignores it."""
    answer = _git(repo, "rev-parse", "--show-toplevel")
    if answer is None or answer.returncode != 0:
        return None
    root = Path(os.path.realpath(os.fsdecode(answer.stdout.rstrip(b"\n"))))
    if root == repo:
        return root
    ignored = _git(root, "check-ignore", "-q", "--", str(repo))
    return None if ignored is None or ignored.returncode == 0 else root


def _git_files(repo: Path) -> list[str] | None:
    if _git_root(repo) is None:
        return None
    answer = _git(repo, "ls-files", "-co", "--exclude-standard", "-z")
    return None if answer is None or answer.returncode != 0 else _split(answer.stdout)


def ignored(repo: Path, paths: Sequence[str]) -> frozenset[str]:
    """Those of the paths that the ignore rules leave out; tracked files never are.

    Without version control these are the paths inside `SKIPPED_FOLDERS`.

    Raises:
        ToolError: a path is refused by `locate`.
    """
    # Links are resolved first, because git will not look beyond one.
    real = {path: locate(repo, path).relative_to(repo).as_posix() for path in paths}
    if _git_root(repo) is None:
        return frozenset(path for path, place in real.items() if _in_skipped_folder(place))
    answer = _git(repo, "check-ignore", "-z", "--stdin", text="\0".join(real.values()))
    hit = set(_split(answer.stdout)) if answer is not None and answer.returncode == 0 else set()
    return frozenset(path for path, place in real.items() if place in hit)


def _in_skipped_folder(path: str) -> bool:
    return any(part in SKIPPED_FOLDERS for part in PurePosixPath(path).parts[:-1])


def refuse_ignored(repo: Path, paths: Iterable[str]) -> None:
    """Refuse paths that the ignore rules leave out.

    Raises:
        ToolError: the first of them.
    """
    hit = ignored(repo, tuple(paths))
    if hit:
        raise ToolError(
            f"{min(hit)}: ignored by the repository's ignore rules",
            "ignored files are neither read nor written",
        )


def may_be_made(repo: Path, path: str) -> bool:
    """Whether an agent may make a file: nothing has its name, and no rule keeps it away."""
    return not why_not_made(repo, path)


def why_not_made(repo: Path, path: str) -> str:
    """Why an agent may not make a file, in a few words; empty if it may."""
    try:
        real = locate(repo, path)
        refuse_ignored(repo, (path,))
    except ToolError as error:
        return error.message.removeprefix(f"{path}: ")
    if os.path.lexists(repo / path) or os.path.lexists(real):
        return "it is there already, and not shown to agents"
    return ""


def why_unread(repo: Path, path: str) -> str:
    """Why a file that is there is not shown; empty if it is, or if nothing is there."""
    try:
        if os.path.lexists(locate(repo, path)):
            read_text_file(repo, path)
    except ToolError as error:
        return error.message
    except OSError:
        pass  # a name that no file can have
    return ""


def read_text_file(repo: Path, path: str) -> str:
    """Text of a file as a prompt shows it: `\\n` line ends, no byte order mark.

    Raises:
        ToolError: the file is missing, binary, not UTF-8, larger than `MAX_FILE_BYTES`, ignored,
            secret, or outside the repository.
    """
    real = locate(repo, path)
    refuse_ignored(repo, (path,))
    try:
        if not real.is_file():
            what = "is a folder" if real.is_dir() else "no such file"
            raise ToolError(f"{path}: {what}", "give the path of a file of the repository")
        n_bytes = real.stat().st_size
        if n_bytes > MAX_FILE_BYTES:
            raise ToolError(
                f"{path}: {n_bytes} bytes; not shown", f"files up to {MAX_FILE_BYTES} bytes are"
            )
        data = real.read_bytes()
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}", "the file could not be read") from error
    reason = not_text(path, data)
    if reason:
        raise ToolError(f"{path}: {reason}; not shown", "only UTF-8 text is read")
    return decoded(data) or ""
