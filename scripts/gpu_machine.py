"""What the machine is and where its CUDA lies. Runs with nothing but Python."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

CUDA_ROOTS = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda")
"""Where toolkits are looked for when no compiler is on the path."""
PYTHON_ROOTS = ("/opt/*/.venv/lib", "/opt/*/lib", "/usr/local/lib", "/usr/lib")
"""Where Python environments are looked for whose packages hold libraries of CUDA."""


class NoCuda(Exception):
    """What is missing, in one line."""


def asked(*command: str) -> str:
    """What a short command prints; empty if it cannot be run or fails."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return (result.stdout or result.stderr).strip() if result.returncode == 0 else ""


def describe() -> dict[str, Any]:
    """The machine: processor, memory, system, and its GPUs, none where there is no driver."""
    return {
        "processor": processor(),
        "n_cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": (asked("c++", "--version").splitlines() or [""])[0],
        "gpus": gpus(),
    }


def processor() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def gpus() -> list[dict[str, str]]:
    """Name, driver, compute capability and memory of each GPU, as the driver names them."""
    fields = ("name", "driver_version", "compute_cap", "memory.total")
    text = asked("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
    return parse_gpus(text, fields)


def parse_gpus(text: str, fields: "tuple[str, ...]") -> list[dict[str, str]]:
    """GPUs from a table without a heading, one a line."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines()]
    return [dict(zip(fields, row, strict=False)) for row in rows if len(row) == len(fields)]


def architecture(compute_cap: str) -> str:
    """What CMake compiles for: machine code of this capability, and nothing for others.

    Raises:
        NoCuda: the driver names no capability.
    """
    if not re.fullmatch(r"\d+\.\d", compute_cap):
        raise NoCuda(f"the driver names no compute capability: {compute_cap!r}")
    return compute_cap.replace(".", "") + "-real"


def toolkit() -> Path:
    """Root of the CUDA toolkit.

    Raises:
        NoCuda: there is no compiler.
    """
    found = shutil.which("nvcc")
    if found:
        # A wrapper may stand on the path; the compiler itself says where its toolkit is.
        for line in asked(found, "--dryrun", "none.cu").splitlines() or [""]:
            match = re.match(r"#\$ TOP=(.*)", line)
            if match:
                return Path(match.group(1)).resolve()
        root = Path(found).resolve().parent.parent
        if (root / "include" / "cuda_runtime.h").is_file():
            return root
    for name in CUDA_ROOTS:
        if (Path(name) / "bin" / "nvcc").is_file():
            return Path(name).resolve()
    raise NoCuda("there is no CUDA compiler: nvcc is neither on the path nor in " + CUDA_ROOTS[0])


def first(folders: "list[Path]", patterns: "tuple[str, ...]") -> Path | None:
    """The first file of these folders that a pattern names."""
    for folder in folders:
        for pattern in patterns:
            found = sorted(folder.glob(pattern))
            if found:
                return found[0]
    return None


def library_folders(root: Path) -> list[Path]:
    """Where a toolkit keeps its libraries."""
    names = ("lib64", "targets/x86_64-linux/lib", "lib")
    return [root / name for name in names if (root / name).is_dir()]


def python_packages() -> list[Path]:
    """Folders of Python packages on this machine."""
    folders = [Path(entry) for entry in sys.path if entry.endswith("-packages")]
    for pattern in PYTHON_ROOTS:
        folders += sorted(Path("/").glob(pattern.lstrip("/") + "/python3*/*-packages"))
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def cuda_flags(root: Path, arch: str, links: Path) -> dict[str, Any]:
    """What CMake is told, and where libraries lie at run time.

    A toolkit may come without cuBLAS or the driver's stub: then cuBLAS is taken from a Python
    package that holds it, and memory is managed without the driver's own calls.

    Args:
        root: the toolkit.
        arch: what is compiled for.
        links: a folder, made, for names under which the compiler finds libraries.

    Returns:
        `flags` for CMake, `include` folders for the compilers, `libraries` for the loader, and
        `notes` on what was missing.

    Raises:
        NoCuda: there is no cuBLAS.
    """
    flags = [
        "-DGGML_CUDA=ON",
        f"-DCMAKE_CUDA_ARCHITECTURES={arch}",
        f"-DCMAKE_CUDA_COMPILER={root / 'bin' / 'nvcc'}",
        f"-DCUDAToolkit_ROOT={root}",
        "-DGGML_CUDA_FA_QUANTS=f16-f16;q8_0-q8_0",
        "-DGGML_CUDA_NCCL=OFF",
    ]
    result: dict[str, Any] = {"flags": flags, "include": [], "notes": []}
    own = library_folders(root)
    result["libraries"] = [str(folder) for folder in own]
    header = first([root], ("include/cublas_v2.h", "targets/*/include/cublas_v2.h"))
    if header is None or first(own, ("libcublas.so*",)) is None:
        _take_cublas(result, links)
    if first([folder / "stubs" for folder in own], ("libcuda.so",)) is None:
        flags.append("-DGGML_CUDA_NO_VMM=ON")
        result["notes"].append("the toolkit has no stub of libcuda: built without VMM")
    return result


def _take_cublas(result: dict[str, Any], links: Path) -> None:
    """Take cuBLAS from a Python package."""
    headers = first(python_packages(), ("nvidia/*/include/cublas_v2.h",))
    if headers is None:
        raise NoCuda("neither the toolkit nor a Python package holds cuBLAS")
    folder = headers.parent.parent / "lib"
    links.mkdir(parents=True, exist_ok=True)
    for name in ("cublas", "cublasLt"):
        library = first([folder], (f"lib{name}.so", f"lib{name}.so.*"))
        if library is None:
            raise NoCuda(f"{folder} holds the headers of cuBLAS, but no lib{name}.so")
        link = links / f"lib{name}.so"
        if link.is_symlink():
            link.unlink()
        link.symlink_to(library)
        result["flags"].append(f"-DCUDA_{name}_LIBRARY={link}")
    result["include"].append(str(headers.parent))
    result["libraries"].append(str(folder))
    result["notes"].append(f"cuBLAS is that of {folder.parent}")
