"""Write docs/results.md from the JSON documents of `agspec-tui replay`.

    python scripts/write_results.py [--check]
    python scripts/write_results.py --run TRACES… [--only NAME,…] [--model NAME] [-- OPTIONS]

With `--run` the replays are made first and kept under docs/results/; OPTIONS are handed on to each,
e.g. `--sessions 6`. `--check` changes nothing and fails if the page is not that of the documents.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from results_evals import evals
from results_questions import Answer, Question
from results_runs import FOLDER, ROOT, RUNS, Figures, command_of, read, run
from results_texts import CANNOT, HEAD, QUESTIONS, REASONS

from agspec_tui.errors import UsageError
from agspec_tui.replay.chart import as_svg
from agspec_tui.replay.tables import markdown_rows, tables_of

PAGE = ROOT / "docs" / "results.md"
CHART = FOLDER / "speedups.svg"
_ALT = "Modelled speed-up of each drafter by source, a panel for each cost"


def page_of(figures: Figures) -> str:
    """The whole page."""
    lines = [HEAD.strip(), "", *_data(figures), ""]
    lines += ["## All drafters and policies", "", f"![{_ALT}](results/{CHART.name})", ""]
    for table in tables_of(figures.reports["main"]):
        if table.title.endswith("sources"):
            lines += [f"{table.title}:", "", *markdown_rows(table), ""]
    for number, question in enumerate(QUESTIONS, 1):
        lines += _section(number, question, figures)
    lines += [CANNOT.strip(), "", *evals()]
    return "\n".join(lines)


def _data(figures: Figures) -> list[str]:
    """What was replayed, in each run."""
    main = figures.reports["main"]
    lines = [
        f"Tokenizer: `{main.model}`. Default of this version: `{main.default.drafter}` with"
        f" `{main.default.policy}`.",
        "",
        "| source | sessions | calls | output tokens |",
        "| --- | --: | --: | --: |",
    ]
    for source in main.traces:
        row = figures.row("main", "none", "own", source)
        n_tokens = row.n_tokens if row else 0
        sessions, calls = main.n_sessions.get(source, 0), main.n_calls.get(source, 0)
        lines.append(f"| {source} | {sessions} | {calls:,} | {n_tokens:,} |")
    if main.options.get("sessions"):
        lines += ["", "These are figures of a subset of the sessions."]
    seconds = sum(report.seconds for report in figures.reports.values())
    lines += ["", f"All runs together took {seconds / 60:.0f} minutes."]
    return lines


def _section(number: int, question: Question, figures: Figures) -> list[str]:
    lines = [f"## {number}. {question.title}", "", f"**The paper:** {question.paper}", ""]
    missing = [name for name in question.runs if name not in figures.reports]
    if missing:
        return [*lines, f"Not replayed yet: {', '.join(missing)}.", ""]
    answer: Answer = question.answer(figures)
    lines += [f"**Here:** {answer.found}", ""]
    for table in answer.tables:
        lines += [f"{table.title}:", "", *markdown_rows(table), ""]
    lines += [f"**Why it differs:** {REASONS[question.key].strip()}", "", "```sh"]
    lines += [command_of(name) for name in question.runs]
    return [*lines, "```", ""]


def main() -> int:
    """Replay if asked to, then write the page or compare it."""
    words = sys.argv[1:]
    own, more = words, []
    if "--" in words:
        at = words.index("--")
        own, more = words[:at], words[at + 1 :]
    parser = argparse.ArgumentParser(description="Write docs/results.md.")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--run", nargs="+", metavar="TRACES", default=[])
    parser.add_argument("--only", default=",".join(RUNS))
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    options = parser.parse_args(own)
    names = options.only.split(",") if options.run else []
    if unknown := [name for name in names if name not in RUNS]:
        parser.error(f"unknown run {unknown[0]!r}; choose of {', '.join(RUNS)}")
    try:
        for name in names:
            run(name, options.run, options.model, more)
        return _check() if options.check else _write()
    except subprocess.CalledProcessError as error:
        return error.returncode
    except UsageError as error:
        print(f"error: {error.one_line()}", file=sys.stderr)
        return 2


def _made() -> dict[Path, str]:
    """Content of every file that is made of the documents.

    Raises:
        UsageError: there is no document of the main run.
    """
    reports = read()
    if "main" not in reports:
        name = FOLDER.relative_to(ROOT) / "main.json"
        raise UsageError(f"there is no {name}", "run: make results TRACES=…")
    return {PAGE: page_of(Figures(reports)), CHART: as_svg(reports["main"])}


def _write() -> int:
    for path, content in _made().items():
        path.write_text(content, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: written")
    return 0


def _check() -> int:
    for path, content in _made().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            name = path.relative_to(ROOT)
            print(f"{name} is not made of docs/results/*.json (run: make results)", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
