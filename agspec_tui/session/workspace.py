"""One task's files: edits staged in memory, written at once, taken back when they did not do."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agspec_tui.errors import EditError, ToolError
from agspec_tui.events import HunkPlaced
from agspec_tui.forms import refusals
from agspec_tui.forms.applier import land
from agspec_tui.forms.diff import unified
from agspec_tui.forms.linediff import line_before
from agspec_tui.forms.paths import clean
from agspec_tui.forms.text import decode
from agspec_tui.forms.types import FileChange, FileEdit, Landing, Placement, doubts
from agspec_tui.session.content import decoded
from agspec_tui.session.files import snapshot_read
from agspec_tui.session.handover import EditSet
from agspec_tui.session.outline import is_test
from agspec_tui.session.repo import list_files, may_be_made, refuse_ignored
from agspec_tui.session.undo import UndoLog

_MAX_FILES = 4000
_MAX_SCAN_CHARS = 16_000_000


def scan(repo: Path) -> tuple[dict[str, str], int]:
    """Text of every file an agent may see, by path, with `\\n` line ends; blocks on the disk.

    Files that are not UTF-8 are left out. A repository beyond the bounds is read in part, in the
    order of names.

    Returns:
        The texts, and the number of files that were not read.
    """
    texts: dict[str, str] = {}
    n_chars = 0
    paths = list_files(repo)
    for n_read, path in enumerate(paths[:_MAX_FILES]):
        try:
            text = decoded(snapshot_read(repo, path))
        except ToolError:
            continue
        if text is None:
            continue
        n_chars += len(text)
        if n_chars > _MAX_SCAN_CHARS:
            return texts, len(paths) - n_read
        texts[path] = text
    return texts, max(0, len(paths) - _MAX_FILES)


class Workspace:
    """The files of one task. Nothing is written but by `write`; `restore` takes all of it back."""

    def __init__(self, repo: Path, log: UndoLog | None = None) -> None:
        """Begin with nothing staged.

        Args:
            repo: the resolved root.
            log: writes the edits, with what earlier tasks wrote in it; None for one of its own.
        """
        self._repo = repo
        self._log = log or UndoLog(repo)
        self._n_before = self._log.n_turns
        self._staged: dict[str, FileChange] = {}
        self._originals: dict[str, bytes | None] = {}
        self._placements: list[Placement] = []
        self._misses: list[EditError] = []

    def fork(self) -> "Workspace":
        """The same task's files with nothing staged, to land other edits in."""
        other = Workspace(self._repo, self._log)
        other._originals = self._originals
        return other

    def read(self, path: str) -> bytes | None:
        """Bytes of a file with the staged edits in it; None if there is none.

        Raises:
            ToolError: the path leads out of the repository, or cannot be read.
        """
        staged = self._staged.get(path)
        return staged.after if staged else snapshot_read(self._repo, path)

    def text(self, path: str) -> str | None:
        """Text as a prompt shows it; None if there is no such file or it is not UTF-8."""
        return decoded(self.read(path))

    def is_mine(self, path: str) -> bool:
        """Whether a file is there that this task has made or changed, on disk or staged."""
        known = path in self._staged or path in self._originals
        return known and self.text(path) is not None

    def may_be_made(self, path: str) -> bool:
        """Whether a file can be made at a path; asks git."""
        return may_be_made(self._repo, path)

    def stage(self, edits: Sequence[FileEdit], *, fuzzy: bool = False) -> tuple[str, ...]:
        """Land edits in memory, on top of those staged before.

        Args:
            edits: a reply's edits.
            fuzzy: where a hunk stands nowhere, also take the one place that it is clearly most
                like. The edit set then says so, and is for a person to say yes or no to.

        Returns:
            Paths whose bytes differ from before the call.

        Raises:
            EditError: an edit cannot be landed exactly; nothing is staged then.
        """
        landing = self._landed(edits, fuzzy=fuzzy)
        changed = []
        for change in landing.changes:
            if change.after == change.before:
                continue
            earlier = self._staged.get(change.path)
            before = earlier.before if earlier else change.before
            self._staged[change.path] = FileChange(change.path, before, change.after)
            changed.append(change.path)
        if changed:  # else another reply may take the place of this one
            self._placements += [self._on_disk(one) for one in landing.placements]
        return tuple(changed)

    @property
    def staged_paths(self) -> tuple[str, ...]:
        """Paths with staged edits."""
        return tuple(self._staged)

    def edit_set(self, form: str) -> EditSet:
        """The staged edits against the bytes on disk."""
        changes = tuple(one for one in self._staged.values() if one.after != one.before)
        paths = {change.path for change in changes}
        placed = [one for one in self._placements if one.path in paths]
        doubtful = doubts(placed)
        return EditSet(
            form,
            changes,
            unified(changes),
            placed=tuple(
                HunkPlaced(one.path, one.hunk, one.line, one.rule, one.likeness) for one in placed
            ),
            doubtful=doubtful,
            refusal=refusals.together(self._misses) if doubtful else None,
        )

    def write(self, edits: EditSet, turn: int = 0) -> None:
        """Write an edit set and forget the staged edits; blocks on the disk.

        Raises:
            EditError: a file changed since it was read, or the disk refused; nothing was changed.
        """
        for change in edits.changes:
            self._originals.setdefault(change.path, change.before)
        self._log.begin(turn)
        self._log.write(edits.changes)
        self._staged.clear()
        self._placements.clear()
        self._misses.clear()

    def take_back(self) -> tuple[tuple[str, ...], str]:
        """Take the last write back; returns the paths, and one line about conflicts or nothing."""
        restored = self._log.restore_since(max(self._n_before, self._log.n_turns - 1))
        return restored.files, restored.message()

    def restore(self) -> tuple[tuple[str, ...], str]:
        """Take every write back; returns the paths, and one line about conflicts or nothing."""
        restored = self._log.restore_since(self._n_before)
        return restored.files, restored.message()

    def diff(self) -> str:
        """Unified diff of all that this task has changed on disk."""
        return unified(
            FileChange(path, before, snapshot_read(self._repo, path))
            for path, before in self._originals.items()
        )

    def _landed(self, edits: Sequence[FileEdit], *, fuzzy: bool) -> Landing:
        """The edits landed by the strict rules, else by likeness where that may be done.

        Raises:
            EditError: they fit nowhere. What the strict rules said is said: it names real lines.
        """
        try:
            return land(edits, self._read_for_edit, root=str(self._repo))
        except EditError as missed:
            if not fuzzy:
                raise
            try:
                landing = land(edits, self._read_for_edit, root=str(self._repo), fuzzy=True)
            except EditError:
                raise missed from None
            if not landing.doubtful:  # then nobody would be asked
                raise
            reason = f"{missed.message}; the user said no to the lines most like them"
            self._misses.append(EditError(reason, missed.hint, missed.detail))
            return landing

    def _on_disk(self, placement: Placement) -> Placement:
        """A placement with its line in the file on disk, which edits staged before have moved."""
        earlier = self._staged.get(placement.path)
        if earlier is None or earlier.before is None or earlier.after is None:
            return placement
        before, now = decode(earlier.before).lines, decode(earlier.after).lines
        return replace(placement, line=line_before(before, now, placement.line))

    def _read_for_edit(self, path: str) -> bytes | None:
        try:
            refuse_ignored(self._repo, (path,))
            return self.read(path)
        except ToolError as error:
            raise EditError(error.message, error.hint) from error


