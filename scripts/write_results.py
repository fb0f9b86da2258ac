"""Write docs/results.md from the JSON documents of `agspec-tui replay`.

    python scripts/write_results.py [--check]
    python scripts/write_results.py --run TRACES… [--only NAME,…] [--model NAME] [-- OPTIONS]

With `--run` the replays are made first and kept under docs/results/; OPTIONS are handed on to each,
e.g. `--sessions 6`. `--check` changes nothing and fails if the page is not that of the documents.
"""

import argparse
import subprocess
import sys

from results_questions import Answer, Question
from results_runs import FOLDER, ROOT, RUNS, Figures, command_of, read, run
from results_texts import CANNOT, HEAD, QUESTIONS, REASONS

from agspec_tui.errors import UsageError
from agspec_tui.replay.tables import markdown_rows

PAGE = ROOT / "docs" / "results.md"


def page_of(figures: Figures) -> str:
    """The whole page."""
    lines = [HEAD.strip(), "", *_data(figures), ""]
    for number, question in enumerate(QUESTIONS, 1):
        lines += _section(number, question, figures)
    lines += [CANNOT.strip(), ""]
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


def _page() -> str:
    reports = read()
    if "main" not in reports:
        raise UsageError(
            f"there is no {FOLDER.relative_to(ROOT) / 'main.json'}", "run: make results TRACES=…"
        )
    return page_of(Figures(reports))


def _write() -> int:
    PAGE.write_text(_page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: written")
    return 0


def _check() -> int:
    if PAGE.read_text(encoding="utf-8") == _page():
        return 0
    print("docs/results.md is not made of docs/results/*.json (run: make results)", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
