"""Random files, random edits, and replies that say them in every form, well or badly."""

import json
import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from hypothesis import assume
from hypothesis import strategies as st

from agspec_tui.forms.guards import is_placeholder

PATH = "src/app.cfg"  # a language without a grammar
LINES = [
    "",
    "",
    "def f(x):",
    "    if x:",
    "        return x",
    '    say("hello")',
    "    say('it''s')",
    "\treturn 1",
    "    value = compute(1)",
    "    value = compute(2)",
    "class A:",
    "}",
    "```",
    "```python",
    "~~~",
    "   ```",
    "-- note",
    "--- a/x.py",
    "+++ b/x.py",
    "@@",
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<function=write_file>",
    "</function>",
    "<parameter=content>",
    "</parameter>",
    '{"name": "write_file", "arguments": {}}',
    '"}}',
    '", "path": "b"}',
    "[TOOL_CALLS]",
    "<escape>",
    PATH,
    "print('\\n')  # \\d",
    "“quoted” — ü",
    "$& $1 \\1 \\g<0>",
]
PLAIN = [line for line in LINES[:12] if line.strip()]
line = st.one_of(
    st.sampled_from(PLAIN),
    st.sampled_from(PLAIN),
    st.sampled_from(LINES),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=10),
)


@dataclass(frozen=True)
class Edit:
    """A file before and after."""

    before: bytes
    old: tuple[str, ...]
    new: tuple[str, ...]
    end: str


@st.composite
def edits(draw: st.DrawFn, lines=line) -> Edit:
    """A file of up to 14 lines, of which one or two runs change."""
    old = draw(st.lists(lines, min_size=1, max_size=14))
    new = list(old)
    for _ in range(draw(st.integers(1, 2))):
        first = draw(st.integers(0, len(new)))
        last = draw(st.integers(first, min(len(new), first + 3)))
        new[first:last] = draw(st.lists(lines, max_size=3))
    assume(new and new != old and new[-1] and old[-1])
    assume(not any(is_placeholder(x) or "\ufffd" in x or "\ufeff" in x for x in (*old, *new)))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    return Edit("".join(x + end for x in old).encode(), tuple(old), tuple(new), end)


Rows = list[tuple[str, str]]


