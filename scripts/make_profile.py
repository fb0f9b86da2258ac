"""Make the shipped profile: public traces with all roles together, own recordings by role.

    python scripts/make_profile.py TRACES… --recordings DIR [--model NAME] [--output FILE]

What a role of our team repeats is known only from recordings of our team; where a profile has no
counts of a role, those of everything together stand in. Recordings come from
`agspec-tui eval tests/data/tasks --record DIR`.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from agspec_tui.cli.over_traces import resolve_tokenizer, say_skipped
from agspec_tui.config import tokens_dir
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.errors import AgspecError
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.profile_file import write_profile
from agspec_tui.replay.profiling import profile_sessions
from agspec_tui.replay.read import ReadReport, read_sessions
from agspec_tui.replay.token_cache import TokenCache

DRAFTER = "agspec-sam"
OUTPUT = Path(__file__).parents[1] / "profiles" / "default.json"


def counted(paths: Sequence[Path], vocabulary: Vocabulary) -> Profile:
    """Counts of the sessions in files and folders."""
    report = ReadReport()
    sessions = read_sessions(paths, vocabulary, TokenCache(tokens_dir()), report=report)
    found = profile_sessions(sessions, partial(make_drafter, DRAFTER))
    say_skipped(report.skipped)
    print(f"{found.n_sessions} sessions, {found.n_tokens} tokens of output", file=sys.stderr)
    return found.profile


def main() -> int:
    """Count and write; 2 if something cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument("--recordings", type=Path, required=True)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="whose tokenizer is used")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    try:
        with closing(Vocabulary(Path(resolve_tokenizer(options.model).path))) as vocabulary:
            made = counted(options.traces, vocabulary).together()
            made.merge(counted([options.recordings], vocabulary))
        write_profile(options.output, made)
    except AgspecError as error:
        print(f"error: {error.one_line()}", file=sys.stderr)
        return 2
    print(", ".join(f"{role}: {made.n_drafts(role):.0f} drafts" for role in made.counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
