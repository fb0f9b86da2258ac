"""What is replayed: drafters, policies, costs, corpora, and how the sessions are split."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.config import Config
from agspec_tui.drafting.choose import MODEL_NAMES, NAMES, default_policy, require_drafter
from agspec_tui.drafting.session_scopes import SessionScope
from agspec_tui.errors import DraftError, UsageError
from agspec_tui.replay.report import ORACLE
from agspec_tui.replay.walk import MAX_DRAFT

DRAFTERS = NAMES
"""Drafters that need no model, in the order of the report."""
POLICIES = ("agspec", "goodput", "survival", "fixed-8", "fixed-32", ORACLE)
"""Policies of the drafters that leave their draft length to one."""
OWN = "own"
CORPORA = ("session", "per-call", "workspace", "global")
KEPT_APART = ("role", "turn", "source")

_POLICY = re.compile(r"(?P<name>[a-z][a-z-]*?)(?:-(?P<number>\d+))?$")
_WITHOUT_COST = frozenset({"off", OWN, "fixed", "scaled", ORACLE})
"""Policies whose decisions depend on no cost: one walk is timed under each."""
_SHARING = frozenset({"goodput", "survival", ORACLE})
"""Policies whose lengths depend on the other sequences of a pass."""
_NUMBERED = {"fixed": "fixed_k", "agspec": "cap"}
"""Policies that take a number, and the setting that it is."""
_VARIANTS = {"log": {"log_alpha": True}, "per-source": {"alpha_per_source": True}}
"""What can be added to the policy `agspec`, and the settings that it means."""
_ALONE = "alone"
"""What can be added to the policies that share a budget."""


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A policy as it is named in a report, and its settings."""

    label: str
    """Name in the report, e.g. `fixed-8`."""
    settings: ConfigureDrafting
    """What it is made from."""
    has_own_cap: bool = False
    """Whether its cap was named, so that it takes none from a profile."""
    is_alone: bool = False
    """Whether it decides over each sequence of a batch as if all of them drafted alike."""

    @property
    def needs_cost(self) -> bool:
        """Whether its decisions depend on what a pass costs."""
        return self.settings.policy not in _WITHOUT_COST

    @property
    def needs_profile(self) -> bool:
        """Whether it starts from the counts of other sessions."""
        return self.needs_cost and not self.has_own_cap

    @property
    def shares(self) -> bool:
        """Whether its lengths depend on the other sequences of a pass."""
        return self.settings.policy in _SHARING and not self.is_alone


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """Everything that decides what a replay measures."""

    drafters: tuple[str, ...] = DRAFTERS
    """Names of drafters."""
    policies: tuple[PolicyChoice, ...] = ()
    """Policies of those that leave their draft length to one; the others have their own rule."""
    session: SessionScope = "session"
    """What the session corpus holds."""
    workspace: bool = True
    """Whether files that a session showed are indexed."""
    global_corpus: bool = False
    """Whether AgSpec may draft from the outputs of the other half of the tasks."""
    views: bool = True
    """Whether files are indexed in the forms that edits have too."""
    resume: bool = Config().resume
    """Whether AgSpec goes on with a copy where an edit interrupted it."""
    batch: int = 1
    """Sequences that share a target pass."""
    by: frozenset[str] = frozenset()
    """What is kept apart in the report beside the source: `role`, `turn`."""
    split: bool = True
    """Whether profiles and global corpus come from the other half of the tasks."""

    def is_shared(self, choice: PolicyChoice) -> bool:
        """Whether a policy decides over several sequences at once."""
        return self.batch > 1 and choice.shares

    def policies_of(self, drafter: str) -> tuple[PolicyChoice, ...]:
        """The policies that a drafter is walked under."""
        if default_policy(drafter) == OWN or drafter == "none":
            return (PolicyChoice(OWN, ConfigureDrafting(drafter=drafter, policy=OWN)),)
        return self.policies


