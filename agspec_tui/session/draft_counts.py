"""Counts of a session's drafts: kept for each model at its end, and where the next one starts.

They say at which positions drafts failed, by role and evidence, and hold no token and no text.
"""

from pathlib import Path

from agspec_tui.config import Config, profiles_dir
from agspec_tui.drafting.choose import default_policy
from agspec_tui.engine_events import ModelLoaded, StepCommitted
from agspec_tui.errors import DraftError
from agspec_tui.policy.profile import Profile, require_vocabulary
from agspec_tui.policy.profile_file import encode, file_name, read_profile, write_profile
from agspec_tui.policy.types import Evidence


class DraftCounts:
    """What the drafts of one session and those before it have shown, for one model."""

    def __init__(self, loaded: ModelLoaded, config: Config, *, is_model: bool = True) -> None:
        """Nothing is read until `start`.

        Args:
            loaded: the model; without a tokenizer's fingerprint nothing is kept.
            config: the settings.
            is_model: False for a script, whose replies say nothing about later ones.
        """
        self._path = profiles_dir() / file_name(loaded.model, loaded.tokenizer)
        self._named = Path(config.profile).expanduser() if config.profile else None
        self._loaded = loaded
        # A drafter with a rule of its own proposes otherwise, so its counts say nothing here.
        chosen_here = default_policy(config.drafter) != "own" and config.drafter != "none"
        is_wanted = config.keep_counts and is_model and bool(loaded.tokenizer)
        self._is_kept = is_wanted and chosen_here
        self._seen = self._empty()

    def start(self) -> str:
        """The counts to start from, as JSON; empty where there are none but the shipped ones.

        Raises:
            DraftError: a file cannot be read, is no profile, or was made for another vocabulary.
        """
        if self._named is not None:
            found = read_profile(self._named)
        elif self._is_kept and self._path.is_file():
            found = read_profile(self._path)
        else:
            return ""
        require_vocabulary(found, self._loaded.tokenizer)
        return encode(found).decode()

    def take(self, step: StepCommitted) -> None:
        """Count a step that drafted."""
        if self._is_kept and step.n_drafted > 0:
            evidence = Evidence(step.match_len, step.source, step.n_seen, step.n_group, step.form)
            self._seen.add(step.role, evidence, step.n_drafted, step.n_accepted)

    def keep(self) -> None:
        """Add what was counted to the model's file; later calls add only what came since.

        Raises:
            DraftError: the file cannot be read or written; what was counted is lost then.
        """
        seen, self._seen = self._seen, self._empty()
        if not seen.n_steps():
            return
        # Read again: other sessions may have added their own meanwhile.
        kept = read_profile(self._path) if self._path.is_file() else self._empty()
        kept.merge(seen)
        kept.fade()
        kept.created = ""
        write_profile(self._path, kept)

    def _empty(self) -> Profile:
        return Profile(self._loaded.model, self._loaded.tokenizer)


def start_or_complain(counts: DraftCounts, is_named: bool) -> tuple[str, DraftError | None]:
    """The counts to start from; a damaged file of earlier sessions is no reason to stop.

    Raises:
        DraftError: a file that the settings name cannot be used.
    """
    try:
        return counts.start(), None
    except DraftError as error:
        if is_named:
            raise
        return "", error
