"""Gathers what a bare machine needs for `gpu_check.sh run`: `gpu_check.sh pack DIR`.

The folder holds wheels for the machine's Python, the source of llama-cpp-python without what a
CUDA build does not read, this project's committed source, a vocabulary without weights and texts of
recorded sessions. Packing needs a network, the machine does not.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path, PurePosixPath

from gguf_writer import GgufError
from gpu_recordings import collect
from random_gguf import write_vocabulary
from requirements import ROOT, requirements

from agspec_tui.config import models_dir
from agspec_tui.errors import AgspecError

MOST_BYTES = 60_000_000
"""The folder is refused above this size: what is lent a machine carries little more."""
MANIFEST = "manifest.json"
"""Says what the folder is for; without it, a folder was not packed."""
NOT_NEEDED = ("textual", "watchdog")
"""Run-time requirements that nothing of the check imports."""
ALSO = (
    "pip",
    "packaging",
    "pathspec",
    "typing-extensions",
    "jinja2",
    "markupsafe",
    "diskcache",
)
"""What pip, scikit-build-core and llama-cpp-python import besides."""
GLIBC = (39, 35, 34, 31, 28, 27, 24, 17)
"""Minor versions of glibc whose wheels run there; pip takes each number literally."""
SOURCES = ("gpu_check.sh", "gpu_run.py", "gpu_stages.py", "gpu_machine.py")
"""Scripts that lie beside the carried files; they need nothing but Python."""

LLAMA_FILES = ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE.md", "llama_cpp")
"""What is kept of llama-cpp-python besides llama.cpp."""
LLAMA_CPP_FILES = ("CMakeLists.txt", "LICENSE", "cmake", "include", "src", "vendor/CMakeLists.txt")
"""What is kept of llama.cpp besides ggml and what its CMakeLists.txt names."""
GGML_BACKENDS = ("ggml-cpu", "ggml-cuda")
"""Backends of ggml that are kept; of the others nothing is."""
COMMON_ON, COMMON_OFF = "set(LLAMA_BUILD_COMMON ON", "set(LLAMA_BUILD_COMMON OFF"
"""llama-cpp-python builds a library of llama.cpp that it does not install; the check does not."""


class PackError(Exception):
    """What went wrong, in one line."""


def is_kept(name: str) -> bool:
    """Whether a file of llama-cpp-python's source is read by a CPU or CUDA build of it.

    Args:
        name: its path below the source's root.
    """
    path = PurePosixPath(name)
    inside = _below(path, "vendor/llama.cpp")
    if inside is None:
        return _is_one_of(path, LLAMA_FILES)
    ggml = _below(inside, "ggml")
    if ggml is None:
        return _is_one_of(inside, LLAMA_CPP_FILES) or _is_vendored_list(inside)
    parts = ggml.parts
    if len(parts) > 2 and parts[0] == "src" and parts[1].startswith("ggml-"):
        return parts[1] in GGML_BACKENDS
    return True


def _below(path: PurePosixPath, folder: str) -> PurePosixPath | None:
    return path.relative_to(folder) if path.is_relative_to(folder) else None


def _is_one_of(path: PurePosixPath, names: Iterable[str]) -> bool:
    return any(path.is_relative_to(name) for name in names)


def _is_vendored_list(path: PurePosixPath) -> bool:
    """Libraries that llama.cpp vendors are added whether or not anything uses them."""
    return path.parts[0] in ("vendor", "licenses")


def trim(sdist: Path, out: Path) -> None:
    """Write what is kept of llama-cpp-python's source to an archive.

    Raises:
        PackError: the source is not as it is expected.
    """
    with tarfile.open(sdist) as source, tarfile.open(out, "w:gz", compresslevel=9) as target:
        patched = False
        for member in source:
            _, _, name = member.name.partition("/")
            if not member.isfile() or not name or not is_kept(name):
                continue
            file = source.extractfile(member)
            data = file.read() if file else b""
            if name == "CMakeLists.txt":
                patched = COMMON_ON.encode() in data
                data = data.replace(COMMON_ON.encode(), COMMON_OFF.encode())
            _add(target, f"llama-cpp-python/{name}", data, member.mode)
    if not patched:
        raise PackError(f"{sdist.name} has no CMakeLists.txt with {COMMON_ON!r}")


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode
    archive.addfile(member, BytesIO(data))


def wheel_requirements() -> list[str]:
    """What is carried as wheels."""
    run = [r for r in requirements("run") if not r.startswith(NOT_NEEDED)]
    return [*run, *ALSO]


def download(folder: Path, version: str, wanted: Sequence[str]) -> None:
    """Fetch wheels for x86-64 Linux with a Python of this version, none of their needs.

    Raises:
        PackError: one is not to be had.
    """
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in GLIBC]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", version]
    for platform in (*platforms, "manylinux2014_x86_64", "manylinux1_x86_64"):
        command += ["--platform", platform]
    _run([*command, *wanted], "the wheels could not be fetched")


def fetch_source(folder: Path) -> Path:
    """The source distribution of llama-cpp-python, fetched into a folder.

    Raises:
        PackError: it is not to be had.
    """
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation"]
    command += ["--no-binary", ":all:", "-d", str(folder), *requirements("llama")]
    _run(command, "the source of llama-cpp-python could not be fetched")
    return next(folder.glob("llama_cpp_python-*.tar.gz"))


def _run(command: Sequence[str], failure: str, **variables: str) -> str:
    # Metadata of a source distribution is asked of its build tools, which lie beside this Python.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path, **variables}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if line.strip()]
        raise PackError(f"{failure}: {lines[-1] if lines else result.returncode}")
    return result.stdout


def size_of(folder: Path) -> int:
    """Bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def check_size(folder: Path, most: int = MOST_BYTES) -> int:
    """Print what is in a folder, largest first, and its size.

    Raises:
        PackError: it is larger than may be carried.
    """
    files = sorted((p for p in folder.rglob("*") if p.is_file()), key=lambda p: -p.stat().st_size)
    for path in files:
        print(f"{path.stat().st_size:>12,}  {path.relative_to(folder)}")
    size = size_of(folder)
    print(f"{size:>12,}  in all, of {most:,} that may be carried")
    if size > most:
        raise PackError(f"{folder} is too large to carry: {size:,} bytes, {most:,} are allowed")
    return size