def fingerprint(edits: EditSet) -> str:
    """Names the outcome of an edit: equal for edits that leave the same bytes behind."""
    digest = hashlib.blake2b(digest_size=16)
    for change in sorted(edits.changes, key=lambda one: one.path):
        for part in (change.path.encode(), change.after if change.after is not None else b"\0"):
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def keep_allowed(
    edits: Sequence[FileEdit], allowed: Sequence[str], root: str, *, tests_allowed: bool
) -> tuple[list[FileEdit], list[str]]:
    """Part a reply's edits into those of files it was given and the rest.

    A file that was not shown is never rewritten, since the model does not know its text; tests
    are not touched unless the issue asks for it, since they are what the fix is measured by.

    Args:
        edits: the reply's edits.
        allowed: paths that may change.
        root: absolute path of the repository; paths inside it become relative.
        tests_allowed: whether tests may change.

    Returns:
        Edits to land, and one line about each that was left out.

    Raises:
        EditError: a path leads out of the repository or names no file.
    """
    kept: list[FileEdit] = []
    dropped: list[str] = []
    for edit in edits:
        path = clean(edit.path, root)
        if is_test(path) and not tests_allowed:
            dropped.append(f"{path} is a test; tests stay as they are")
        elif path not in allowed:
            dropped.append(f"{path} was not among the files to change")
        elif edit.delete:
            dropped.append(f"{path} must not be deleted")
        else:
            kept.append(edit)
    return kept, dropped
