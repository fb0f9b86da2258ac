"""The cause of a failure in the coder's words, in a reply of its own before the edit.

A small model that is asked for cause and file in one reply loses the form of the file over the
words, and one that is asked for the file alone copies it. Given its own words as the task, it
changes what they say.
"""

import re

from agspec_tui.forms.base import Form
from agspec_tui.session.context import fit
from agspec_tui.session.draws import Draw
from agspec_tui.session.prompts import CoderContext, cause_blocks
from agspec_tui.session.services import Services
from agspec_tui.session.turn import Candidate

CAUSE = "cause"
"""Form of such a reply in events."""
_N_TOKENS = 160
_N_CHARS = 800
_SAID = re.compile(r"Cause:.*?Fix:[^\n]*", re.DOTALL)


async def cause_of(
    services: Services,
    context: CoderContext,
    form: Form,
    turn: int,
    candidate: Candidate,
    draw: Draw,
) -> str:
    """What is wrong and how it must read, in a few lines; empty if the coder does not say it.

    Args:
        services: what the task works with.
        context: what the coder is shown.
        form: how files are shown.
        turn: the turn.
        candidate: which of several replies it is for.
        draw: which of the replies to one task it is for.

    Raises:
        EngineError: the engine refused or died.
        Interrupted: the user stopped it.
    """
    coder, speaker = services.team.coder, services.speaker
    fitted = await fit(
        cause_blocks(context, form, coder.settings.limits),
        lambda text: speaker.count(coder, text),
        speaker.n_ctx - _N_TOKENS,
    )
    if fitted is None:
        return ""
    finished = await speaker.say(
        coder, turn, fitted, form=CAUSE, max_tokens=_N_TOKENS, candidate=candidate, draw=draw
    )
    return read_cause(finished.text)


def read_cause(said: str) -> str:
    """Cause and fix of a reply, without fences around them; all of it if it names neither."""
    text = re.sub(r"```\w*", "", said).strip()
    found = _SAID.search(text)
    return (found[0] if found else text)[:_N_CHARS].strip()
