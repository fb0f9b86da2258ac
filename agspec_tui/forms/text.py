"""A file's bytes as lines: text for comparison, byte offsets for the splice."""

import codecs
import re
from dataclasses import dataclass

from agspec_tui.errors import EditError

_LINE_END = re.compile(r"\r\n|\n|\r")
_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def normalise(text: str) -> str:
    """Text with `\\n` as its only line end; `\\r\\n` and a lone `\\r` count as one each."""
    return _LINE_END.sub("\n", text)


def lines_of(text: str) -> list[str]:
    """Lines of a normalised text without their ends; a last `\\n` opens no further line."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


@dataclass(frozen=True, slots=True)
class Text:
    """A decoded file. Line `i` is the bytes `offsets[i]` to `offsets[i + 1]`, its end included."""

    data: bytes
    """The file as it is on disk."""
    encoding: str
    """`utf-8`, `utf-16-le`, …; `latin-1` for bytes whose encoding is not known."""
    legacy: bool
    """The encoding is not known: each byte stands for itself."""
    lines: tuple[str, ...]
    """Lines without their ends."""
    ends: tuple[str, ...]
    """End of each line as it stands in the file; empty only for a last line without one."""
    offsets: tuple[int, ...]
    """Byte offset of each line, and of the end of the file: one more than there are lines."""

    def normalised(self) -> str:
        """The text with `\\n` line ends, as a prompt shows it."""
        body = "\n".join(self.lines)
        return f"{body}\n" if self.ends and self.ends[-1] else body

    def ends_with_newline(self) -> bool:
        """Whether the last line has an end; an empty file counts as one that has."""
        return not self.ends or self.ends[-1] != ""

    def usual_end(self) -> str:
        """The most frequent line end; `\\n` where there is none."""
        kinds = [end for end in self.ends if end]
        return max(("\n", "\r\n", "\r"), key=kinds.count) if kinds else "\n"

    def encode(self, new: str) -> bytes:
        """New text in the encoding of the file.

        Raises:
            EditError: the encoding has no such characters, or is not known and the file does not
                already hold them: guessing would write bytes that mean something else.
        """
        if self.legacy:
            known = set(_NON_ASCII.findall("\n".join(self.lines)))
            for run in _NON_ASCII.findall(new):
                if run not in known:
                    raise EditError(
                        f"{run!r} cannot be written: the file is not UTF-8 and lacks it",
                        "use ASCII characters there, or convert the file to UTF-8 first",
                    )
        try:
            return new.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise EditError(
                f"{new[error.start : error.end]!r} cannot be written in {self.encoding}",
                "use characters that the file's encoding has",
            ) from None


def decode(data: bytes) -> Text:
    """Decode a file: byte order mark, then strict UTF-8, else byte by byte.

    Raises:
        EditError: the file is binary.
    """
    bom, encoding = next(((b, e) for b, e in _BOMS if data.startswith(b)), (b"", "utf-8"))
    body = data[len(bom) :]
    legacy = False
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        bom, encoding, legacy = b"", "latin-1", True
        text = data.decode(encoding)
    if "\0" in text:
        raise EditError("the file is binary", "only text files can be edited")
    lines: list[str] = []
    ends: list[str] = []
    offsets = [len(bom)]
    start = 0
    stops = [(m.start(), m.end()) for m in _LINE_END.finditer(text)]
    if not stops or stops[-1][1] < len(text):
        stops.append((len(text), len(text)))
    for stop, after in stops:
        if stop == after == start:  # nothing at all: an empty file has no line
            break
        lines.append(text[start:stop])
        ends.append(text[stop:after])
        offsets.append(offsets[-1] + len(text[start:after].encode(encoding)))
        start = after
    return Text(data, encoding, legacy, tuple(lines), tuple(ends), tuple(offsets))
