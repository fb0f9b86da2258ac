"""From a command's settings to a policy."""

from collections.abc import Callable

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.errors import DraftError
from agspec_tui.policy.agspec import AgSpec
from agspec_tui.policy.cost import Cost, shipped
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.goodput import Goodput
from agspec_tui.policy.off import Off
from agspec_tui.policy.own import Own
from agspec_tui.policy.profile import N_OF_ITS_OWN, Profile
from agspec_tui.policy.profile_file import decode, default_profile
from agspec_tui.policy.scaled import Scaled
from agspec_tui.policy.survival_policy import SurvivalPolicy
from agspec_tui.policy.types import Policy

_Maker = Callable[[ConfigureDrafting, Cost | None, Profile | None], Policy]
_UNTOUCHED = ConfigureDrafting()


def make_policy(
    settings: ConfigureDrafting, cost: Cost | None = None, profile: Profile | None = None
) -> Policy:
    """Make the named policy.

    Args:
        settings: name and values. What they hold of cost and profile is used where the arguments
            are None.
        cost: what a pass costs; without any, the shipped shape `cpu`.
        profile: counts to decide by; without any, the shipped ones.

    Raises:
        DraftError: the name is unknown, a value is out of its range, or the settings' profile is
            none.
    """
    maker = _MAKERS.get(settings.policy)
    if maker is None:
        raise DraftError(f"unknown policy {settings.policy!r}", f"choose one of {', '.join(NAMES)}")
    return maker(settings, cost, profile)


def _agspec(settings: ConfigureDrafting, cost: Cost | None, profile: Profile | None) -> AgSpec:
    """Paper mode. λ and the caps are the cost's and the profile's where nobody has set them."""
    break_even = settings.break_even
    if cost is not None and break_even == _UNTOUCHED.break_even:
        break_even = cost.break_even()
    if profile is None and settings.profile:
        profile = decode(settings.profile, "the profile")
    cap, caps = settings.cap, {}
    if profile is not None and cap == _UNTOUCHED.cap and profile.n_drafts() >= N_OF_ITS_OWN:
        cap = profile.cap(None, break_even)
        caps = {role: profile.cap(role, break_even) for role in profile.roles()}
    return AgSpec(
        cap,
        settings.eta,
        break_even,
        settings.min_match,
        caps=caps,
        log_domain=settings.log_alpha,
        per_source=settings.alpha_per_source,
    )


def _goodput(settings: ConfigureDrafting, cost: Cost | None, profile: Profile | None) -> Goodput:
    return Goodput(_cost(settings, cost), _profile(settings, profile), settings.min_match)


def _survival(
    settings: ConfigureDrafting, cost: Cost | None, profile: Profile | None
) -> SurvivalPolicy:
    return SurvivalPolicy(_cost(settings, cost), _profile(settings, profile), settings.min_match)


def _cost(settings: ConfigureDrafting, cost: Cost | None) -> Cost:
    if cost is not None:
        return cost
    return Cost("measured", settings.cost) if settings.cost else shipped("cpu")


def _profile(settings: ConfigureDrafting, profile: Profile | None) -> Profile:
    """The settings' counts lean on the shipped ones; a profile that is given stands by itself."""
    if profile is not None:
        return profile
    if not settings.profile:
        return default_profile()
    profile = decode(settings.profile, "the profile")
    profile.base = default_profile()
    return profile


_MAKERS: dict[str, _Maker] = {
    "off": lambda settings, cost, profile: Off(),
    "own": lambda settings, cost, profile: Own(),
    "fixed": lambda settings, cost, profile: Fixed(settings.fixed_k, settings.min_match),
    "scaled": lambda settings, cost, profile: Scaled(settings.scale, min_match=settings.min_match),
    "agspec": _agspec,
    "goodput": _goodput,
    "survival": _survival,
}

NAMES = tuple(_MAKERS)
"""Policies by their names on the command line."""
