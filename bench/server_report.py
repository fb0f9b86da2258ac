"""The report of `against_server.py`: tokens and seconds by kind, speed-ups, and how ours stand.

A rate is all tokens over all seconds; a speed-up is over the same program's plain decoding. Each
way of the server has a process of its own, and one process may be faster than another by where its
memory lies; so a rate of the server counts in passes of the same process that drafted nothing.

How much of a reply can be copied depends on the reply. Another build of llama.cpp rounds otherwise
and says another text to some prompts. So ways are compared kind by kind on the prompts that every
way answered alike, where a kind has any; on the whole set they are compared on all prompts.
"""

from dataclasses import dataclass, field
from typing import Any

from agspec_tui.session.bench_prompts import BenchPrompt

AHEAD = 1.1
"""Ours over that of the best type, at least, on the whole set."""
PLAIN, OURS = "none", "agspec-sam"


@dataclass(slots=True)
class Decoded:
    """Tokens and seconds of one way to decode, by kind; `all` is the whole set."""

    n_tokens: dict[str, int] = field(default_factory=dict)
    """Tokens."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds of decoding them."""
    n_paced: dict[str, int] = field(default_factory=dict)
    """Tokens that were decoded without a draft, to know the pace of the process; 0 for ours."""
    paced_s: dict[str, float] = field(default_factory=dict)
    """Seconds that they took."""
    n_same: int = 0
    """Replies with the ids of our plain decoding."""
    n_replies: int = 0
    """Replies."""

    def add(self, prompt: BenchPrompt, said: "Said") -> None:
        """Add the replies to a prompt."""
        for key in (prompt.kind, "all"):
            self.n_tokens[key] = self.n_tokens.get(key, 0) + said.n_tokens
            self.seconds[key] = self.seconds.get(key, 0.0) + said.seconds
            self.n_paced[key] = self.n_paced.get(key, 0) + said.n_paced
            self.paced_s[key] = self.paced_s.get(key, 0.0) + said.paced_s
        self.n_same += said.n_same
        self.n_replies += prompt.n_turns

    def rate(self, kind: str) -> float | None:
        """Tokens a second; None where no token but the first of a reply was decoded."""
        return over(self.n_tokens[kind], self.seconds[kind])

    def pace(self, kind: str) -> float | None:
        """Tokens a second of the process without drafts; None where that was not measured."""
        return over(self.n_paced[kind], self.paced_s[kind])

    def speedup(self, plain: "Decoded", kind: str) -> float | None:
        """The rate over that of plain decoding, each over the pace of its process."""
        found = over(self.rate(kind), plain.rate(kind))
        own, others = self.pace(kind), plain.pace(kind)
        return found if found is None or not own or not others else found * others / own


@dataclass(frozen=True, slots=True)
class Said:
    """The replies to one prompt."""

    n_tokens: int
    """Tokens."""
    seconds: float
    """Seconds of decoding them."""
    n_same: int
    """Replies with the ids of our plain decoding."""
    n_paced: int = 0
    """Tokens that were decoded without a draft before; 0 if the pace was not measured."""
    paced_s: float = 0.0
    """Seconds that they took."""


@dataclass(slots=True)
class Found:
    """What was measured so far: prompts that every way has decoded."""

    ways: dict[str, dict[str, Decoded]] = field(default_factory=dict)
    """By program and by way to decode."""
    n_prompts: int = 0
    """How many prompts."""
    n_wanted: int = 0
    """How many are to be decoded."""
    alike: dict[str, dict[str, Decoded]] = field(default_factory=dict)
    """The same of the prompts to which every way said the same ids."""

    def add(self, prompt: BenchPrompt, said: dict[tuple[str, str], Said]) -> None:
        """Add the replies to a prompt, by program and way."""
        is_alike = all(replies.n_same == prompt.n_turns for replies in said.values())
        for kept in (self.ways, self.alike) if is_alike else (self.ways,):
            for (program, way), replies in said.items():
                kept.setdefault(program, {}).setdefault(way, Decoded()).add(prompt, replies)
        self.n_prompts += 1