def parse_drafters(names: str) -> tuple[str, ...]:
    """Drafters of a list with commas.

    Raises:
        UsageError: a name is unknown, or that of a drafter that needs a model.
    """
    chosen = _listed(names, "drafter")
    for name in chosen:
        try:
            require_drafter(name)
        except DraftError as error:
            raise UsageError(error.message, error.hint) from error
        if name in MODEL_NAMES:
            raise UsageError(f"{name} runs a model, which replay does not", "see agspec-tui bench")
    return chosen


def parse_policies(names: str, known: Sequence[str]) -> tuple[PolicyChoice, ...]:
    """Policies of a list with commas.

    `fixed-8` drafts 8 tokens, `agspec-32` has the cap 32 for every role, `agspec+log` tracks α in
    the log domain, `agspec+per-source` an α for each corpus. `goodput+alone` shares no budget with
    the other sequences of a batch.

    Args:
        names: the list.
        known: names that `make_policy` knows, and `oracle`.

    Raises:
        UsageError: a name is unknown.
    """
    return tuple(_policy(name, known) for name in _listed(names, "policy"))


def _policy(label: str, known: Sequence[str]) -> PolicyChoice:
    plain, *added = label.split("+")
    is_alone = added == [_ALONE] and plain in _SHARING - {ORACLE}
    if is_alone:
        added = []
    found = _POLICY.match(plain)
    name = found["name"] if found else ""
    if found is None or name not in known or name == OWN:
        shown = ", ".join(each for each in known if each != OWN)
        raise UsageError(f"unknown policy {label!r}", f"choose of {shown}, fixed-K, agspec-CAP")
    changes: dict[str, object] = {"policy": name}
    if found["number"] is not None:
        number = int(found["number"])
        if name not in _NUMBERED or not 1 <= number <= MAX_DRAFT:
            raise UsageError(f"{label!r} is no policy", f"e.g. fixed-8, agspec-{MAX_DRAFT}")
        changes[_NUMBERED[name]] = number
    for variant in added:
        if name != "agspec" or variant not in _VARIANTS:
            shown = ", ".join((*(f"agspec+{each}" for each in _VARIANTS), f"goodput+{_ALONE}"))
            raise UsageError(f"{label!r} is no policy", f"what can be added: {shown}")
        changes |= _VARIANTS[variant]
    settings = msgspec.structs.replace(ConfigureDrafting(), **changes)
    return PolicyChoice(label, settings, has_own_cap="cap" in changes, is_alone=is_alone)


def parse_corpora(names: str) -> tuple[SessionScope, bool, bool]:
    """What the session corpus holds, and whether there are a workspace and a global one.

    Args:
        names: corpora with commas between them; `none` is none of them.

    Raises:
        UsageError: a name is unknown, or two of them exclude each other.
    """
    chosen = () if names == "none" else _listed(names, "corpus")
    for name in chosen:
        if name not in CORPORA:
            raise UsageError(f"unknown corpus {name!r}", f"choose of {', '.join(CORPORA)}, none")
    if "session" in chosen and "per-call" in chosen:
        raise UsageError("session and per-call exclude each other", "choose one of them")
    scope: SessionScope = (
        "session" if "session" in chosen else "call" if "per-call" in chosen else "off"
    )
    return scope, "workspace" in chosen, "global" in chosen


def parse_by(names: str) -> frozenset[str]:
    """What is kept apart, of a list with commas.

    Raises:
        UsageError: a name is unknown.
    """
    chosen = _listed(names, "--by")
    for name in chosen:
        if name not in KEPT_APART:
            raise UsageError(f"unknown --by {name!r}", f"choose of {', '.join(KEPT_APART)}")
    return frozenset(chosen) - {"source"}


def parse_share(text: str) -> float:
    """Sessions of each source: a number, or a share such as `10%`, which is below 1.

    Raises:
        UsageError: it is neither.
    """
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(int(text))
    except ValueError:
        value = 0.0
    if value <= 0 or (text.endswith("%") and value > 1):
        raise UsageError(f"{text!r} is no number of sessions", "e.g. --sessions 6 or 10%")
    return 0.0 if value == 1 and text.endswith("%") else value


def _listed(names: str, what: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not chosen:
        raise UsageError(f"no {what} is named", "name some with commas between them")
    return chosen
