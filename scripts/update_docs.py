"""Bring the command-line help quoted in docs/cli.md up to date.

A quote is the text between `<!-- help: COMMAND -->` and `<!-- end -->`. `--check` changes nothing
and fails if a quote is stale.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cli.md"
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


def current(page: str) -> str:
    """The page with every quote as the program prints it now."""
    return QUOTE.sub(lambda m: f"{m[1]}\n```text\n{real_help(m[2])}\n```\n\n{m[3]}", page)


def main() -> None:
    """Rewrite the page, or with `--check` compare it."""
    old = PAGE.read_text(encoding="utf-8")
    new = current(old)
    if new == old:
        return
    if "--check" in sys.argv[1:]:
        sys.exit("docs/cli.md does not quote the real help (run: make docs)")
    PAGE.write_text(new, encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: brought up to date")


if __name__ == "__main__":
    main()
