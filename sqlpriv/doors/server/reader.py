"""The parts of a message, read in order; bytes that are no message of the protocol are refused."""

from __future__ import annotations

import struct

_INT16, _INT32 = struct.Struct("!h"), struct.Struct("!i")


class ProtocolError(Exception):
    """Bytes that are no message of the protocol."""


class Reader:
    """Reads the parts of one message, in order."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def int16(self) -> int:
        """A whole number of two bytes."""
        return int(_INT16.unpack(self.take(2))[0])

    def int32(self) -> int:
        """A whole number of four bytes."""
        return int(_INT32.unpack(self.take(4))[0])

    def take(self, size: int) -> bytes:
        """So many bytes."""
        if size < 0 or self._at + size > len(self._body):
            raise ProtocolError("a message is shorter than it says")
        self._at += size
        return self._body[self._at - size : self._at]

    def text(self) -> str:
        """A text up to its zero byte."""
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise ProtocolError("a text has no end")
        found, self._at = self._body[self._at : end], end + 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise ProtocolError("a text is not UTF-8") from None

    def many16(self) -> list[int]:
        """A count, and so many numbers of two bytes."""
        return [self.int16() for _ in range(self.count())]

    def count(self) -> int:
        """How many follow."""
        found = self.int16() & 0xFFFF
        if found > len(self._body) - self._at:
            raise ProtocolError("a message is shorter than it says")
        return found

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(len(self._body) - self._at)

    def end(self) -> None:
        """Nothing may be left."""
        if self._at != len(self._body):
            raise ProtocolError("a message is longer than it says")
