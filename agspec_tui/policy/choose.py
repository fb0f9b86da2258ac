"""From a command's settings to a policy."""

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.errors import DraftError
from agspec_tui.policy.agspec import AgSpec
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.off import Off
from agspec_tui.policy.own import Own
from agspec_tui.policy.types import Policy

NAMES = ("off", "own", "fixed", "agspec")


def make_policy(settings: ConfigureDrafting) -> Policy:
    """Make the named policy.

    Raises:
        DraftError: the name is unknown or a value is out of its range.
    """
    match settings.policy:
        case "off":
            return Off()
        case "own":
            return Own()
        case "fixed":
            return Fixed(settings.fixed_k, settings.min_match)
        case "agspec":
            return AgSpec(settings.cap, settings.eta, settings.break_even, settings.min_match)
    raise DraftError(f"unknown policy {settings.policy!r}", f"choose one of {', '.join(NAMES)}")
