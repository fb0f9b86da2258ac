"""Runs one command where it can write to a few folders only and reaches no network.

Linux only. This file is run by its path, `python -I -S confine.py SETTINGS -- PROGRAM …`, and so
imports nothing of the project. The command gets user, mount, network and IPC namespaces of its
own, process ids of its own where the kernel lets them be seen, a read-only view of the system,
and a Landlock domain that forbids writes everywhere else. If any of this cannot be set up, the
command does not run.

Sources: namespaces(7), user_namespaces(7), mount_setattr(2), landlock(7).
"""

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

SETUP_FAILED = 125
"""Exit code where the sandbox could not be set up; nothing was run then."""
SETUP_MESSAGE = "the sandbox could not be set up"
"""What the output begins with then."""
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_ATTR_RDONLY = 1
_SYS_MOUNT_SETATTR = 442
_SYS_LANDLOCK_CREATE, _SYS_LANDLOCK_ADD, _SYS_LANDLOCK_RESTRICT = 444, 445, 446
_LANDLOCK_VERSION = 1
LEAST_LANDLOCK = 2
"""Oldest version that serves: the first that lets files move between folders."""
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_LAST_CAPABILITY = 63
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1

_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 13))  # remove and make entries of every kind
_SCOPES = 3  # abstract sockets and signals stay within the domain
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/ptmx")

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def landlock_abi() -> int:
    """Version of Landlock that the kernel speaks; 0 for none."""
    return max(0, int(_libc.syscall(_SYS_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION)))


# ── namespaces ───────────────────────────────────────────────────────────────────────────────────


def _enter(*, own_pids: bool) -> None:
    """Leave the user, mount, network and IPC namespaces; a child leaves that of process ids."""
    uid, gid = os.getuid(), os.getgid()
    flags = _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWIPC
    _check(_libc.unshare(flags | (_CLONE_NEWPID if own_pids else 0)), "namespaces")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        # Servers that tests start on the loopback device must be reachable from the tests.
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    done = _libc.mount(
        os.fsencode(source), os.fsencode(target), kind.encode(), flags, options.encode()
    )
    _check(done, f"mount {target}")


def _set_read_only(path: str, on: bool, *, below: bool = False) -> None:
    attributes = struct.pack(
        "QQQQ", _MOUNT_ATTR_RDONLY if on else 0, 0 if on else _MOUNT_ATTR_RDONLY, 0, 0
    )
    flags = _AT_RECURSIVE if below else 0
    done = _libc.syscall(
        _SYS_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), flags, attributes, len(attributes)
    )
    _check(done, f"read-only {path}")


def _hide(path: str) -> None:
    if os.path.isdir(path):  # noqa: PTH112
        _mount("none", path, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=64k,mode=755")
    else:
        _mount("/dev/null", path, "", _MS_BIND)


def _arrange(settings: Mapping[str, Any], *, own_pids: bool) -> list[str]:
    """Make all that is mounted read-only but the folders to write to; returns these."""
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    writable = [path for _, path in settings["write"]]
    for path in settings["hide"]:
        _hide(path)
    if os.path.isdir("/dev/shm"):  # noqa: PTH112
        _mount("none", "/dev/shm", "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1g,mode=1777")
        writable.append("/dev/shm")
    # Terminals of its own: it must not write to that of the user.
    with contextlib.suppress(OSError):
        options = "newinstance,ptmxmode=0666,mode=620"
        _mount("devpts", "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, options)
        writable.append("/dev/pts")
    if own_pids:
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    # A mount cannot be renamed away, so what is read-only stays where it is.
    for source, path in (*settings["write"], *((one, one) for one in settings["read_only"])):
        _mount(source, path, "", _MS_BIND | _MS_REC)
    _set_read_only("/", on=True, below=True)
    for path in writable:
        _set_read_only(path, on=False)
    return writable


def _restrict(writable: list[str]) -> None:
    """Forbid writes outside `writable` for this process and all that it starts."""
    abi = landlock_abi()
    if abi < LEAST_LANDLOCK:
        raise OSError(0, "the kernel has no Landlock, or one that is too old")
    on_file = _WRITE_FILE | (_TRUNCATE if abi >= 3 else 0)
    on_folder = on_file | _CHANGE_FOLDER | _REFER
    rules = struct.pack("QQQ", on_folder, 0, _SCOPES)
    size = 24 if abi >= 6 else 8
    domain = _check(_libc.syscall(_SYS_LANDLOCK_CREATE, rules, size, 0), "Landlock")
    for path in (*writable, *_DEVICES):
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        allowed = on_folder if os.path.isdir(path) else on_file  # noqa: PTH112
        rule = struct.pack("=Qi", allowed, place)
        _check(_libc.syscall(_SYS_LANDLOCK_ADD, domain, 1, rule, 0), f"Landlock {path}")
        os.close(place)
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    for capability in range(_LAST_CAPABILITY + 1):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # the kernel knows no more of them
    _check(_libc.syscall(_SYS_LANDLOCK_RESTRICT, domain, 0), "Landlock")
    os.close(domain)


# ── processes ────────────────────────────────────────────────────────────────────────────────────


def _become(command: list[str]) -> NoReturn:
    """Turn into the command."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, programs expect them
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE)


def _prepare(settings: Mapping[str, Any], *, own_pids: bool) -> None:
    folder = os.getcwd()  # noqa: PTH109
    _restrict(_arrange(settings, own_pids=own_pids))
    os.chdir(folder)  # the folder it was in is now below a mount


def _relay(child: int, statuses: int) -> NoReturn:
    """Outside: wait for the first process inside, then end as the command did."""
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)  # the command gets it too, and decides
    os.waitpid(child, 0)
    answer = os.read(statuses, 16)
    status = int(answer) if answer else signal.SIGKILL
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _first(command: list[str], statuses: int) -> NoReturn:
    """Inside, process 1: start the command, reap orphans, and take all with it when it ends."""
    child = os.fork()
    if child == 0:
        os.close(statuses)
        _become(command)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        ended, status = os.wait()
        if ended == child:
            os.write(statuses, str(status).encode())
            os._exit(0)


def _run(settings: Mapping[str, Any], command: list[str], *, own_pids: bool) -> NoReturn:
    _enter(own_pids=own_pids)
    if not own_pids:
        _prepare(settings, own_pids=False)
        _become(command)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child != 0:
        os.close(write_end)
        _relay(child, read_end)
    os.close(read_end)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        _prepare(settings, own_pids=True)
    except OSError as error:
        _say(error)
        os.write(write_end, str(SETUP_FAILED << 8).encode())
        os._exit(0)
    _first(command, write_end)


def _say(error: OSError) -> None:
    print(f"{SETUP_MESSAGE}: {error.strerror}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> NoReturn:
    """Run the command; does not return.

    Args:
        arguments: the settings as JSON (`write` is a list of pairs: what to write to, and the path
            at which it is seen; `hide` and `read_only` are lists of paths; `own_pids` is true or
            false), `--`, and the command.
    """
    settings, command = json.loads(arguments[0]), arguments[2:]
    own_pids = bool(settings.pop("own_pids"))
    try:
        _run(settings, command, own_pids=own_pids)
    except OSError as error:
        _say(error)
        os._exit(SETUP_FAILED)


if __name__ == "__main__":
    main(sys.argv[1:])
