"""The planner's reply as a plan: read strictly, mapped to real files, or replaced by a fallback."""

import difflib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import msgspec

from agspec_tui.errors import UsageError
from agspec_tui.events import PlanStep
from agspec_tui.session.handover import Plan, Step
from agspec_tui.session.outline import RankedFile, is_test
from agspec_tui.session.roles import Limits


class _StepReply(msgspec.Struct, frozen=True):
    """One step as the planner writes it."""

    files: tuple[str, ...]
    """Paths to change."""
    change: str
    """What to change."""
    new: tuple[str, ...] = ()
    """Paths to be made."""


class _PlanReply(msgspec.Struct, frozen=True):
    """The planner's JSON object."""

    steps: tuple[_StepReply, ...]
    """Its steps."""


def read_plan(
    reply: str,
    candidates: Sequence[RankedFile],
    limits: Limits,
    *,
    seen: Collection[str],
    may_be_made: Callable[[str], bool],
    tests_allowed: bool,
) -> Plan:
    """Turn the planner's reply into a plan over files that exist.

    A path that does not exist becomes the nearest one that does, or is dropped; tests are dropped
    unless the issue asks for them. A file to be made that is there already is one to change, if
    agents may see it; what they may not see is never made anew. Steps that share a file become
    one. If nothing is left, the likeliest files by the failing run and the issue make the plan.

    Args:
        reply: the planner's reply, as generated.
        candidates: source files, the likeliest first.
        limits: bounds of the plan.
        seen: every path that agents may see.
        may_be_made: whether a file can be made at a path.
        tests_allowed: whether tests may change.
    """
    try:
        parsed = msgspec.json.decode(reply, type=_PlanReply)
    except msgspec.DecodeError as error:
        return fallback_plan(candidates, f"the planner's reply is no plan: {error}")
    known = [candidate.path for candidate in candidates]
    steps: list[Step] = []
    for said in parsed.steps:
        mapped = [nearest_path(path, known) for path in said.files]
        wanted = [path for path in map(_tidy, said.new) if tests_allowed or not is_test(path)]
        there = [path for path in wanted if path in seen]
        files = tuple(dict.fromkeys(path for path in (*mapped, *there) if path))
        new = tuple(
            path
            for path in dict.fromkeys(wanted)
            if path not in files and _is_name(path) and may_be_made(path)
        )
        if files or new:
            steps.append(Step(files, said.change.strip(), new))
    whole = Plan(tuple(_merged(steps)))
    plan = Plan(tuple(_within(whole.steps, limits)))
    if not plan.steps:
        return fallback_plan(candidates, "the plan names no file that exists")
    dropped = tuple(path for path in whole.files if path not in plan.files)
    return replace(plan, dropped=dropped)


def edited_plan(
    steps: Sequence[PlanStep], seen: Collection[str], why_not: Callable[[str], str]
) -> Plan:
    """A plan that the person has written: paths that do not exist are files to be made.

    Args:
        steps: its steps.
        seen: every path that agents may see.
        why_not: why no file can be made at a path, in a few words; empty if one can.

    Raises:
        UsageError: it has no step, or a step names no file or one that may not be made.
    """
    made: list[Step] = []
    for number, step in enumerate(steps, 1):
        paths = tuple(dict.fromkeys(_tidy(path) for path in step.files))
        for path in paths:
            if path in seen:
                continue
            reason = why_not(path) or ("" if _is_name(path) else "that is no name of a file")
            if reason:
                raise UsageError(
                    f"step {number} of the plan: {path or 'a file without a name'} cannot be made: "
                    f"{reason}",
                    "name a file of the repository, or a new one inside it",
                )
        if not paths:
            raise UsageError(f"step {number} of the plan names no file", "name one, or drop it")
        files = tuple(path for path in paths if path in seen)
        new = tuple(path for path in paths if path not in seen)
        made.append(Step(files, step.change.strip(), new))
    if not made:
        raise UsageError("the plan has no step", "write one, or reject it")
    return Plan(tuple(_merged(made)))


def fallback_plan(candidates: Sequence[RankedFile], reason: str) -> Plan:
    """A plan over the likeliest file, and the next if as much speaks for it.

    An empty plan means that the repository has no source file to change.
    """
    if not candidates:
        return Plan((), reason)
    best = candidates[0]
    files = [best.path]
    if len(candidates) > 1 and best.score and candidates[1].score == best.score:
        files.append(candidates[1].path)
    return Plan((Step(tuple(files), ""),), reason)


def nearest_path(said: str, known: Sequence[str]) -> str:
    """The known path that was meant: same, same name, or spelled nearly so; else empty."""
    said = _tidy(said)
    if said in known:
        return said
    name = PurePosixPath(said).name
    same_tail = [
        path for path in known if said and (said.endswith(f"/{path}") or path.endswith(f"/{said}"))
    ]
    same_name = [path for path in known if name and PurePosixPath(path).name == name]
    for found in (same_tail, same_name):
        if len(found) == 1:
            return found[0]
    dotted = said.replace(".", "/")
    if f"{dotted}.py" in known:
        return f"{dotted}.py"
    near = difflib.get_close_matches(
        said, same_name or known, n=1, cutoff=0.0 if same_name else 0.75
    )
    return near[0] if near else ""


def _tidy(path: str) -> str:
    """A path as the repository spells it: forward slashes, no `./`, no `a/` of a diff."""
    return path.strip().replace("\\", "/").removeprefix("./").strip("/")


def _is_name(path: str) -> bool:
    """Whether a new path looks like a file of the repository that an agent may make."""
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or path.startswith("~"):
        return False
    return bool(PurePosixPath(path).suffix) and not parts[0].startswith(".git")


def _merged(steps: Sequence[Step]) -> list[Step]:
    """Steps that share a file become one, so that no file is written twice in an attempt."""
    merged: list[Step] = []
    for step in steps:
        paths = {*step.files, *step.new}
        apart = [other for other in merged if not paths & {*other.files, *other.new}]
        joined = [other for other in merged if other not in apart] + [step]
        changes = dict.fromkeys(one.change for one in joined if one.change)
        files = dict.fromkeys(path for one in joined for path in one.files)
        new = dict.fromkeys(path for one in joined for path in one.new)
        merged = [*apart, Step(tuple(files), " ".join(changes), tuple(new))]
    return merged


def _within(steps: Sequence[Step], limits: Limits) -> list[Step]:
    """At most `n_steps` steps, and `n_files` files in all."""
    kept: list[Step] = []
    n_left = limits.n_files
    for step in steps[: limits.n_steps]:
        files, new = step.files[:n_left], step.new[: max(0, n_left - len(step.files))]
        n_left -= len(files) + len(new)
        if files or new:
            kept.append(Step(files, step.change, new))
    return kept
