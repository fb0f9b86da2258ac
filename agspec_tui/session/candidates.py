"""Several patches for one step: each is tested in a copy of the repository, the best is taken.

One reply of a small model is right less often than one of several; the tests tell which.
"""

import asyncio
import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from agspec_tui.errors import EditError, ToolError
from agspec_tui.events import CandidateTested, Warned
from agspec_tui.session.checking import run_tests_in
from agspec_tui.session.files import write_changes
from agspec_tui.session.handover import EditSet, RunResult
from agspec_tui.session.services import Services

_MAX_COPY_BYTES = 2 << 30
"""Size above which a repository is not copied."""


class CopyError(ToolError):
    """Candidates cannot be tested in copies of the repository."""


async def best_of(
    services: Services, candidates: Sequence[EditSet], turn: int
) -> tuple[EditSet, int]:
    """The first candidate that passes the tests, else the one that fails the fewest.

    Args:
        services: what the task works with.
        candidates: edits that differ, at least one; where nothing tells them apart the first is
            taken.
        turn: the turn.

    Returns:
        It, and how many candidates were tested, the first ones.

    Raises:
        ToolError: the user said no to the tests.
        Interrupted: the user stopped it.
    """
    if len(candidates) == 1 or services.test_command is None:
        return candidates[0], 0
    results: list[RunResult] = []
    try:
        _refuse_bare(services)
        await asyncio.to_thread(_refuse_large, services.repo)
        for number, edits in enumerate(candidates, 1):
            result, wall_s = await _tested(services, edits, turn)
            services.publish(_event(result, wall_s, edits, turn, (number, len(candidates))))
            if result.ok:
                return edits, number
            results.append(result)
    except CopyError as error:
        services.publish(Warned(turn=turn, role="executor", message=error.message, hint=error.hint))
    return candidates[_best(results) if results else 0], len(results)


def _best(results: Sequence[RunResult]) -> int:
    """Which run fails the fewest tests and passes the most; runs without counts come last."""

    def order(number: int) -> tuple[bool, int, int]:
        run = results[number]
        return run.timed_out or run.failed < 0, run.failed, -run.passed

    return min(range(len(results)), key=order)


async def _tested(services: Services, edits: EditSet, turn: int) -> tuple[RunResult, float]:
    """The run of the tests with an edit, and its seconds.

    Raises:
        CopyError: the repository could not be copied, or the copy not be edited.
        ToolError: the user said no to the tests.
        Interrupted: the user stopped it.
    """
    with tempfile.TemporaryDirectory(prefix="agspec-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder).resolve() / services.repo.name
        try:
            await services.interrupts.guard(asyncio.to_thread(_copy, services.repo, copy))
            await asyncio.to_thread(write_changes, copy, edits.changes)
        except EditError as error:
            raise CopyError(error.message, error.hint) from error
        return await run_tests_in(services, turn, copy)


def _event(
    run: RunResult, wall_s: float, edits: EditSet, turn: int, place: tuple[int, int]
) -> CandidateTested:
    return CandidateTested(
        turn=turn,
        role="executor",
        number=place[0],
        n_candidates=place[1],
        n_alike=edits.n_alike,
        files=edits.files,
        exit_code=run.exit_code,
        timed_out=run.timed_out,
        wall_s=wall_s,
        passed=run.passed,
        failed=run.failed,
    )


def _refuse_bare(services: Services) -> None:
    """Raise `CopyError` where code that nobody has said yes to would run without a sandbox."""
    if services.approvals.mode == "ask" and services.gate.sandbox.kind == "none":
        raise CopyError(
            "without a sandbox no patch runs before your yes: candidates are not tested apart",
            "the patch that most replies came to is taken",
        )


# ── copies ───────────────────────────────────────────────────────────────────────────────────────


def _refuse_large(repo: Path) -> None:
    """Raise `CopyError` for a repository that is too large for a copy, or holds the place of it."""
    if Path(tempfile.gettempdir()).resolve().is_relative_to(repo):
        raise CopyError(
            "the folder for temporary files lies in the repository: no copies are made",
            "set TMPDIR to another folder",
        )
    limit = min(_MAX_COPY_BYTES, shutil.disk_usage(tempfile.gettempdir()).free // 2)
    n_bytes = 0
    for size in _sizes(repo):
        n_bytes += size
        if n_bytes > limit:
            raise CopyError(
                "the repository is too large to be copied: candidates are not tested apart",
                "the patch that most replies came to is taken",
            )


def _sizes(folder: Path) -> Iterator[int]:
    for base, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                yield os.lstat(os.path.join(base, name)).st_size  # noqa: PTH118 - many of them


def _copy(repo: Path, copy: Path) -> None:
    """Copy a repository with links as links, times and modes; what no program reads is left out."""
    try:
        shutil.copytree(repo, copy, symlinks=True, ignore=_odd_files)
    except (OSError, shutil.Error) as error:
        raise CopyError(
            f"the repository cannot be copied: {_reason(error)}",
            "the patch that most replies came to is taken",
        ) from error


def _odd_files(folder: str, names: Sequence[str]) -> set[str]:
    """Sockets, pipes, devices, and what we may not read."""
    return {name for name in names if not _is_plain(Path(folder) / name)}


def _is_plain(path: Path) -> bool:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return True
    return (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and os.access(path, os.R_OK)


def _reason(error: OSError) -> str:
    """One line, also for the list of failures that `copytree` raises."""
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        return str(error.args[0][0][2])
    return error.strerror or str(error)
