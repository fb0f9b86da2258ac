"""Frames between the two processes: a length in four little-endian bytes, then MessagePack.

A frame that cannot be decoded is reported and skipped; the length prefix keeps the stream in step.
"""

import struct
from collections.abc import Iterator

import msgspec

from agspec_tui.commands import EngineCommand
from agspec_tui.engine_events import EngineEvent, Pong
from agspec_tui.errors import EngineError

_LENGTH = struct.Struct("<I")
MAX_FRAME = 256 * 1024 * 1024
"""Longest frame in bytes; anything longer means that the stream is out of step."""

_commands: msgspec.msgpack.Decoder[EngineCommand] = msgspec.msgpack.Decoder(EngineCommand)
_events: msgspec.msgpack.Decoder[EngineEvent | Pong] = msgspec.msgpack.Decoder(EngineEvent | Pong)


class OutOfStep(Exception):
    """The stream holds something that is no frame; it cannot be read any further."""


class Malformed(Exception):
    """The body of a frame is no message of its side; the frames behind it can be read."""


def frame(message: EngineCommand | EngineEvent | Pong) -> bytes:
    """One message as it goes over the socket.

    Raises:
        EngineError: it is longer than `MAX_FRAME`, or holds what cannot be encoded.
    """
    try:
        body = msgspec.msgpack.encode(message)
    except (ValueError, OverflowError, TypeError) as error:
        raise EngineError(f"a {type(message).__name__} cannot be sent: {error}") from error
    if len(body) > MAX_FRAME:
        raise EngineError(
            f"a {type(message).__name__} of {len(body) >> 20} MB is too long to be sent",
            f"at most {MAX_FRAME >> 20} MB can be",
        )
    return _LENGTH.pack(len(body)) + body


def decode_command(body: bytes) -> EngineCommand:
    """The command in a frame.

    Raises:
        Malformed: there is none.
    """
    try:
        return _commands.decode(body)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise Malformed(str(error)) from error


def decode_event(body: bytes) -> EngineEvent | Pong:
    """The event in a frame.

    Raises:
        Malformed: there is none.
    """
    try:
        return _events.decode(body)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise Malformed(str(error)) from error


class FrameReader:
    """Cuts a byte stream into frame bodies, whatever the sizes of the chunks it arrives in."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def push(self, chunk: bytes) -> Iterator[bytes]:
        """Bodies of the frames that are complete with this chunk.

        Raises:
            OutOfStep: a length is beyond `MAX_FRAME`.
        """
        self._buffer += chunk
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MAX_FRAME:
                raise OutOfStep(f"a frame of {length} bytes")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield body
