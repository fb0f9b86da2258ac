"""Frames between the two processes: a length in four little-endian bytes, then MessagePack.

A frame that cannot be decoded is reported and skipped; the length prefix keeps the stream in step.
"""

import struct
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from agspec_tui.commands import EngineCommand
from agspec_tui.events import EngineEvent

_LENGTH = struct.Struct("<I")
MAX_FRAME = 256 * 1024 * 1024
"""Longest frame in bytes; anything longer means that the stream is out of step."""

T = TypeVar("T")

command_decoder: msgspec.msgpack.Decoder[EngineCommand] = msgspec.msgpack.Decoder(EngineCommand)
event_decoder: msgspec.msgpack.Decoder[EngineEvent] = msgspec.msgpack.Decoder(EngineEvent)


class OutOfStep(Exception):
    """The stream holds something that is no frame; it cannot be read any further."""


def frame(message: EngineCommand | EngineEvent) -> bytes:
    """One message as it goes over the socket."""
    body = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(body)) + body


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
