"""What the planner may look at before it plans: parts of files, and lines that hold a text."""

import re
from collections.abc import Mapping

import msgspec

from agspec_tui.session.output import cut_lines
from agspec_tui.session.plan import nearest_path
from agspec_tui.session.prompts import fenced
from agspec_tui.session.tags import tags_of

_N_READ_LINES = 80
_N_HITS = 20
_N_HIT_CHARS = 200
_N_PATTERN_CHARS = 120
_N_GAPS = 3
"""Most `.*` of a pattern: each makes the search of a line longer by its length."""
_RANGE = re.compile(r"^(.*?)(?::(\d+)(?:-(\d+))?)?$", re.DOTALL)


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


def show(look: Look, texts: Mapping[str, str]) -> str:
    """What is to be seen, in a fence.

    Args:
        look: what is asked for.
        texts: text of every file an agent may see, by path.
    """
    return _read(look.read.strip(), texts) if look.read else _grep(look.grep.strip(), texts)


def _read(asked: str, texts: Mapping[str, str]) -> str:
    match = _RANGE.match(asked)
    said, first, last = match.groups() if match else (asked, None, None)
    path = nearest_path(said, list(texts))
    if not path:
        return f"There is no file `{said}`."
    lines = texts[path].split("\n")
    start = max(1, int(first)) if first else 1
    end = int(last) if last else start + _N_READ_LINES - 1 if first else len(lines)
    end = min(end, len(lines), start + _N_READ_LINES - 1)
    if start > len(lines):
        return f"{path} has {len(lines)} lines."
    text, _ = cut_lines("\n".join(lines[start - 1 : end]))
    more = "" if end >= len(lines) else f"\n{_outline_after(path, texts[path], end)}"
    return f"{path}, lines {start} to {end} of {len(lines)}:\n{fenced(text)}{more}"


def _outline_after(path: str, text: str, line: int) -> str:
    """Where the definitions below a line are, so that the next look can name them."""
    below = [f"{name} {at}" for name, at in tags_of(path, text).defined.items() if at > line]
    return f"Below, by line: {', '.join(below[:_N_HITS])}" if below else ""


def _grep(pattern: str, texts: Mapping[str, str]) -> str:
    """Lines that hold a pattern; nothing of it but `|` and `.*` is special, so none is slow."""
    if len(pattern) > _N_PATTERN_CHARS or pattern.count(".*") > _N_GAPS:
        return f"The pattern is too long: at most {_N_PATTERN_CHARS} characters, {_N_GAPS} `.*`."
    ways = [way for way in pattern.split("|") if way.strip(".* ")]
    if not ways:
        return "The pattern matches every line."
    wanted = re.compile(
        "|".join(".*".join(re.escape(part) for part in _plain(way).split(".*")) for way in ways)
    )
    hits: list[str] = []
    n_hits = 0
    for path, text in texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            if wanted.search(line[:_N_HIT_CHARS]):
                n_hits += 1
                if len(hits) < _N_HITS:
                    hits.append(f"{path}:{number}: {line.strip()[:_N_HIT_CHARS]}")
    if not hits:
        return f"No line holds `{pattern}`."
    more = f"\n({n_hits - len(hits)} more lines)" if n_hits > len(hits) else ""
    return fenced("\n".join(hits)) + more


def _plain(way: str) -> str:
    """A pattern without the backslashes that regular expressions need."""
    return re.sub(r"\\b|\\(?=[^\w\s])", "", way)
