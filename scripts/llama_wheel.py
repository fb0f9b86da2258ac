"""Install llama-cpp-python with the flags this project needs, compiling it at most once per user.

pip's own wheel cache does not know compile flags, so finished wheels lie in a folder of their own,
keyed by version, Python, machine and flags. Run again, it finds the stamp and does nothing.
"""

import argparse
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from platform import machine, processor

from requirements import ROOT, requirements

BASE_FLAGS = ("-DGGML_LLAMAFILE=OFF", "-DLLAVA_BUILD=OFF")
"""Without llamafile's GEMM a small batch on the CPU gives bit for bit the logits of one-by-one
decoding, which makes drafting exactly lossless: docs/adr/001-exact-cpu-decoding.md."""

HEADERS = ROOT / "scripts" / "llama"
FORCED = "agspec_amx.h"
"""Included by every C++ file of llama.cpp: without it GCC breaks the AMX kernels."""

LOG = ROOT / "build" / "logs" / "llama-cpp-python.log"
NINJA_STEP = re.compile(rb"^\s*\[(\d+)/(\d+)\]", re.MULTILINE)
VECTOR_FEATURE = re.compile(r"s?sse|avx|amx|fma|f16c|bmi|gfni|popcnt|asimd|sve|sme|i8mm|bf16")
"""Other flags of a processor change with the kernel and say nothing about the compiled code."""
TAIL_BYTES = 65536
"""How much of the log's end is read to find the newest ninja step; its lines are long."""


class SetupError(Exception):
    """What went wrong, in one line."""


def cpu_features() -> str:
    """The vector features the compiler sees: a build for this machine may not run on another."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return processor()
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return " ".join(sorted(f for f in set(value.split()) if VECTOR_FEATURE.match(f)))
    return processor()


def wheel_key(requirement: str, flags: tuple[str, ...]) -> str:
    """Folder name for one build: readable parts, then a digest of all that goes into it."""
    version = requirement.partition("==")[2]
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    named = [os.environ.get(name, "") for name in ("CC", "CXX", "CFLAGS", "CXXFLAGS")]
    told = [*flags, *named, cpu_features(), (HEADERS / FORCED).read_text(encoding="utf-8")]
    digest = sha256("\n".join(told).encode()).hexdigest()[:12]
    return f"{version}-{tag}-{sys.platform}-{machine()}-{digest}"


def wheels_dir() -> Path:
    """Where finished wheels of this user lie."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "agspec-tui" / "wheels"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock, so that two set-ups do not compile the same thing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("llama.cpp: another set-up is compiling it; waiting for that", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def progress(log: Path) -> str:
    """`[41/140]` from the end of the build log, or nothing before the compiler starts."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        found = NINJA_STEP.findall(file.read())
    return f" [{int(found[-1][0])}/{int(found[-1][1])}]" if found else ""


def watch(process: subprocess.Popen[bytes], log: Path) -> int:
    """Wait for the build, with a line that shows it lives: redrawn on a terminal, else repeated."""
    started = time.monotonic()
    terminal = sys.stdout.isatty()
    while True:
        try:
            code = process.wait(timeout=1 if terminal else 30)
        except subprocess.TimeoutExpired:
            minutes, seconds = divmod(int(time.monotonic() - started), 60)
            line = f"llama.cpp: compiling, {minutes}:{seconds:02d} elapsed{progress(log)}"
            print(f"\r{line}" if terminal else line, end="" if terminal else "\n", flush=True)
        else:
            print(end="\n" if terminal else "")
            return code


def build_environment(flags: tuple[str, ...]) -> dict[str, str]:
    """Variables of the build; the header is found by its name, since a folder's may hold spaces."""
    of = os.environ
    environment = {
        **of,
        "CMAKE_ARGS": " ".join(flags),
        "CXXFLAGS": f"-include {FORCED} {of.get('CXXFLAGS', '')}".rstrip(),
        "CPATH": os.pathsep.join(filter(None, (str(HEADERS), of.get("CPATH", "")))),
    }
    environment.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    return environment


def compile_wheel(requirement: str, flags: tuple[str, ...], target: Path) -> None:
    """Compile into a temporary folder beside `target`, then move it into place.

    Raises:
        SetupError: the build failed; the end of its log has been printed.
    """
    print("llama.cpp: compiling it, once; this takes 5 to 20 minutes")
    print(f"llama.cpp: the compiler's output goes to {LOG.relative_to(ROOT)}", flush=True)
    LOG.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=".compiling-"))
    command = [sys.executable, "-m", "pip", "wheel", "--verbose", "--no-cache-dir", "--no-deps"]
    command += ["--no-binary", requirement.partition("==")[0], "-w", str(scratch), requirement]
    environment = build_environment(flags)
    try:
        with LOG.open("wb") as log:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = watch(process, LOG)
            except BaseException:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
                raise
        if code != 0 or not list(scratch.glob("*.whl")):
            tail = LOG.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
            print("\n".join(line[:300] for line in tail), file=sys.stderr)
            raise SetupError(f"llama.cpp did not compile (the whole log: {LOG.relative_to(ROOT)})")
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def ready_wheel(requirement: str, flags: tuple[str, ...], key: str) -> Path:
    """The wheel of this key, compiled now if it is not there yet.

    Raises:
        SetupError: the build failed.
    """
    folder = wheels_dir()
    target = folder / key
    with locked(folder / f"{key}.lock"):
        if not list(target.glob("*.whl")):
            shutil.rmtree(target, ignore_errors=True)
            compile_wheel(requirement, flags, target)
    return next(target.glob("*.whl"))


def installed(stamp: Path) -> dict[str, str]:
    """What the stamp says is in the environment: its key and the user's flags."""
    try:
        return dict(json.loads(stamp.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def main() -> None:
    """Make the environment hold the right build. CMAKE_ARGS unset keeps the flags in use."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stamp", type=Path, default=ROOT / "build" / "stamps" / "llama")
    parser.add_argument("--print-key", action="store_true", help="print the wheel folder and end")
    options = parser.parse_args()
    stamp = installed(options.stamp)
    added = os.environ.get("CMAKE_ARGS", stamp.get("flags", ""))
    flags = (*BASE_FLAGS, *added.split())
    (requirement,) = requirements("llama")
    key = wheel_key(requirement, flags)
    if options.print_key:
        print(wheels_dir() / key)
        return
    if stamp.get("key") == key:
        return
    wheel = ready_wheel(requirement, flags, key)
    pip = [sys.executable, "-m", "pip", "install", "-qq"]
    subprocess.run([*pip, "--force-reinstall", "--no-deps", str(wheel)], check=True)
    subprocess.run([*pip, str(wheel)], check=True)
    options.stamp.parent.mkdir(parents=True, exist_ok=True)
    options.stamp.write_text(json.dumps({"key": key, "flags": added}), encoding="utf-8")
    print(f"llama.cpp: installed {wheel.name} ({' '.join(flags)})")


if __name__ == "__main__":
    try:
        main()
    except SetupError as error:
        sys.exit(f"set-up: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"set-up: {' '.join(error.cmd[1:])} failed (its message is above)")
    except KeyboardInterrupt:
        sys.exit("set-up: stopped")