def pack(options: argparse.Namespace) -> None:
    """Make the folder; what was packed there before is replaced, anything else is left alone.

    Raises:
        AgspecError: the recorded sessions cannot be read.
        GgufError: the model holds no tokenizer.
        PackError: something is missing, or the folder became too large.
        OSError: a file cannot be read or written.
    """
    folder: Path = options.folder
    if folder.exists() and not (folder / MANIFEST).is_file() and any(folder.iterdir()):
        raise PackError(f"{folder} holds other files")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".packing-") as scratch:
        staged = Path(scratch) / "packed"
        staged.mkdir()
        _fill(staged, options, Path(scratch))
        check_size(staged)
        shutil.rmtree(folder, ignore_errors=True)
        staged.rename(folder)


def _fill(folder: Path, options: argparse.Namespace, scratch: Path) -> None:
    for name in SOURCES:
        shutil.copy(ROOT / "scripts" / name, folder / name)
    texts = collect(options.traces)
    if not texts:
        raise PackError("the recorded sessions hold no reply to force; name others: --traces")
    _write_gzip(folder / "sessions.json.gz", json.dumps(texts).encode())
    bare = scratch / "vocabulary.gguf"
    write_vocabulary(bare, options.model)
    _write_gzip(folder / "vocabulary.gguf.gz", bare.read_bytes())
    print("fetching the source of llama-cpp-python and the wheels", flush=True)
    trim(options.sdist or fetch_source(scratch), folder / "llama-cpp-python.tar.gz")
    download(folder / "wheels", options.python, wheel_requirements())
    archive = folder / "agspec-tui.tar.gz"
    command = ["git", "archive", "--format=tar.gz", "--prefix=agspec-tui/", "-o", str(archive)]
    _run([*command, "HEAD", "--", ".", ":!docs/images", ":!tests"], "git archive failed")
    if options.interpreter is not None:
        _carry_core(folder, options.interpreter)
    commit = _run(["git", "rev-parse", "HEAD"], "git failed").strip()
    manifest = {"schema": 1, "python": options.python, "commit": commit}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")


def _write_gzip(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, mtime=0))


def _carry_core(folder: Path, interpreter: Path) -> None:
    """Compile this project here too, for a machine whose Python lacks its headers."""
    with tempfile.TemporaryDirectory() as scratch:
        site = Path(scratch) / "site"
        tools = [
            r for r in wheel_requirements() if r.startswith(("scikit", "pybind", "path", "pack"))
        ]
        download(Path(scratch), "{}.{}".format(*_version_of(interpreter)), tools)
        pip = [sys.executable, "-m", "pip"]
        wheels = [str(path) for path in Path(scratch).glob("*.whl")]
        _run([*pip, "install", "-q", "--no-deps", "--target", str(site), *wheels], "pip failed")
        command = [*pip, "--python", str(interpreter), "wheel", "-q", "--no-deps"]
        command += ["--no-build-isolation", "-C", f"build-dir={scratch}/build"]
        command += ["-w", str(folder / "core"), str(ROOT)]
        _run(command, "the core could not be compiled", PYTHONPATH=str(site))


def _version_of(interpreter: Path) -> tuple[int, int]:
    code = "import sys; print(*sys.version_info[:2])"
    result = subprocess.run([interpreter, "-c", code], capture_output=True, text=True)
    if result.returncode:
        raise PackError(f"{interpreter} is no Python interpreter")
    major, minor = result.stdout.split()
    return int(major), int(minor)


def main() -> int:
    """Pack, or say in one line why not."""
    parser = argparse.ArgumentParser(prog="gpu_check.sh pack", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="made anew")
    parser.add_argument("--python", default="3.12", metavar="X.Y", help="Python of the machine")
    parser.add_argument(
        "--traces",
        type=Path,
        nargs="+",
        default=[ROOT.parent / "shared" / "traces"],
        metavar="PATH",
        help="recorded sessions whose replies are forced: files, or folders of them",
    )
    parser.add_argument(
        "--model",
        type=Path,
        metavar="GGUF",
        default=None,
        help="a Qwen2.5 model whose vocabulary is taken; qwen2.5-coder-1.5b",
    )
    parser.add_argument("--sdist", type=Path, help="source of llama-cpp-python, if it is here")
    parser.add_argument(
        "--interpreter",
        type=Path,
        metavar="PYTHON",
        help="a Python here like the machine's: the core is compiled with it and carried too",
    )
    options = parser.parse_args()
    try:
        options.model = options.model or _default_model()
        pack(options)
    except (AgspecError, GgufError, PackError, OSError) as error:
        print(f"gpu_check.sh: {error}", file=sys.stderr)
        return 2
    return 0


def _default_model() -> Path:
    return models_dir() / "qwen2.5-coder-1.5b.gguf"


if __name__ == "__main__":
    sys.exit(main())
