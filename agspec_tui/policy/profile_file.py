"""Profiles as JSON, in memory and on disk."""

import os
import re
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from agspec_tui.errors import DraftError
from agspec_tui.policy.cost import K_MAX
from agspec_tui.policy.evidence_key import N_KEYS, NO_MATCH
from agspec_tui.policy.profile import HINT, Profile
from agspec_tui.policy.survival import CENSORED, FAILED, Counts, no_counts
from agspec_tui.resources import find

SCHEMA = 1
"""Number of the format."""


class _Cell(msgspec.Struct, frozen=True, array_like=True):
    """Counts of one cell, without the zeros."""

    key: int
    """The cell."""
    failed: tuple[tuple[int, float], ...]
    """Position and number of drafts that failed there."""
    accepted: tuple[tuple[int, float], ...]
    """Length and number of drafts that were accepted whole; length 0 are steps without a draft."""


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """A profile on disk."""

    schema: int
    """Number of the format."""
    model: str
    """Name of the model; empty for a profile that serves every model."""
    tokenizer: str
    """Fingerprint of the vocabulary, hex; empty for a profile that serves every model."""
    created: str
    """When it was written."""
    roles: dict[str, tuple[_Cell, ...]]
    """Counts of each role in replies that were asked for no edits, or in no known form."""
    forms: dict[str, dict[str, tuple[_Cell, ...]]] = {}
    """Counts of each form of edits, by role."""


def encode(profile: Profile) -> bytes:
    """The profile as JSON, in a fixed order; counts are rounded to hundredths."""
    roles: dict[str, tuple[_Cell, ...]] = {}
    forms: dict[str, dict[str, tuple[_Cell, ...]]] = {}
    for (role, form), cells in sorted(profile.counts.items()):
        packed = tuple(
            _Cell(key, _pairs(cell[FAILED]), _pairs(cell[CENSORED]))
            for key, cell in sorted(cells.items())
        )
        if form:
            forms.setdefault(role, {})[form] = packed
        else:
            roles[role] = packed
    return msgspec.json.encode(
        _File(
            schema=SCHEMA,
            model=profile.model,
            tokenizer=profile.tokenizer,
            created=profile.created or datetime.now(UTC).isoformat(timespec="seconds"),
            roles=roles,
            forms=forms,
        )
    )


def decode(data: bytes | str, name: str) -> Profile:
    """Read a profile.

    Args:
        data: JSON of `encode`.
        name: what an error calls it.

    Raises:
        DraftError: it is no profile, or has impossible counts.
    """
    try:
        found = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DraftError(f"{name} is no profile: {error}", HINT) from error
    if found.schema != SCHEMA:
        raise DraftError(f"{name} has schema {found.schema}, not {SCHEMA}", HINT)
    profile = Profile(found.model, found.tokenizer, found.created)
    of_reply = {(role, ""): cells for role, cells in found.roles.items()}
    for role, of_form in found.forms.items():
        of_reply |= {(role, form): cells for form, cells in of_form.items() if form}
    for reply, cells in of_reply.items():
        profile.counts[reply] = {cell.key: _unpacked(cell, name) for cell in cells}
    return profile


def default_profile() -> Profile:
    """The shipped profile: public recorded sessions, all roles together, and our team's by role.

    Raises:
        AgspecError: the installation lacks it.
    """
    return decode(find("profiles", "default.json").read_bytes(), "the built-in profile")


def read_profile(path: Path) -> Profile:
    """Read a profile's file.

    Raises:
        DraftError: it cannot be read or is no profile.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DraftError(f"{path} cannot be read: {error.strerror or error}", HINT) from error
    return decode(data, str(path))


def write_profile(path: Path, profile: Profile) -> None:
    """Write a profile's file as a whole or not at all; its folder is made.

    Raises:
        DraftError: the disk refuses.
    """
    name = ""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(encode(profile))
        Path(name).replace(path)
    except OSError as error:
        if name:
            with suppress(OSError):
                Path(name).unlink()
        reason = error.strerror or str(error)
        raise DraftError(f"{path} cannot be written: {reason}", "name another file") from error


def file_name(model: str, tokenizer: str) -> str:
    """Name of the file that holds a model's profile; another vocabulary has another file."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip(".-")[:80] or "model"
    return f"{plain}-{tokenizer[:16]}.json"


def _pairs(row: Counts) -> tuple[tuple[int, float], ...]:
    """What is not zero; whole numbers without a point, to keep the file small."""
    found = ((at, round(value, 2)) for at, value in enumerate(row.tolist()))
    return tuple((at, int(n) if n.is_integer() else n) for at, n in found if n)


def _unpacked(cell: _Cell, name: str) -> Counts:
    counts = no_counts()
    for row, pairs, first in ((FAILED, cell.failed, 1), (CENSORED, cell.accepted, 0)):
        for at, value in pairs:
            if not first <= at <= K_MAX or not 0.0 <= value < 1e12:
                raise DraftError(f"{name} counts {value} drafts at position {at}", HINT)
            counts[row, at] += value
    if not NO_MATCH <= cell.key < N_KEYS:
        raise DraftError(f"{name} has an unknown cell, {cell.key}", HINT)
    return counts
