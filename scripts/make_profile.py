"""Put counts of our own team's coder into the shipped profile.

    python scripts/make_profile.py RECORDINGS… [--model NAME] [--output FILE]

The shipped profile holds what public traces say of all roles together, made by
`agspec-tui profile TRACES --any-model --output profiles/default.json`. How far our coder repeats
the files that it edits is known from recordings of our team only, made by
`agspec-tui eval tests/data/tasks --record DIR`. Other roles have none in the shipped profile, and
those of the traces stand in: a planner says plans in these recordings, which repeat names of files,
and answers questions elsewhere, which repeat little.
"""

import argparse
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

from agspec_tui.cli.over_traces import resolve_tokenizer, say_skipped
from agspec_tui.config import tokens_dir
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.errors import AgspecError
from agspec_tui.policy.profile import TOGETHER
from agspec_tui.policy.profile_file import default_profile, write_profile
from agspec_tui.replay.profiling import profile_sessions
from agspec_tui.replay.read import ReadReport, read_sessions
from agspec_tui.replay.token_cache import TokenCache

DRAFTER = "agspec-sam"
ROLE = "coder"
OUTPUT = Path(__file__).parents[1] / "profiles" / "default.json"


def main() -> int:
    """Count and write; 2 if something cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="whose tokenizer is used")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    report = ReadReport()
    try:
        made = default_profile()
        with closing(Vocabulary(Path(resolve_tokenizer(options.model).path))) as vocabulary:
            cache = TokenCache(tokens_dir())
            sessions = read_sessions(options.recordings, vocabulary, cache, report=report)
            found = profile_sessions(sessions, partial(make_drafter, DRAFTER))
        say_skipped(report.skipped)
        kept = {reply: cells for reply, cells in made.counts.items() if reply[0] == TOGETHER}
        own = {reply: cells for reply, cells in found.profile.counts.items() if reply[0] == ROLE}
        made.counts = kept | own
        write_profile(options.output, made)
    except AgspecError as error:
        print(f"error: {error.one_line()}", file=sys.stderr)
        return 2
    print(f"{found.n_sessions} sessions, {found.n_tokens} tokens of output")
    print(", ".join(f"{role}: {made.n_drafts(role):.0f} drafts" for role in made.roles()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
