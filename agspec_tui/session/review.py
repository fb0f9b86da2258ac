"""The reviewer's part of a turn, if the team has one: a word on an edit before it is written."""

from agspec_tui.errors import EngineError
from agspec_tui.events import Warned
from agspec_tui.session.context import fit
from agspec_tui.session.handover import EditSet
from agspec_tui.session.prompts import review_blocks
from agspec_tui.session.services import Services

_N_CHARS = 240


async def concern(services: Services, issue: str, edits: EditSet, turn: int) -> str:
    """What the reviewer has against an edit; empty if nothing, or if there is no reviewer.

    Raises:
        Interrupted: the user stopped it.
    """
    reviewer, speaker = services.team.reviewer, services.speaker
    if reviewer is None:
        return ""
    blocks = review_blocks(issue, edits)
    try:
        fitted = await fit(
            blocks, lambda text: speaker.count(reviewer, text), speaker.room(reviewer)
        )
        if fitted is None or fitted.dropped:
            return _unheard(services, turn, "the edit does not fit the context")
        said = (await speaker.say(reviewer, turn, fitted)).text
    except EngineError as error:
        return _unheard(services, turn, error.message)
    line = " ".join(said.split())
    if not line.startswith("CONCERN"):
        return ""
    found = line.partition(":")[2].strip()[:_N_CHARS] or "without a reason"
    services.publish(
        Warned(turn=turn, role="reviewer", message=f"the reviewer has a concern: {found}", hint="")
    )
    return found


def _unheard(services: Services, turn: int, reason: str) -> str:
    services.publish(
        Warned(turn=turn, role="reviewer", message=f"no review: {reason}", hint="the tests decide")
    )
    return ""
