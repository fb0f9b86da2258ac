"""What each role is shown: one user message a reply, the stable parts first, volatile text last.

The system message holds nothing that changes within a session, and files and tool output stand in
user messages only, where they are tokenised with special tokens off.

Each role's instruction is its system message. Behind a system message and an issue that all roles
share, the engine would read the issue once for all of them, some hundred tokens less in a task; but
there the 1.5B model answered in a form that could not be used, and took four turns instead of one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agspec_tui.forms.base import Form
from agspec_tui.session.context import Block, joined
from agspec_tui.session.handover import EditSet, RunResult
from agspec_tui.session.outline import RankedFile
from agspec_tui.session.output import cut_lines, left_out
from agspec_tui.session.roles import Limits

_N_LINE_CHARS = 240
_N_STUB_LINES = 12
_RULER = re.compile(r"([=_*~-])\1{3,}|( )\2{7,}")
_TOOK = re.compile(
    r"(?P<unittest>^Ran \d+ tests?) in [\d.]+s$"
    r"|(?P<pytest>^(?:=+ )?(?:\d+ \w+, )*\d+ \w+) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$"
    r"|(?P<cargo>^test result: .*?); finished in [\d.]+s$"
    r"|(?P<go>^(?:\s*--- \w+: \S+|(?:ok|FAIL)\s+\S+))\s+\(?[\d.]+s\)?$"
    r"|(?P<tap>^(?:#|ℹ) duration_ms) [\d.]+$"
    r"|(?P<node>^\s*[✔✖] .*?) \([\d.]+m?s\)$"
    r"|(?P<jest>^Time:) .*$",
    re.MULTILINE,
)
_PYTEST_SUMMARY = re.compile(
    r"^=+ short test summary info =+\n(?:(?:FAILED|ERROR) .*\n)+", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file with its text, as a prompt shows it."""

    path: str
    """Path relative to the repository."""
    text: str
    """Its text with `\\n` line ends."""


@dataclass(frozen=True, slots=True)
class Tried:
    """An earlier attempt, as a later one is told of it."""

    stub: str
    """Its changed lines, or what it did, in a few lines."""
    outcome: str
    """Why it did not do, in one line."""
    error: str = ""
    """The first error of its test run, a few lines; empty if the output shows none."""


@dataclass(frozen=True, slots=True)
class CoderContext:
    """Everything one coder reply may be shown."""

    issue: str
    """The issue."""
    files: Sequence[ShownFile]
    """Files to change."""
    new: Sequence[str]
    """Paths to be made."""
    change: str = ""
    """The plan's sentence; empty to leave it out."""
    reading: Sequence[ShownFile] = ()
    """Other files, to read only."""
    run: RunResult | None = None
    """The latest failing run; None to leave it out."""
    tried: Sequence[Tried] = ()
    """Earlier attempts; empty to leave them out."""
    note: str = ""
    """What went wrong with the last reply; stands near the end."""


def planner_blocks(
    issue: str,
    candidates: Sequence[RankedFile],
    run: RunResult,
    limits: Limits,
    looks: Sequence[tuple[str, str]] = (),
    n_looks_left: int = 0,
) -> list[Block]:
    """Issue, files with the names they define, the failing run, and what was looked at.

    Args:
        issue: the issue.
        candidates: source files, the likeliest first.
        run: the failing run.
        limits: bounds of the prompt.
        looks: what was looked at, each with what was to be seen.
        n_looks_left: how many more looks are offered; 0 for none.
    """
    listed = _file_list(candidates, limits.n_list_lines)
    blocks = [Block(issue.strip(), "Issue"), Block(listed, "Files")]
    if not run.ok:
        blocks.append(_output(run, limits))
    blocks += [Block(shown, title, title, order=0) for title, shown in looks]
    asked = "Which files must change, and how? Answer with the JSON object."
    if n_looks_left:
        asked += (
            ' If you must see code first, answer {"read": "path:10-40"} or {"grep": "text"} '
            f"instead, at most {n_looks_left} more times."
        )
    blocks.append(Block(asked))
    return blocks


def _file_list(candidates: Sequence[RankedFile], n_lines: int) -> str:
    """The first files with the names they define, and how many more there are."""
    lines = [candidate.line() for candidate in candidates[:n_lines]]
    n_more = len(candidates) - len(lines)
    return "\n".join([*lines, f"({n_more} more files)"] if n_more > 0 else lines)


def coder_blocks(context: CoderContext, form: Form, limits: Limits) -> list[Block]:
    """Issue and files first, so that a retry reuses them; then what an attempt adds.

    Files to read go first where there is no room, then what was tried, then the failing run.
    """
    blocks = _known(context, form, limits)
    blocks.append(Block(form.instructions().strip(), "Answer format"))
    blocks.append(Block(_request(context)))
    return blocks