def over(one: float | None, other: float | None) -> float | None:
    """A quotient; None where there is none."""
    return one / other if one is not None and other else None


def report_of(found: Found, model: str, *, exact: bool) -> dict[str, Any]:
    """Speed-ups over the same program's plain decoding by kind, and how ours stand to theirs."""
    rows = []
    for program, ways in found.ways.items():
        plain = ways[PLAIN]
        for name, decoded in ways.items():
            speedup = {k: decoded.speedup(plain, k) for k in decoded.n_tokens}
            rows.append(
                {
                    "program": program,
                    "way": name,
                    "tok_per_s": {k: rounded(decoded.rate(k)) for k in decoded.n_tokens},
                    "pace": {k: rounded(decoded.pace(k)) for k in decoded.n_tokens},
                    "speedup": {k: rounded(each) for k, each in speedup.items()},
                    "same_ids": f"{decoded.n_same}/{decoded.n_replies}",
                }
            )
    ours = next(r for r in rows if r["program"] == "ours" and r["way"] == OURS)["speedup"]
    others = [row for row in rows if row["program"] == "server" and row["way"] != PLAIN]
    best = max(others, key=lambda row: row["speedup"]["all"] or 0.0)
    ratio = {kind: rounded(over(ours[kind], best["speedup"][kind])) for kind in ours}
    alike = _ratio_alike(found, best["way"])
    of_kind = {kind: max(row["speedup"][kind] or 0.0 for row in others) for kind in ours}
    return {
        "schema": 1,
        "model": model,
        "exact": exact,
        "n_prompts": found.n_prompts,
        "complete": found.n_prompts == found.n_wanted,
        "rows": rows,
        "best": best["way"],
        "ours_over_best": ratio,
        "ours_over_best_of_kind": {k: rounded(over(ours[k], of_kind[k])) for k in ours},
        "ours_over_best_alike": {kind: rounded(alike.get(kind)) for kind in ours},
        "ahead": (ratio["all"] or 0.0) >= AHEAD
        and all(each >= 1.0 for each in (ratio | alike).values() if each is not None),
    }


def _ratio_alike(found: Found, best: str) -> dict[str, float]:
    """Ours over that of the best way by kind, on the prompts that all ways answered alike."""
    if not found.alike:
        return {}

    def speedup(program: str, way: str, kind: str) -> float | None:
        ways = found.alike[program]
        return ways[way].speedup(ways[PLAIN], kind)

    ratios = {
        kind: over(speedup("ours", OURS, kind), speedup("server", best, kind))
        for kind in found.alike["ours"][PLAIN].n_tokens
    }
    return {kind: ratio for kind, ratio in ratios.items() if ratio is not None}


def rounded(figure: float | None) -> float | None:
    """A figure of the report."""
    return None if figure is None else round(figure, 3)


def shown(factor: float | None) -> str:
    """A factor as text."""
    return "–" if factor is None else f"{factor:.2f}×"


def table(report: dict[str, Any]) -> str:
    """The speed-ups as text."""
    kinds = list(report["ours_over_best"])
    kinds = [*(kind for kind in kinds if kind != "all"), "all"]
    head = f"{'speed-up over plain decoding':<34}" + "".join(f"{kind:>12}" for kind in kinds)
    exact = "exact" if report["exact"] else "inexact"
    so_far = "" if report["complete"] else ", the run is not complete"
    lines = [
        f"{report['model']}, our drafts {exact}, {report['n_prompts']} prompts{so_far};"
        " rates are total tokens over total time",
        f"{head}{'same ids':>12}",
    ]
    for row in report["rows"]:
        cells = "".join(f"{shown(row['speedup'][kind]):>12}" for kind in kinds)
        lines.append(f"{row['program'] + ' ' + row['way']:<34}{cells}{row['same_ids']:>12}")
    for key, text in (
        ("ours_over_best", f"ours over {report['best']}"),
        ("ours_over_best_alike", "the same, prompts answered alike"),
        ("ours_over_best_of_kind", "ours over the best of each kind"),
    ):
        lines.append(f"{text:<34}" + "".join(f"{shown(report[key][kind]):>12}" for kind in kinds))
    return "\n".join(lines)
