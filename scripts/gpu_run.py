"""Builds and measures on a bare machine: `gpu_check.sh run DIR OUT.json`.

DIR was made by `gpu_check.sh pack`. Nothing is fetched. Stages follow one another within a time
limit; what fails or does not fit is named in OUT.json, and what was measured stands in it anyway.
"""

import argparse
import gzip
import json
import os
import shlex
import shutil
import signal
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gpu_machine
from gpu_stages import StageFailed, Stages, run_command

SHAPES = ("7b", "27b")
"""Models that are measured, each a shape of `random_gguf.py`."""
BATCHES = "1,4,16"
"""Sequences in a pass that are calibrated."""
BUDGET_S = 570.0
"""Seconds for all stages: a machine is lent for commands of ten minutes."""
CPU_OPTIONS = {
    "lossless": ("--n-prompts", "3", "--n-tokens", "96"),
    "bench": ("--n-tokens", "600", "--batches", "1,4", "--rounds", "1"),
}
"""Less is decoded without a GPU: then it is the script that is checked, not the machine."""
CPU_PATIENCE = 5.0
"""How much longer a stage may take without a GPU."""
SMALL_FLAGS = ("-DGGML_LLAMAFILE=OFF", "-DLLAVA_BUILD=OFF")
"""The flags of every build of this project; see `llama_wheel.py`. The header that AMX needs is not
carried along, so that on a processor with AMX the engine finds it broken and does without."""


