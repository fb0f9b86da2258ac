"""Keeps commands from the network and from files outside the repository.

Bubblewrap where it is installed and works, else namespaces with Landlock (`confine.py`), else
nothing, and then the user is asked. Which of them it is is found out by running a command.
"""

import contextlib
import functools
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import platformdirs

from agspec_tui.session import confine
from agspec_tui.session.repo import SECRET_FOLDERS, is_secret

SandboxKind = Literal["bubblewrap", "namespaces", "none"]
"""What confines commands here."""

_LIMIT_S = 20.0
_PRIVATE = (
    *sorted(SECRET_FOLDERS),
    ".cache/huggingface/token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".mozilla",
    ".password-store",
)
"""Files and folders below the user's home folder that commands see empty, beside the files right
in it whose names say that they hold secrets."""
_SOCKETS = (
    "/run/containerd",
    "/run/dbus",
    "/run/docker.sock",
    "/run/podman",
    "/run/snapd.socket",
    "/run/user",
    "/tmp/.X11-unix",
)
"""Places of sockets that lead out of the sandbox; namespaces do not close them."""
AGENT_VARIABLES = frozenset(
    {
        "DBUS_SESSION_BUS_ADDRESS",
        "DISPLAY",
        "DOCKER_HOST",
        "GPG_AGENT_INFO",
        "SSH_AGENT_PID",
        "SSH_AUTH_SOCK",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
    }
)
"""Variables that name a way out of the sandbox; commands in it do not get them."""
_CACHES: Mapping[str, str] = {"GOCACHE": "go", "npm_config_cache": "npm"}
"""Caches that tools cannot do without, and that are therefore moved to a folder of ours."""


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one command."""

    root: Path
    """Resolved root of the repository."""
    temp: Path
    """A folder for temporary files, which no other command uses."""
    caches: Path = field(default_factory=lambda: caches_dir())
    """A folder for the caches of tools."""
    keeps_root: bool = False
    """Whether even the repository is read-only."""
    copy: Path | None = None
    """A copy of the repository, which commands find in its place; None for the repository."""

    def environment(self) -> dict[str, str]:
        """Variables that lead tools to these folders."""
        found = {name: str(self.caches / folder) for name, folder in _CACHES.items()}
        return found | {name: str(self.temp) for name in ("TMPDIR", "TMP", "TEMP")}

    def source(self, path: str) -> str:
        """What is seen at a path that can be written to."""
        is_root = self.copy is not None and path == os.path.realpath(self.root)
        return os.path.realpath(self.copy) if self.copy is not None and is_root else path

    def writable(self) -> list[str]:
        """Folders to write to; they are made if they are missing."""
        self.caches.mkdir(parents=True, exist_ok=True)
        roots = [] if self.keeps_root else [self.root]
        return [os.path.realpath(folder) for folder in (*roots, self.temp, self.caches)]


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What confines commands on this machine."""

    kind: SandboxKind
    """How."""
    own_pids: bool = False
    """Whether a command sees and can signal its own processes only, all of which end with it."""
    reason: str = ""
    """Why there is none; empty if there is one."""

    def wrap(self, command: tuple[str, ...], places: Places) -> tuple[str, ...]:
        """The program and arguments that run a command confined."""
        if self.kind == "none":
            return command
        writable = places.writable()
        hidden = _hidden(writable)
        binds = [(places.source(path), path) for path in writable]
        read_only = [] if places.keeps_root else _guarded(places.root)
        if self.kind == "bubblewrap":
            return (*_bubblewrap(binds, hidden, read_only), "--", *command)
        settings = {
            "write": binds,
            "hide": hidden,
            "read_only": read_only,
            "own_pids": self.own_pids,
        }
        # Isolated and by path, so that no file of the repository can be imported instead.
        python = (sys.executable, "-I", "-S", inspect.getfile(confine))
        return (*python, json.dumps(settings), "--", *command)


def caches_dir() -> Path:
    """Where tools that commands run keep their caches. Not created here."""
    return Path(platformdirs.user_cache_dir("agspec-tui")) / "commands"


@functools.cache
def find_sandbox() -> Sandbox:
    """The best sandbox that works here. It is tried once; takes a fraction of a second."""
    if sys.platform != "linux":
        return Sandbox("none", reason=f"there is none for {sys.platform} yet")
    reasons: list[str] = []
    for sandbox in (
        Sandbox("bubblewrap", own_pids=True),
        Sandbox("namespaces", own_pids=True),
        Sandbox("namespaces"),
    ):
        reason = why_not(sandbox)
        if not reason:
            return sandbox
        reasons.append(reason)
    return Sandbox("none", reason=f"bubblewrap: {reasons[0]}; namespaces: {reasons[-1]}")


def why_not(sandbox: Sandbox) -> str:
    """Why a sandbox does not work here; empty if it does."""
    if sandbox.kind == "bubblewrap" and shutil.which("bwrap") is None:
        return "not installed"
    if sandbox.kind == "namespaces" and confine.landlock_abi() < confine.LEAST_LANDLOCK:
        return "the kernel has no Landlock"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        places = Places(root, root, root)
        command = sandbox.wrap(("/bin/sh", "-c", "echo written > inside"), places)
        try:
            done = subprocess.run(
                command,
                cwd=root,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                text=True,
                timeout=_LIMIT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode == 0 and (root / "inside").is_file():
            return ""
        return " ".join(done.stderr.split()) or f"exit code {done.returncode}"


def _hidden(writable: Iterable[str]) -> list[str]:
    """Existing paths that commands must not see, but for those a writable folder lies in."""
    home = Path.home()
    agent = os.environ.get("SSH_AUTH_SOCK", "")
    private = [str(home / name) for name in _PRIVATE] + _secret_files(home)
    wanted = [*private, *_SOCKETS, *([agent] if agent else [])]
    found = dict.fromkeys(os.path.realpath(path) for path in wanted if Path(path).exists())
    needed = [*writable, os.path.realpath(sys.executable)]
    return [path for path in found if not any(f"{one}/".startswith(f"{path}/") for one in needed)]


def _secret_files(folder: Path) -> list[str]:
    """Files right in a folder whose names say that they hold secrets."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        return [one.path for one in found if is_secret(one.name) and one.is_file()]
    return []


def _guarded(root: Path) -> list[str]:
    """The version control: settings or hooks planted there would run outside the sandbox."""
    git = root / ".git"
    return [str(git)] if git.exists() and not git.is_symlink() else []


def _bubblewrap(
    binds: Iterable[tuple[str, str]],
    hidden: Iterable[str],
    read_only: Iterable[str],
) -> list[str]:
    found = ["bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    found += ["--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev"]
    found += ["--proc", "/proc"]
    for path in hidden:
        is_folder = Path(path).is_dir()
        found += ["--tmpfs", path] if is_folder else ["--ro-bind", "/dev/null", path]
    for source, path in binds:
        found += ["--bind", source, path]
    for path in read_only:
        found += ["--ro-bind", path, path]
    return found
