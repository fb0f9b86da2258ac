import pytest
from hypothesis import given
from hypothesis import strategies as st

from agspec_tui.commands import Cancel, Generate, Message
from agspec_tui.engine import wire
from agspec_tui.events import PrefillProgressed, RequestRefused


@given(st.lists(st.integers(1, 40), max_size=30))
def test_frames_survive_any_chunking(sizes):
    sent = [
        Cancel(request=7),
        Generate(
            request=8,
            sequence="coder",
            turn=1,
            role="coder",
            messages=(Message("user", "naïve ☃"), Message("assistant", "ok", (1, 2))),
        ),
    ]
    stream = b"".join(wire.frame(command) for command in sent)
    reader, got, start = wire.FrameReader(), [], 0
    for size in [*sizes, len(stream)]:
        got += [wire.command_decoder.decode(body) for body in reader.push(stream[start:][:size])]
        start += size
    assert got == sent


def test_events_keep_every_field():
    event = PrefillProgressed(request=1, n_done=2, n_total=3, n_reused=1, tok_per_s=4.5, role="x")
    (body,) = wire.FrameReader().push(wire.frame(event))
    assert wire.event_decoder.decode(body) == event


def test_an_absurd_length_ends_the_stream():
    with pytest.raises(wire.OutOfStep):
        list(wire.FrameReader().push(b"\xff\xff\xff\xffxxxx"))


def test_a_command_is_no_event():
    (body,) = wire.FrameReader().push(wire.frame(RequestRefused(request=0, message="m", hint="")))
    with pytest.raises(ValueError, match="Invalid value"):
        wire.command_decoder.decode(body)
