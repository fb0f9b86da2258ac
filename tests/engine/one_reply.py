"""One reply of a target, decoded in this process."""

from agspec_tui.commands import Generate, Message
from agspec_tui.engine.loop import Decoder
from agspec_tui.events import EngineEvent, GenerationFinished


def reply_of(backend, drafter, policy, wish, **more) -> GenerationFinished:
    """What a target says to a wish with an empty cache; `more` are fields of `Generate`."""
    events: list[EngineEvent] = []
    decoder = Decoder(backend, drafter, policy, events.append)
    messages = (Message("system", "You are a programmer."), Message("user", wish))
    command = Generate(request=1, sequence="coder", turn=1, role="coder", messages=messages, **more)
    decoder.generate(command, lambda: False)
    decoder.drop_cache()
    finished = events[-1]
    assert isinstance(finished, GenerationFinished)
    return finished
