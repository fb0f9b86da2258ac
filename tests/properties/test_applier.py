"""Random files and edits: rendered in a form, parsed and landed, they give exactly that edit."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agspec_tui.errors import EditError
from agspec_tui.forms.applier import land
from agspec_tui.forms.choose import form
from agspec_tui.forms.diff import unified
from agspec_tui.forms.guards import is_placeholder
from agspec_tui.forms.paths import from_line
from agspec_tui.forms.types import FileChange, Landing

PATH = "src/app.cfg"  # a language without a grammar
LINES = [
    "",
    "",
    "    ",
    "def f(x):",
    "    return x",
    "\treturn 1",
    "        if x:  ",
    "}",
    "```",
    "```python",
    "````",
    "~~~",
    "   ```",
    "--",
    "-- note",
    "--- a/x.py",
    "+++ b/x.py",
    "++",
    "+ y",
    "- z",
    "@@ -1,2 +3,4 @@",
    "@@",
    "diff --git a/x b/x",
    "\\ No newline at end of file",
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "src/app.cfg",
    "# src/other.py",
    "$& $1 \\1 \\g<0>",
    "“quoted” — ü",
    "<tag>&amp;",
    "value = compute(1)",
]
line = st.one_of(
    st.sampled_from(LINES),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12),
)
ends = st.sampled_from(["\n", "\r\n", "\r"])


@dataclass(frozen=True)
class Case:
    """A file, and what becomes of it."""

    before: bytes
    old: tuple[str, ...]
    new: tuple[str, ...]
    bom: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    old = draw(st.lists(line, min_size=1, max_size=14))
    mixed = draw(st.booleans())
    kinds = [draw(ends) for _ in old] if mixed else [draw(ends)] * len(old)
    if old[-1] and draw(st.booleans()):
        kinds[-1] = ""
    first = draw(st.integers(0, len(old)))
    last = draw(st.integers(first, len(old)))
    put = draw(st.lists(line, max_size=4))
    new = [*old[:first], *put, *old[last:]]
    assume(new and new != old)
    assume(not any(is_placeholder(x) or "\ufffd" in x or "\ufeff" in x for x in (*put, *old)))
    bom = draw(st.booleans())
    # A lone CR before a line without text would join with its LF: such files cannot be written.
    assume(
        not any(
            a == "\r" and b == "\n" and not t
            for a, b, t in zip(kinds, kinds[1:], old[1:], strict=False)
        )
    )
    text = "".join(x + end for x, end in zip(old, kinds, strict=True))
    data = text.encode("utf-8-sig" if bom else "utf-8")
    return Case(data, tuple(old), tuple(new), bom)


def split(data: bytes, bom: bool) -> list[str]:
    text = data.decode("utf-8-sig" if bom else "utf-8")
    lines = re.split("\r\n|\n|\r", text)
    return lines[:-1] if lines[-1] == "" else lines


def hold_outside_the_spans(landing: Landing) -> None:
    for change in landing.changes:
        before, after = change.before or b"", change.after or b""
        at = shift = 0
        for place in landing.placements:
            assert before[at : place.start] == after[at + shift : place.start + shift]
            at, shift = place.end, shift + place.size - (place.end - place.start)
        assert before[at:] == after[at + shift :]


def hold(case: Case, landing: Landing) -> None:
    (change,) = landing.changes
    assert change.path == PATH
    assert change.before == case.before
    assert split(change.after, case.bom) == list(case.new)
    hold_outside_the_spans(landing)


def attempt(reply: str, case: Case, expected: tuple[str, ...] = ()) -> Landing | EditError:
    try:
        return land(form("udiff").parse(reply, expected), files(case))
    except EditError as error:
        return error


def files(case: Case):
    return {PATH: case.before}.get


def as_diff(case: Case, context: int) -> list[str]:
    """A diff by the standard library, not by our own: hunks of `context` lines, right counts."""
    out = [f"--- a/{PATH}", f"+++ b/{PATH}"]
    matcher = SequenceMatcher(None, case.old, case.new, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        i1, i2, j1, j2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
        old_first, new_first = i1 + (i2 > i1), j1 + (j2 > j1)
        out.append(f"@@ -{old_first},{i2 - i1} +{new_first},{j2 - j1} @@")
        for tag, a, b, c, d in group:
            if tag == "equal":
                out += [f" {x}" for x in case.old[a:b]]
            else:
                out += [f"-{x}" for x in case.old[a:b]] + [f"+{x}" for x in case.new[c:d]]
    return out


@settings(max_examples=200)
@given(cases())
def test_a_whole_file_lands_as_it_was_given(case):
    form_ = form("whole")
    reply = form_.render_file(PATH, "".join(f"{x}\n" for x in case.new))
    edits = form_.parse(f"Here:\n\n{reply}\nDone.\n")
    try:
        landing = land(edits, files(case), allow_shrink=True)
    except EditError as refusal:
        landing = refusal
    if isinstance(landing, EditError):
        assert "mixed line ends" in landing.message
        return
    hold(case, landing)


@settings(max_examples=200)
@given(cases(), st.sampled_from([3, 20]))
def test_a_diff_lands_as_it_was_given_or_is_refused_as_ambiguous(case, context):
    body = "\n".join(as_diff(case, context))
    result = attempt(f"Sure:\n```diff\n{body}\n```\n", case)
    if isinstance(result, Landing):
        hold(case, result)
        return
    assert re.search("not unique|only new lines|mixed line ends", result.message)
    assert context == 3 or "not unique" not in result.message


MANGLES = ("strip blank", "counts", "no numbers", "crlf", "outdent", "trailing", "fence", "tabs")


def mangled(lines: list[str], how: set[str]) -> str:
    out = []
    for number, row in enumerate(lines):
        body = number >= 2 and not re.match(r"@@ -\d+,\d+ \+\d+,\d+ @@$", row)
        if "strip blank" in how and row == " ":
            row = ""
        if "counts" in how and not body:
            row = re.sub(r",\d+", ",7", row)
        if "no numbers" in how and not body and number >= 2:
            row = "@@ ... @@"
        if "outdent" in how and body and row[1:].startswith("    "):
            row = row[0] + row[5:]
        if "tabs" in how and body:
            row = row[:1] + row[1:].replace("    ", "\t")
        if "trailing" in how and body and row[:1] == " ":
            row = row.rstrip() or " "
        out.append(row)
    end = "\r\n" if "crlf" in how else "\n"
    mark = "`````" if "fence" in how else "```"
    return end.join([f"{mark}diff", *out, mark, ""])


CODE = [
    "def f(x):",
    "    if x:",
    "        return x",
    "",
    "class A:",
    "    value = 1",
    "",
    "    y = 2",
]


@st.composite
def code_cases(draw: st.DrawFn) -> Case:
    old = draw(st.lists(st.sampled_from(CODE), min_size=3, max_size=16))
    at = draw(st.integers(0, len(old) - 1))
    put = draw(st.lists(st.sampled_from(["    z = 3", "w = 4", "        q()"]), max_size=2))
    new = [*old[:at], *put, *old[at + draw(st.integers(0, 1)) :]]
    assume(new and new != old)
    end = draw(st.sampled_from(["\n", "\r\n"]))
    data = "".join(x + end for x in old).encode()
    return Case(data, tuple(old), tuple(new), False)


@settings(max_examples=400)
@given(code_cases(), st.sets(st.sampled_from(MANGLES), min_size=1, max_size=4))
def test_a_mangled_diff_gives_the_right_file_or_a_refusal(case, how):
    landing = attempt(mangled(as_diff(case, 3), how), case, (PATH,))
    if isinstance(landing, EditError):
        assert landing.message
        assert len(landing.report().splitlines()) <= 20
        return
    hold_outside_the_spans(landing)
    (change,) = landing.changes
    got = split(change.after, False)
    if how & {"outdent", "tabs"}:  # the reply itself says less than the edit did
        assert [x.strip() for x in got] == [x.strip() for x in case.new]
    else:
        assert got == list(case.new)


@settings(max_examples=200)
@given(st.data(), st.lists(line, max_size=5), st.lists(line, max_size=5), st.booleans())
def test_a_whole_file_in_too_short_a_fence_is_right_or_refused(data, head, tail, crlf):
    inner = data.draw(st.lists(st.sampled_from(["code", "```", "more", "", "````"]), max_size=6))
    rows = [*head, "```", *inner, *tail]
    # A reply cannot tell a tagged fence that nothing closes from one that the file's end closes.
    assume(not any(re.match(r" {0,3}`{3,}[^`]+$", x) for x in rows))
    assume(not any(from_line(x) for x in rows))
    text = "".join(f"{x}\n" for x in rows)
    reply = f"{PATH}\n```\n{text}```\n"
    try:
        edits = form("whole").parse(reply.replace("\n", "\r\n") if crlf else reply)
    except EditError:
        return
    (edit,) = edits
    assert text in (edit.whole, edit.whole_long)


@settings(max_examples=100)
@given(st.binary(max_size=60), st.integers(0, 60))
def test_bytes_of_any_kind_outside_the_edit_stay(junk, at):
    before = junk[:at] + b"\nunique_marker = 1\n" + junk[at:]
    reply = f"--- a/{PATH}\n+++ b/{PATH}\n@@\n-unique_marker = 1\n+unique_marker = 22\n"
    result = attempt(f"```diff\n{reply}```\n", Case(before, (), (), False))
    if isinstance(result, EditError):
        assert "binary" in result.message or before.startswith((b"\xff\xfe", b"\xfe\xff"))
        return
    assert result.changes[0].after == before.replace(b"marker = 1\n", b"marker = 22\n")


@settings(max_examples=200)
@given(st.lists(line, max_size=12), st.lists(line, max_size=12), st.booleans(), st.booleans())
def test_our_own_diff_read_as_a_reply_gives_the_same_file(old, new, bare_old, bare_new):
    def data(rows: list[str], bare: bool) -> bytes:
        text = "".join(f"{row}\n" for row in rows)
        return (text[:-1] if bare and rows and rows[-1] else text).encode()

    before, after = data(old, bare_old), data(new, bare_new)
    assume(before and after and before != after)
    assume(not any(is_placeholder(x) or "\ufffd" in x or "\ufeff" in x for x in (*old, *new)))
    text = unified([FileChange(PATH, before, after)])
    result = attempt(f"```diff\n{text}```\n", Case(before, (), (), False))
    if isinstance(result, EditError):
        assert re.search("not unique|only new lines|exists", result.message)
        return
    assert result.changes[0].after == after
