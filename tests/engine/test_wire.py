import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agspec_tui.commands import Cancel, DocumentView, Generate, IndexDocument, Message
from agspec_tui.engine import wire
from agspec_tui.errors import EngineError
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
        got += [wire.decode_command(body) for body in reader.push(stream[start:][:size])]
        start += size
    assert got == sent


def test_events_keep_every_field():
    event = PrefillProgressed(request=1, n_done=2, n_total=3, n_reused=1, tok_per_s=4.5, role="x")
    (body,) = wire.FrameReader().push(wire.frame(event))
    assert wire.decode_event(body) == event


def test_an_absurd_length_ends_the_stream():
    with pytest.raises(wire.OutOfStep):
        list(wire.FrameReader().push(b"\xff\xff\xff\xffxxxx"))


def test_a_command_is_no_event():
    (body,) = wire.FrameReader().push(wire.frame(RequestRefused(request=0, message="m", hint="")))
    with pytest.raises(wire.Malformed, match="Invalid value"):
        wire.decode_command(body)


@pytest.mark.parametrize(
    "body",
    [b"", b"\xc1", b"\x80", b"\x91" * 100_000, b"\x81\xa4kind\xa6Cancel", b"\xdf\xff\xff\xff\xff"],
)
def test_a_body_that_is_no_message_is_malformed_on_both_sides(body):
    for decode in (wire.decode_command, wire.decode_event):
        with pytest.raises(wire.Malformed):
            decode(body)


@given(st.binary(max_size=200))
def test_any_body_is_a_message_or_malformed(body):
    for decode in (wire.decode_command, wire.decode_event):
        with contextlib.suppress(wire.Malformed):
            decode(body)


@given(st.data())
def test_a_frame_with_a_changed_byte_leaves_those_behind_it_readable(data):
    commands = [Cancel(request=n) for n in range(5)]
    bodies = [bytearray(wire.frame(command)) for command in commands]
    hit = data.draw(st.integers(0, 3))
    place = data.draw(st.integers(4, len(bodies[hit]) - 1))
    bodies[hit][place] ^= data.draw(st.integers(1, 255))
    got = list(wire.FrameReader().push(b"".join(bytes(body) for body in bodies)))
    assert len(got) == len(commands)
    with contextlib.suppress(wire.Malformed):  # it may as well be another command now
        wire.decode_command(got[hit])
    others = [number for number in range(len(commands)) if number != hit]
    assert [wire.decode_command(got[number]) for number in others] == [
        commands[number] for number in others
    ]


def test_a_message_that_is_too_long_or_no_text_is_refused_before_it_is_sent(monkeypatch):
    monkeypatch.setattr(wire, "MAX_FRAME", 1000)
    for text, fault in (("x" * 2000, "too long"), ("\ud800", "cannot be sent")):
        with pytest.raises(EngineError, match=fault):
            wire.frame(IndexDocument(path="a", views=(DocumentView("raw", text),)))
