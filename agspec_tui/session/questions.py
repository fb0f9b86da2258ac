"""Questions about the code: told from issues, and answered without an edit."""

import re

from agspec_tui.errors import UsageError
from agspec_tui.session.context import fit
from agspec_tui.session.handover import RunResult
from agspec_tui.session.outline import is_test, n_listed
from agspec_tui.session.planning import Planning
from agspec_tui.session.prompts import ShownFile, answer_blocks
from agspec_tui.session.services import Services

_CUT = "[the answer was cut off here]"
_TELLING = frozenset({"describe", "explain", "summarise", "summarize"})
_ASKING_TEXT = "what what's whats why how how's where where's which who who's when whose"
_ASKING = frozenset(_ASKING_TEXT.split())
_DOUBTING_TEXT = "is are was were does do did can could should would will has have"
_DOUBTING = frozenset(_DOUBTING_TEXT.split())
_CHANGING = re.compile(
    r"\b(?:fix|add|change|make|rename|remove|delete|implement|refactor|rewrite|update|correct|"
    r"replace|write|create|move|extend|repair|solve|edit|made|written|rewritten)(?:d|s|ed|ing)?\b",
    re.IGNORECASE,
)
_POLITE = re.compile(r"^(?:(?:hi|hello|hey|please|so|and|ok|okay)\b[\s,:!]*)+", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
NO_RUN = RunResult(
    command="", exit_code=0, timed_out=False, output="", passed=-1, failed=-1, failing=()
)
"""What stands for a test run where there are no tests."""


def is_question(text: str) -> bool:
    """Whether a text wants an answer and no edit, e.g. `what does this module do?`.

    It begins with a word that asks, and ends as a question or asks for words (`explain …`). A wish
    for a change in it makes it an issue, but for `how do I add …?` and the like.
    """
    plain = _POLITE.sub("", text.strip())
    first = re.match(r"[A-Za-z']+", plain)
    if first is None or "```" in text or "Traceback" in text:
        return False
    word = first[0].lower()
    sentences = [one for one in _SENTENCE_END.split(plain) if one.strip()]
    asks = plain.rstrip("\"' )").endswith("?")
    if word in _TELLING:
        return not _CHANGING.search(plain)
    if word in _ASKING:
        return asks and not any(_CHANGING.match(one) for one in sentences)
    return asks and word in _DOUBTING and not _CHANGING.search(plain)


async def answer(services: Services, question: str, turn: int) -> str:
    """The guide's answer.

    Raises:
        EngineError: the engine refused or died.
        Interrupted: the user stopped it.
        UsageError: the question does not fit the context.
    """
    guide, speaker = services.team.guide, services.speaker
    limits = guide.settings.limits
    planning = Planning(services, question)
    ranked = await planning.candidates(NO_RUN)
    n_lines = await n_listed(speaker.count_text, ranked[: limits.n_list_lines], limits.n_map_tokens)
    likely = [one.path for one in ranked if one.weight > 0] or [one.path for one in ranked]
    named = [path for path in planning.texts if is_test(path) and path in question]
    files = [ShownFile(path, planning.texts[path]) for path in (*named, *likely)[: limits.n_files]]
    for file in files:
        await services.index(file.path, file.text)
    fitted = await fit(
        answer_blocks(question, ranked, files, n_lines),
        lambda text: speaker.count(guide, text),
        speaker.room(guide),
    )
    if fitted is None:
        raise UsageError("the question does not fit the context", "shorten it")
    said = await speaker.say(guide, turn, fitted)
    text = said.text.strip() or "No answer was given."
    return f"{text}\n{_CUT}" if said.stop_reason in ("length", "context") else text
