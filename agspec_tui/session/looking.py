"""What the planner may look at before it plans: parts of files, and lines that hold a text."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from agspec_tui.session.output import cut_lines, left_out
from agspec_tui.session.plan import nearest_path
from agspec_tui.session.prompts import fenced
from agspec_tui.session.tags import tags_of

_N_READ_LINES = 80
_N_HITS = 20
_N_HIT_CHARS = 200
_N_PATTERN_CHARS = 120
_N_GAPS = 3
_RANGE = re.compile(r"^(.*?)(?::(\d{1,9})(?:-(\d{1,9}))?)?$", re.DOTALL)


class Look(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that the planner wants to see; one of the two is empty."""

    read: str = ""
    """A path, a path with a line, or one with lines: `a.py:10-40`."""
    grep: str = ""
    """What to search for: a text, `one|another`, with `.*` for anything between."""

    def line(self) -> str:
        """The look in a few words."""
        return f"READ {self.read}" if self.read else f"GREP {self.grep}"


def read_look(reply: str) -> Look | None:
    """The look that a reply asks for; None if it is something else."""
    try:
        look = msgspec.json.decode(reply.strip(), type=Look)
    except msgspec.DecodeError:
        return None
    return look if bool(look.read.strip()) != bool(look.grep.strip()) else None


@dataclass(frozen=True, slots=True)
class Shown:
    """What a look has shown."""

    text: str
    """The lines in a fence with where they are, or why there are none."""
    n_lines: int = 0
    """Lines of files in it."""
    is_known: bool = False
    """Whether it says why nothing of a file is shown that is there."""


def show(
    look: Look,
    texts: Mapping[str, str],
    n_unread: int = 0,
    why_unread: Callable[[str], str] = lambda _: "",
) -> Shown:
    """What is to be seen.

    Args:
        look: what is asked for.
        texts: text of every file that was read for the agents, by path.
        n_unread: files that they may see and that were not read.
        why_unread: why a path that is not among the texts is not shown; empty if it is unknown.
    """
    if look.read:
        shown = _read(look.read.strip(), texts, why_unread)
    else:
        shown = _grep(look.grep.strip(), texts)
    if shown.n_lines or shown.is_known or not n_unread:
        return shown
    return Shown(f"{shown.text} {n_unread} files of the repository were not looked into.")


def _read(asked: str, texts: Mapping[str, str], why_unread: Callable[[str], str]) -> Shown:
    match = _RANGE.match(asked)
    said, first, last = match.groups() if match else (asked, None, None)
    reason = "" if said in texts else why_unread(said)
    if reason:
        return Shown(f"{reason}.", is_known=True)
    path = nearest_path(said, list(texts))
    if not path:
        return Shown(f"There is no file `{said}`.")
    lines = texts[path].split("\n")
    start = max(1, int(first)) if first else 1
    end = int(last) if last else start + _N_READ_LINES - 1 if first else len(lines)
    start, end = min(start, max(1, end)), max(start, end)
    end = min(end, len(lines), start + _N_READ_LINES - 1)
    if start > len(lines):
        return Shown(f"{path} has {len(lines)} lines.")
    text, _ = cut_lines("\n".join(lines[start - 1 : end]))
    more = "" if end >= len(lines) else f"\n{_outline_after(path, texts[path], end)}"
    heading = f"{path}, lines {start} to {end} of {len(lines)}:"
    return Shown(f"{heading}\n{fenced(text)}{more}", end - start + 1)


def _outline_after(path: str, text: str, line: int) -> str:
    """Where the definitions below a line are, so that the next look can name them."""
    below = [f"{name} {at}" for name, at in tags_of(path, text).defined.items() if at > line]
    if not below:
        return ""
    more = f", and {len(below) - _N_HITS} more" if len(below) > _N_HITS else ""
    return f"Below, by line: {', '.join(below[:_N_HITS])}{more}"


def _grep(pattern: str, texts: Mapping[str, str]) -> Shown:
    """Lines that hold a pattern, of which nothing but `|` and `.*` is special."""
    if len(pattern) > _N_PATTERN_CHARS or pattern.count(".*") > _N_GAPS:
        return Shown(
            f"The pattern is too long: at most {_N_PATTERN_CHARS} characters, {_N_GAPS} `.*`."
        )
    ways = [_plain(way).split(".*") for way in pattern.split("|") if way.strip(".* ")]
    if not ways:
        return Shown("The pattern matches every line.")
    hits: list[str] = []
    n_hits = 0
    for path, text in texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            at = _first(line, ways)
            if at >= 0:
                n_hits += 1
                if len(hits) < _N_HITS:
                    hits.append(f"{path}:{number}: {_excerpt(line, at)}")
    if not hits:
        return Shown(f"No line holds `{pattern}`.")
    more = f"\n({n_hits - len(hits)} more lines)" if n_hits > len(hits) else ""
    return Shown(fenced("\n".join(hits)) + more, len(hits))


def _first(line: str, ways: Sequence[Sequence[str]]) -> int:
    """Where a line holds one of the ways, −1 if nowhere; linear in the line, however it looks.

    A way is texts in order with anything between, so taking each at its first place is enough.
    """
    for parts in ways:
        at, places = 0, list[int]()
        for part in filter(None, parts):
            found = line.find(part, at)
            if found < 0:
                break
            places.append(found)
            at = found + len(part)
        else:
            return places[0]
    return -1


def _excerpt(line: str, at: int) -> str:
    """A line, or the part of a long one around a place, with marks where it was cut."""
    text = line.strip()
    at -= len(line) - len(line.lstrip())
    start = max(0, min(at - _N_HIT_CHARS // 2, len(text) - _N_HIT_CHARS))
    kept = text[start : start + _N_HIT_CHARS]
    n_after = len(text) - start - len(kept)
    before = f"{left_out(start)} " if start else ""
    after = f" {left_out(n_after)}" if n_after else ""
    return f"{before}{kept}{after}"


def _plain(way: str) -> str:
    """A pattern without the backslashes that regular expressions need."""
    return re.sub(r"\\b|\\(?=[^\w\s])", "", way)