def cause_blocks(context: CoderContext, form: Form, limits: Limits) -> list[Block]:
    """The same, but for the cause of the failure, which is asked for in place of the edit."""
    asked = (
        "Do not write the files yet. Say in one line, which begins with `Cause:`, which line of "
        f"{_list(file.path for file in context.files)} is wrong and why. Say in a second line, "
        "which begins with `Fix:`, how that line must read. Then stop: give no code block."
    )
    return [*_known(context, form, limits), Block(asked, "Answer format")]


def _known(context: CoderContext, form: Form, limits: Limits) -> list[Block]:
    """What the coder is shown before it is asked for anything."""
    blocks = [Block(context.issue.strip(), "Issue")]
    if context.files:
        shown = "\n".join(form.render_file(file.path, file.text) for file in context.files)
        blocks.append(Block(shown, "Files to change"))
    if context.run is not None:
        blocks.append(_output(context.run, limits, order=3))
    for file in context.reading:
        text, _ = cut_lines(file.text)
        blocks.append(
            Block(fenced(text), f"For reading only: {file.path}", f"{file.path}, to read", 1)
        )
    if context.change:
        blocks.append(Block(context.change, "Task"))
    if context.tried:
        blocks.append(_tried(context.tried))
    return blocks


def answer_blocks(
    question: str, candidates: Sequence[RankedFile], files: Sequence[ShownFile], n_lines: int
) -> list[Block]:
    """Files with the names they define, the likeliest in full, and the question last.

    Args:
        question: the question.
        candidates: source files, the likeliest first.
        files: files to show.
        n_lines: most files to list.
    """
    blocks = [Block(_file_list(candidates, n_lines), "Files", "the list of files", 2)]
    # The least likely goes first where there is no room.
    for order, file in enumerate(reversed(files)):
        text, _ = cut_lines(file.text)
        blocks.insert(1, Block(fenced(text), file.path, file.path, 10 + order))
    blocks.append(Block(question.strip(), "Question"))
    return blocks


def review_blocks(issue: str, edits: EditSet) -> list[Block]:
    """Issue and edit."""
    return [
        Block(issue.strip(), "Issue"),
        Block(fenced(edits.diff), "Change", "the change", 1),
        Block("Does the change solve the issue and nothing else? Answer with one line."),
    ]


def executor_message(run: RunResult, limits: Limits) -> str:
    """Command, exit code, and the end of the output."""
    code = "none: it ran past its time limit" if run.timed_out else str(run.exit_code)
    return joined([_output(run, limits), Block(f"Exit code: {code}")])


def excerpt(output: str, n_lines: int) -> str:
    """Head and tail of an output, mostly tail, since test runners put their summary there.

    Rulers are shortened, and the list in which pytest says everything a second time is left out. So
    is how long the tests took: the same run is then the same prompt, and has the same reply.
    """
    output = _RULER.sub(lambda run: run[0][:3], _PYTEST_SUMMARY.sub("", output))
    output = _TOOK.sub(lambda found: found[found.lastgroup or 0], output)
    lines = [
        line
        if len(line) <= _N_LINE_CHARS
        else f"{line[:_N_LINE_CHARS]} {left_out(len(line) - _N_LINE_CHARS)}"
        for line in output.strip("\n").split("\n")
    ]
    if len(lines) <= n_lines:
        return "\n".join(lines)
    n_head = n_lines // 3
    n_left_out = len(lines) - n_lines
    return "\n".join(
        [*lines[:n_head], f"[{n_left_out} lines left out]", *lines[n_head - n_lines :]]
    )


def change_stub(diff: str) -> str:
    """The changed lines of a diff and nothing else, a few of them."""
    lines = [
        line
        for line in diff.split("\n")
        if line.startswith(("+", "-")) and not line.startswith(("+++", "---"))
    ]
    more = [f"(and {len(lines) - _N_STUB_LINES} more lines)"] if len(lines) > _N_STUB_LINES else []
    return "\n".join([*lines[:_N_STUB_LINES], *more])


def _request(context: CoderContext) -> str:
    """The last lines: the note if there is one, and what to write now."""
    said = [context.note] if context.note else []
    if context.files:
        said.append(f"Change {_list([file.path for file in context.files])} to solve the issue.")
    if context.new:
        said.append(f"Make the new file {_list(context.new)}.")
    return " ".join(said)


def _tried(tried: Sequence[Tried]) -> Block:
    entries = [f"{one.stub}\nResult: {one.outcome}\n{one.error}".rstrip() for one in tried]
    text = "\n\n".join(entries)
    title = "Already tried, and wrong; do something else"
    return Block(text, title, "earlier attempts", order=2, is_history=True)


def _output(run: RunResult, limits: Limits, order: int = 1) -> Block:
    output = fenced(excerpt(run.output, limits.n_output_lines))
    return Block(output, f"Output of `{run.command}`", "the test output", order)


def fenced(text: str) -> str:
    """Text between fences longer than any in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _list(paths: Iterable[str]) -> str:
    return " and ".join(f"`{path}`" for path in paths)
