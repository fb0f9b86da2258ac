"""Bring the command-line help quoted in docs/cli.md and the keys in docs/keys.md up to date.

A quote is the text between `<!-- help: COMMAND -->` and `<!-- end -->`, or between `<!-- keys -->`
and `<!-- end -->`. `--check` changes nothing and fails if a quote is stale.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "docs" / "cli.md", ROOT / "docs" / "keys.md")
KEYS = re.compile(r"(<!-- keys -->\n).*?(<!-- end -->)", re.DOTALL)
QUOTE = re.compile(r"(<!-- help: (agspec-tui[^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def real_help(command: str) -> str:
    """What `COMMAND --help` prints, at a width of 80 columns and without colour."""
    program, *words = command.split()
    environment = {**os.environ, "COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1"}
    result = subprocess.run(
        [str(Path(sys.executable).parent / program), *words, "--help"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.rstrip()


def real_keys() -> str:
    """The keys of the help page as tables."""
    from agspec_tui.tui.screens.help import KEYS as sections

    made = []
    for title, keys in sections:
        made += [f"## {title}", "", "| keys | what they do |", "|---|---|"]
        made += [f"| {key} | {meaning} |" for key, meaning in keys]
        made.append("")
    return "\n".join(made)


def current(page: str) -> str:
    """The page with every quote as the program prints it now."""
    page = KEYS.sub(lambda m: f"{m[1]}\n{real_keys()}\n{m[2]}", page)
    return QUOTE.sub(lambda m: f"{m[1]}\n```text\n{real_help(m[2])}\n```\n\n{m[3]}", page)


def main() -> None:
    """Rewrite the pages, or with `--check` compare them."""
    for path in PAGES:
        old = path.read_text(encoding="utf-8")
        new = current(old)
        if new == old:
            continue
        name = path.relative_to(ROOT)
        if "--check" in sys.argv[1:]:
            sys.exit(f"{name} does not quote the real program (run: make docs)")
        path.write_text(new, encoding="utf-8")
        print(f"{name}: brought up to date")


if __name__ == "__main__":
    main()
