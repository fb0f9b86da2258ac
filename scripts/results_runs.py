"""The replays that docs/results.md is made from: names, options, and where their JSON lies."""

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agspec_tui.replay.report import Report, Row, Skip

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "results"
DRAFTERS = (
    "none,pld,rest,fastcoder,sam,suffix,llama-ngram-mod,llama-ngram-map-k,agspec-sam,agspec-suffix"
)
_PAPER = "--drafters agspec-sam --policies agspec --cost gpu"

RUNS = {
    "main": f"--drafters {DRAFTERS} --cost cpu,gpu,metal",
    "batch-16": (
        "--batch 16 --drafters none,pld,sam,suffix,agspec-sam,agspec-suffix --cost gpu,cpu,metal"
        " --policies agspec,goodput,goodput+alone,survival,fixed-8,fixed-32,agspec-32,oracle"
    ),
    "global": f"{_PAPER} --corpora global",
    "global-call": f"{_PAPER} --corpora per-call,global",
    "global-session": f"{_PAPER} --corpora session,global",
    "global-workspace": f"{_PAPER} --corpora workspace,global",
    "global-session-workspace": f"{_PAPER} --corpora session,workspace,global",
    "views": f"{_PAPER} --corpora session,workspace --views on --by role,turn",
    "no-views": f"{_PAPER} --corpora session,workspace --views off --by role,turn",
    "turns": "--drafters agspec-sam --policies agspec,goodput --cost gpu --by turn",
}
"""Options of each run, by its name."""


def command_of(name: str) -> str:
    """The command of a run as a person would type it."""
    return f"agspec-tui replay TRACES {RUNS[name]} --json docs/results/{name}.json"


def run(name: str, traces: list[str], model: str, more: list[str]) -> None:
    """Replay, and keep the document with a row on each line.

    Raises:
        CalledProcessError: the replay failed; it has said why.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = Path(sys.executable).parent / "agspec-tui"
    command = [str(program), "replay", *traces, "--model", model, *RUNS[name].split(), *more]
    print(f"{name}: {command_of(name)} {' '.join(more)}".rstrip(), file=sys.stderr, flush=True)
    shown = subprocess.run([*command, "--json", "-"], stdout=subprocess.PIPE, check=True)
    write(name, msgspec.json.decode(shown.stdout, type=Report))


def write(name: str, report: Report, folder: Path = FOLDER) -> None:
    """Keep a report so that a change of a few figures is a change of a few lines.

    What was skipped is kept by its reasons: its names are files of one machine.
    """
    reasons: Counter[str] = Counter()
    for skip in report.skips:
        reasons[skip.reason] += skip.n
    skips = tuple(Skip("", reason, n) for reason, n in reasons.items())
    document = msgspec.to_builtins(msgspec.structs.replace(report, skips=skips))
    rows = ",\n".join(msgspec.json.encode(_rounded(row)).decode() for row in document.pop("rows"))
    head = msgspec.json.format(msgspec.json.encode(document), indent=1).decode().rstrip("}\n ")
    (folder / f"{name}.json").write_text(f'{head},\n "rows": [\n{rows}\n]}}\n', encoding="utf-8")


def read(folder: Path = FOLDER) -> dict[str, Report]:
    """The documents that are there, by the names of their runs."""
    return {
        name: msgspec.json.decode((folder / f"{name}.json").read_bytes(), type=Report)
        for name in RUNS
        if (folder / f"{name}.json").is_file()
    }


@dataclass(frozen=True)
class Figures:
    """Rows of the runs by their names."""

    reports: dict[str, Report]
    """Reports by the names of their runs."""

    def row(
        self,
        run: str,
        drafter: str,
        policy: str,
        source: str,
        *,
        cost: str = "gpu",
        role: str = "all",
        turn: str = "all",
    ) -> Row | None:
        """The row of a run, or None where there is none."""
        wanted = (drafter, policy, source, role, turn, cost)
        for row in self.reports[run].rows:
            if (row.drafter, row.policy, row.source, row.role, row.turn, row.cost) == wanted:
                return row
        return None

    def sources(self, run: str) -> tuple[str, ...]:
        """Sources of a run."""
        return self.reports[run].traces


def _rounded(row: dict[str, object]) -> dict[str, object]:
    """Six digits are more than any of the measures is good for."""
    return {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()}