class Check:
    """The stages of one run, and what they hand on."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self._options = options
        self._packed: Path = options.folder
        self._work = work
        self._logs = work / "logs"
        self._python = work / "venv" / "bin" / "python"
        self._variables = dict(os.environ)
        document: dict[str, Any] = {
            "schema": 1,
            "created_s": time.time(),
            "backend": "cpu" if options.cpu else "cuda",
            "machine": {},
            "build": {},
            "shapes": [],
        }
        patience = CPU_PATIENCE if options.cpu else 1.0
        self._stages = Stages(options.out, document, options.budget * patience, patience)
        self._build: dict[str, Any] = document["build"]

    def run(self) -> bool:
        """Run every stage; True if all were done."""
        stages, document = self._stages, self._stages.document
        document["machine"] = gpu_machine.describe()
        stages.run("unpack", 60, self._unpack)
        stages.run("install", 90, self._install, ["unpack"])
        if self._options.wheel is None:
            stages.run("llama.cpp", 420, self._compile_llama, ["install"])
        else:
            stages.run("llama.cpp", 60, self._install_llama, ["install"])
        stages.run("core", 120, self._compile_core, ["install"])
        stages.run("device", 60, self._check_device, ["llama.cpp", "core"])
        for shape in self._options.shape.split(","):
            found: dict[str, Any] = {"shape": shape}
            document["shapes"].append(found)
            self._measure(shape, found)
            model = self._model(shape)
            if model.is_file():
                model.unlink()  # the next one may need the room
        stages.write()
        return bool(document["ok"])

    # ── build ────────────────────────────────────────────────────────────────────────────────────

    def _unpack(self, _: float) -> None:
        manifest = json.loads((self._packed / "manifest.json").read_text())
        self._build.update(manifest)
        for name in ("llama-cpp-python.tar.gz", "agspec-tui.tar.gz"):
            with tarfile.open(self._packed / name) as archive:
                archive.extractall(self._work)
        for name in ("vocabulary.gguf", "sessions.json"):
            with gzip.open(self._packed / f"{name}.gz") as packed:
                (self._work / name).write_bytes(packed.read())
        for kind in ("HOME", "AGSPEC_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            self._variables[kind] = str(self._work / "user" / kind.lower())
        for kind in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
            self._variables[kind] = str(self._work / "user" / kind.lower())
        self._variables["PIP_CONFIG_FILE"] = os.devnull
        self._variables["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
        for name in ("PYTHONPATH", "PYTHONHOME", "CMAKE_ARGS"):
            self._variables.pop(name, None)

    def _install(self, limit_s: float) -> None:
        """An environment from the carried wheels; the machine's Python may lack pip."""
        interpreter = self._interpreter()
        venv = [interpreter, "-m", "venv", "--without-pip", str(self._work / "venv")]
        self._command("venv", limit_s, venv)
        wheels = sorted(str(path) for path in (self._packed / "wheels").glob("*.whl"))
        pip = next(path for path in wheels if Path(path).name.startswith("pip-"))
        command = [str(self._python), f"{pip}/pip", "install", "--no-index", "--no-deps", *wheels]
        self._command("wheels", limit_s, command)
        path = os.environ.get("PATH", os.defpath)
        self._variables["PATH"] = f"{self._python.parent}{os.pathsep}{path}"

    def _interpreter(self) -> str:
        """A Python of the version that the wheels are for."""
        wanted = self._build["python"]
        if "{}.{}".format(*sys.version_info[:2]) == wanted:
            return sys.executable
        found = shutil.which(f"python{wanted}")
        if found is None:
            have = "{}.{}".format(*sys.version_info[:2])
            raise StageFailed(f"this is Python {have}, the wheels are for {wanted}: pack --python")
        return found

    def _compile_llama(self, limit_s: float) -> None:
        flags: list[str] = [*SMALL_FLAGS, "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_TOOLS=OFF"]
        flags += ["-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF"]
        variables: dict[str, str] = {}
        if not self._options.cpu:
            variables = self._cuda(flags)
        self._build["flags"] = flags
        self._build["jobs"] = self._options.jobs
        variables["CMAKE_BUILD_PARALLEL_LEVEL"] = str(self._options.jobs)
        # Not as settings of pip: those would part a flag at each semicolon in it.
        variables["CMAKE_ARGS"] = shlex.join(flags)
        source = str(self._work / "llama-cpp-python")
        command = [*self._pip(), "-v", "--no-build-isolation", f"-Cbuild-dir={source}/build"]
        self._command("llama", limit_s, [*command, source], variables)

    def _cuda(self, flags: list[str]) -> dict[str, str]:
        """Add what a CUDA build needs; what its commands find in their environment."""
        gpus = self._stages.document["machine"]["gpus"]
        if not gpus:
            raise StageFailed("nvidia-smi names no GPU; --cpu checks the script without one")
        try:
            root = gpu_machine.toolkit()
            arch = gpu_machine.architecture(gpus[0]["compute_cap"])
            found = gpu_machine.cuda_flags(root, arch, self._work / "links")
        except gpu_machine.NoCuda as error:
            raise StageFailed(str(error)) from error
        self._build["cuda"] = gpu_machine.asked(str(root / "bin" / "nvcc"), "--version")
        self._build["notes"] = found["notes"]
        flags += found["flags"]
        libraries = [*found["libraries"], os.environ.get("LD_LIBRARY_PATH", "")]
        self._variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
        return {
            "CUDACXX": str(root / "bin" / "nvcc"),
            "CPATH": os.pathsep.join([*found["include"], os.environ.get("CPATH", "")]).strip(":"),
        }

    def _install_llama(self, limit_s: float) -> None:
        self._build["flags"] = []
        self._build["wheel"] = self._options.wheel.name
        self._command("llama", limit_s, [*self._pip(), str(self._options.wheel)])

    def _compile_core(self, limit_s: float) -> None:
        """Our own package; a carried one where it cannot be compiled, e.g. without headers."""
        source = str(self._work / "agspec-tui")
        command = [*self._pip(), "-v", "--no-build-isolation", source]
        carried = sorted((self._packed / "core").glob("*.whl"))
        try:
            self._command("core", limit_s * (0.6 if carried else 1.0), command)
            self._build["core"] = "compiled"
        except StageFailed as error:
            if not carried:
                raise
            self._build["core"] = f"carried, since it was not compiled: {error}"
            self._command("core-carried", limit_s * 0.4, [*self._pip(), str(carried[0])])

    def _check_device(self, limit_s: float) -> None:
        """A build that lacks the GPU would measure the processor without a word."""
        code = "import llama_cpp as l; print(l.llama_supports_gpu_offload(), end=' ')"
        code += "; print(l.llama_print_system_info().decode())"
        said = self._command("device", limit_s, [str(self._python), "-c", code])
        self._build["system_info"] = said.strip().splitlines()[-1]
        if not self._options.cpu and not self._build["system_info"].startswith("True"):
            raise StageFailed("llama.cpp was built, but offers no GPU", said.splitlines()[-5:])

    def _pip(self) -> list[str]:
        return [str(self._python), "-m", "pip", "install", "--no-index", "--no-deps"]

    # ── measure ──────────────────────────────────────────────────────────────────────────────────

    def _measure(self, shape: str, found: dict[str, Any]) -> None:
        stages = self._stages
        scripts = self._work / "agspec-tui" / "scripts"
        made = f"{shape}: model"

        def model(limit_s: float) -> None:
            writer = [str(self._python), str(scripts / "random_gguf.py"), shape]
            writer += [str(self._work / "vocabulary.gguf"), str(self._model(shape))]
            self._command(f"{shape}-model", limit_s, writer)
            found["model_bytes"] = self._model(shape).stat().st_size

        def calibrate(limit_s: float) -> None:
            out = self._work / f"{shape}-calibration.json"
            command = [str(self._python.parent / "agspec-tui"), "calibrate", "--model"]
            command += [str(self._model(shape)), "--batch", BATCHES, "--json", str(out)]
            self._command(f"{shape}-calibrate", limit_s, command)
            found["calibration"] = json.loads(out.read_text())

        def measure(kind: str, limit_s: float) -> None:
            out = self._work / f"{shape}-{kind}.json"
            command = [str(self._python), str(scripts / f"gpu_{kind}.py"), str(self._model(shape))]
            command += [str(self._work / "sessions.json"), str(out), "--limit", f"{limit_s:.0f}"]
            command += CPU_OPTIONS[kind] if self._options.cpu else ()
            try:
                self._command(f"{shape}-{kind}", limit_s, command)
            finally:
                if out.is_file():
                    found[kind] = json.loads(out.read_text())

        stages.run(made, 120, model, ["device"])
        stages.run(f"{shape}: calibrate", 100, calibrate, [made])
        stages.run(f"{shape}: lossless", 60, lambda s: measure("lossless", s), [made])
        stages.run(f"{shape}: bench", 110, lambda s: measure("bench", s), [made])

    def _model(self, shape: str) -> Path:
        return self._work / f"random-{shape}.gguf"

    def _command(
        self,
        name: str,
        limit_s: float,
        command: Sequence[str],
        variables: dict[str, str] | None = None,
    ) -> str:
        environment = {**self._variables, **(variables or {})}
        return run_command(command, limit_s, self._logs / f"{name}.log", environment, self._work)


def main() -> int:
    """Run the check; 0 if every stage was done, 1 if not, 2 for a wrong command line."""
    parser = argparse.ArgumentParser(prog="gpu_check.sh run", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="made by gpu_check.sh pack")
    parser.add_argument("out", type=Path, metavar="OUT.json", help="the document")
    parser.add_argument("--shape", default=",".join(SHAPES), metavar="A,B", help="models")
    parser.add_argument("--cpu", action="store_true", help="build and measure without a GPU")
    parser.add_argument("--wheel", type=Path, help="a finished llama-cpp-python; skips its build")
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="seconds for all stages")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="compilers")
    parser.add_argument("--work", type=Path, help="where to build; a temporary folder, removed")
    options = parser.parse_args()
    options.folder, options.out = options.folder.resolve(), options.out.resolve()
    if not (options.folder / "manifest.json").is_file():
        print(f"gpu_check.sh: {options.folder} was not packed", file=sys.stderr)
        return 2
    if options.wheel is not None:
        options.wheel = options.wheel.resolve()
    work = options.work.resolve() if options.work else Path(tempfile.mkdtemp(prefix="gpu-check-"))
    work.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what runs is ended and noted
    try:
        return 0 if Check(options, work).run() else 1
    finally:
        if options.work is None:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