def hunks(edit: Edit, context: int) -> list[tuple[str, Rows]]:
    """Header and rows of each hunk, by the standard library."""
    out = []
    matcher = SequenceMatcher(None, edit.old, edit.new, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        i1, i2, j1, j2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
        head = f"@@ -{i1 + (i2 > i1)},{i2 - i1} +{j1 + (j2 > j1)},{j2 - j1} @@"
        rows: Rows = []
        for tag, a, b, c, d in group:
            if tag == "equal":
                rows += [(" ", x) for x in edit.old[a:b]]
            else:
                rows += [("-", x) for x in edit.old[a:b]] + [("+", x) for x in edit.new[c:d]]
        out.append((head, rows))
    return out


ROW_MANGLES = ("outdent", "trailing", "blank", "smart")


def mangled(rows: Rows, how: set[str]) -> Rows:
    """Rows as a careless model copies them; new lines keep all but their indentation."""
    if "outdent" in how:
        margins = [len(x) - len(x.lstrip(" ")) for _, x in rows if x.strip()]
        cut = min(margins, default=0)
        rows = [(mark, x[cut:] if x.strip() else x) for mark, x in rows]
    if "trailing" in how:
        rows = [(mark, x if mark == "+" else f"{x.rstrip()}  ") for mark, x in rows]
    if "blank" in how:
        rows = [(mark, x) for mark, x in rows if mark != " " or x.strip()]
    if "smart" in how:
        rows = [(mark, x if mark == "+" else x.replace("'", "’")) for mark, x in rows]
    return rows


def as_udiff(edit: Edit, how: set[str], context: int) -> str:
    out = ["```diff"] if "no fence" not in how else []
    if "no headers" not in how:
        out += [f"--- a/{PATH}", f"+++ b/{PATH}"]
    for head, rows in hunks(edit, context):
        if "counts" in how:
            head = re.sub(r",\d+", ",7", head)
        out.append("@@" if "bare" in how else head)
        for mark, text in mangled(rows, how):
            row = mark + text
            out.append("" if row == " " and "strip" in how else row)
    out += ["```"] if "no fence" not in how else []
    return "\n".join(out) + "\n"


def as_blocks(edit: Edit, how: set[str], context: int) -> str:
    out = []
    for _, rows in hunks(edit, context):
        said = mangled(rows, how)
        block = [
            "<<<<<<< SEARCH",
            *(text for mark, text in said if mark != "+"),
            "=======",
            *(text for mark, text in said if mark != "-"),
            ">>>>>>> REPLACE",
        ]
        if "no fence" in how:
            out += [PATH, *block]
        elif "fence inside" in how:
            out += ["```", PATH, *block, "```"]
        else:
            out += [PATH, "```python", *block, "```"]
    return "\n".join(out) + "\n"


def as_whole(edit: Edit, how: set[str]) -> str:
    fence = "```" if "short fence" in how else "``````"
    body = "".join(f"{x}\n" for x in edit.new)
    return f"{PATH}\n{fence}python\n{body}{fence}\n"


def quoted(text: str, how: set[str]) -> str:
    """A JSON string, or what a model makes of one."""
    out = json.dumps(text, ensure_ascii="ascii" in how)
    if "raw ends" in how:
        out = out.replace("\\n", "\n")
    if "raw quotes" in how:
        out = f'"{out[1:-1]}"'.replace('\\"', '"')
    if "raw backslashes" in how:
        raw = out.replace("\\\\", "\\")
        out = out if is_string(raw) else raw
    return out


def is_string(text: str) -> bool:
    """Whether a text is a string of JSON, raw line ends in it aside: then it says what it says."""
    try:
        return isinstance(json.loads(text, strict=False), str)
    except ValueError:
        return False


JSON_MANGLES = ("ascii", "raw ends", "raw quotes", "raw backslashes", "comma", "stray")


def as_json(edit: Edit, how: set[str]) -> str:
    content = quoted("".join(f"{x}\n" for x in edit.new), how)
    comma = "," if "comma" in how else ""
    stray = "]" if "stray" in how else ""
    return f'{{"files": [{{"path": "{PATH}", "content": {content}{comma}}}]}}{stray}\n'


def arguments(edit: Edit, how: set[str], context: int) -> list[dict[str, str]]:
    """Arguments of the calls that make the edit: one whole file, or one replacement a hunk."""
    if "whole" in how:
        return [{"path": PATH, "content": "".join(f"{x}\n" for x in edit.new)}]
    made = []
    for _, rows in hunks(edit, context):
        said = mangled(rows, how)
        old = "".join(f"{text}\n" for mark, text in said if mark != "+")
        new = "".join(f"{text}\n" for mark, text in said if mark != "-")
        made.append({"path": PATH, "old_string": old, "new_string": new})
    return made


DIALECTS = ("qwen", "qwen3-coder", "mistral", "gemma", "bare")


def as_calls(edit: Edit, dialect: str, how: set[str], context: int) -> str:
    out = []
    for given in arguments(edit, how, context):
        name = "write_file" if "content" in given else "edit"
        pairs = ", ".join(f'"{key}": {quoted(value, how)}' for key, value in given.items())
        comma = "," if "comma" in how else ""
        stray = "]" if "stray" in how else ""
        call = f'{{"name": "{name}", "arguments": {{{pairs}{comma}}}}}{stray}'
        if dialect == "qwen":
            opener = "" if "no opener" in how else "<tool_call>\n"
            out.append(f"{opener}{call}\n</tool_call>")
        elif dialect == "mistral":
            out.append(f"[TOOL_CALLS]{name}[ARGS]{{{pairs}{comma}}}{stray}")
        elif dialect == "gemma":
            body = ",".join(f"{key}:<escape>{value}<escape>" for key, value in given.items())
            out.append(f"<start_function_call>call:{name}{{{body}}}<end_function_call>")
        elif dialect == "qwen3-coder":
            body = "".join(
                f"<parameter={key}>\n{value}</parameter>\n"
                if value.endswith("\n")
                else f"<parameter={key}>\n{value}\n</parameter>\n"
                for key, value in given.items()
            )
            opener = "" if "no opener" in how else "<tool_call>\n"
            out.append(f"{opener}<function={name}>\n{body}</function>\n</tool_call>")
        else:
            out.append(call)
    return "\n".join(out) + "\n"
