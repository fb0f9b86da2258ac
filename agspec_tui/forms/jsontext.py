"""JSON as small models write it: read leniently, each leniency noted on the string it touched.

Short arguments such as paths may be taken from a string that was read leniently. The text of a file
may not: what was meant is not certain there, and a repair would be written to disk.
"""

import re
from dataclasses import dataclass, field

from agspec_tui.errors import EditError

_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_BLANK = re.compile(r"[ \t\r\n]*")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_MAX_DEPTH = 16


class Doubtful(str):
    """A string that was read leniently; `doubt` says where it departs from JSON."""

    __slots__ = ("doubt",)

    doubt: str
    """What is wrong with it, as a clause."""


Value = str | float | bool | None | list["Value"] | dict[str, "Value"]


def read(text: str, at: int = 0) -> tuple[Value, int]:
    """The value that begins at `at`, and the offset behind it.

    Accepted beyond JSON: single quotes, trailing commas, raw line ends and unknown escapes within
    strings, Python's constants. Strings so read are `Doubtful`.

    Raises:
        EditError: there is no value, the text ends inside it, or a key is given twice.
    """
    return _Reader(text).value(at, 0)


def doubt_of(value: str) -> str:
    """Why a string must not become the text of a file; empty if nothing speaks against it."""
    return value.doubt if isinstance(value, Doubtful) else ""


@dataclass(slots=True)
class _Text:
    """A string while it is read."""

    parts: list[str] = field(default_factory=list)
    """Its characters so far."""
    raw_ends: bool = False
    """It holds line ends that are not escaped."""
    escapes: bool = False
    """It holds escapes other than of its quote."""
    doubt: str = ""
    """What departs from JSON."""

    def made(self) -> str:
        """The string; `Doubtful` where one may not rely on it."""
        if self.raw_ends and self.escapes and not self.doubt:
            self.doubt = "mixes raw line ends with escapes"
        text = "".join(self.parts)
        try:  # surrogate pairs are one character; half of one stays and is refused at the writing
            text = text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self.doubt = self.doubt or "holds half a character"
        if not self.doubt:
            return text
        doubtful = Doubtful(text)
        doubtful.doubt = self.doubt
        return doubtful


class _Reader:
    """Reads values of one text by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, at: int, depth: int) -> tuple[Value, int]:
        at = self._skip(at)
        if depth > _MAX_DEPTH:
            raise EditError("the JSON is nested too deeply", "answer with one flat object")
        char = self._text[at : at + 1]
        if char == "{":
            return self._object(at + 1, depth)
        if char == "[":
            return self._array(at + 1, depth)
        if char and char in "\"'":
            return self._string(at)
        number = _NUMBER.match(self._text, at)
        if number is not None:
            return float(number[0]), number.end()
        for word, meaning in _WORDS.items():
            if self._text.startswith(word, at):
                return meaning, at + len(word)
        raise self._wrong(at)

    def _object(self, at: int, depth: int) -> tuple[Value, int]:
        out: dict[str, Value] = {}
        while True:
            at = self._skip(at)
            if self._text.startswith("}", at):
                return out, at + 1
            if self._text[at : at + 1] not in ('"', "'"):
                raise self._wrong(at)
            key, at = self._string(at)
            at = self._skip(at)
            if not self._text.startswith(":", at):
                raise self._wrong(at)
            given, at = self.value(at + 1, depth + 1)
            if key in out and out[key] != given:
                raise EditError(f"the JSON gives {key!r} twice", "give each key once")
            out[str(key)] = given
            at = self._separated(at, "}")

    def _array(self, at: int, depth: int) -> tuple[Value, int]:
        out: list[Value] = []
        while True:
            at = self._skip(at)
            if self._text.startswith("]", at):
                return out, at + 1
            given, at = self.value(at, depth + 1)
            out.append(given)
            at = self._separated(at, "]")

    def _separated(self, at: int, closing: str) -> int:
        """The offset behind a comma, or of the closing bracket."""
        at = self._skip(at)
        if self._text.startswith(",", at):
            return at + 1
        if self._text.startswith(closing, at):
            return at
        raise self._wrong(at)

    def _string(self, at: int) -> tuple[str, int]:
        quote = self._text[at]
        made = _Text(doubt="" if quote == '"' else "stands in single quotes")
        at += 1
        while at < len(self._text):
            char = self._text[at]
            if char == quote:
                return made.made(), at + 1
            if char == "\\":
                at = self._escape(at + 1, quote, made)
                continue
            made.raw_ends |= char in "\r\n"
            if ord(char) < 32 and char not in "\r\n\t":
                made.doubt = "holds a control character"
            made.parts.append(char)
            at += 1
        raise self._wrong(at)

    def _escape(self, at: int, quote: str, made: _Text) -> int:
        """One escape, its backslash taken already; returns the offset behind it."""
        char = self._text[at : at + 1]
        made.escapes |= char != quote
        if char == "u" and (digits := _HEX.match(self._text, at + 1)):
            made.parts.append(chr(int(digits[0], 16)))
            return at + 5
        if char in _ESCAPES and char:
            made.parts.append(_ESCAPES[char])
        elif char == quote:
            made.parts.append(char)
        else:
            made.doubt = f"holds the escape {chr(92) + char!r}, which JSON does not have"
            made.parts.append("\\" + char)
        return at + 1

    def _skip(self, at: int) -> int:
        match = _BLANK.match(self._text, at)
        return match.end() if match else at

    def _wrong(self, at: int) -> EditError:
        if at >= len(self._text):
            return EditError("the reply ends inside its JSON", "answer again, to the last bracket")
        line = self._text.count("\n", 0, at) + 1
        near = self._text[at : at + 30].split("\n")[0]
        return EditError(
            f"the JSON of the reply cannot be read at its line {line}: {near!r}",
            'escape every quote as \\" and every line end as \\n',
        )
