"""Replies in which tool calls, blocks or JSON went wrong elsewhere, by their number in the log."""

import json
from dataclasses import dataclass, field

import pytest

from agspec_tui.errors import EditError
from agspec_tui.forms.applier import land
from agspec_tui.forms.choose import NAMES, form
from agspec_tui.forms.cut import refuse_cut

APP = b"def main(args):\n    x = 1\n    return x\n"
APP2 = APP.replace(b"1", b"2")
TEXT = APP2.decode()
WRITE = {"path": "a.py", "content": TEXT}
SWAP = {"path": "a.py", "old_string": "    x = 1\n", "new_string": "    x = 2\n"}
CALL = json.dumps({"name": "write_file", "arguments": WRITE})
XML = f"<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\n{TEXT}"
XML += "</parameter>\n</function>\n"
BLOCK = "<<<<<<< SEARCH\n    x = 1\n=======\n    x = 2\n>>>>>>> REPLACE\n"
CONTENT = json.dumps(TEXT)[1:-1]
GEMMA = "<start_function_call>call:write_file{path:<escape>a.py<escape>,content:<escape>"
GEMMA += f"{TEXT}<escape>}}<end_function_call>"
QWEN = f"<tool_call>\n{CALL}\n</tool_call>"
MISTRAL = f"[TOOL_CALLS]write_file[ARGS]{json.dumps(WRITE)}"
DIALECTS = {"qwen": QWEN, "xml": XML, "mistral": MISTRAL, "gemma": GEMMA, "bare": CALL}


@dataclass(frozen=True)
class Case:
    """A reply, and the file afterwards or the words of its refusal."""

    name: str
    reply: str
    refusal: str = ""
    forms: tuple[str, ...] = NAMES
    path: str = "a.py"
    before: bytes = APP
    after: bytes = APP2
    expected: tuple[str, ...] = field(default=("a.py", "b.py"))


def block(path: str, body: str) -> str:
    return f"{path}\n{body}"


BLOCKS = ("search-replace",)
CASES = [
    Case("T01", f"[TOOL_CALLS]write_file[ARGS]{json.dumps(WRITE)}"),
    Case("T01 prose", f"I write it.[TOOL_CALLS]edit[ARGS]{json.dumps(SWAP)}"),
    Case("T01 apostrophe", f"I'll write it.[TOOL_CALLS]edit[ARGS]{json.dumps(SWAP)}"),
    Case("T01 gemma prose", f"I'll write it. {GEMMA}"),
    Case("T01 list", f"[TOOL_CALLS][{CALL}]"),
    Case("T01 cut", f"[TOOL_CALLS]write_file[ARGS]{json.dumps(WRITE)[:40]}", "ends inside"),
    Case("T02", f"Now:\n<tool_call>\n{XML}</tool_call>"),
    Case("T02 cut", XML.removesuffix("</function>\n"), "ends inside a call"),
    Case("T02 own marks", XML.replace("return x", "</parameter>\n"), "ends before|own end"),
    Case("T03", XML),
    Case("T03 closed", f"{XML}</tool_call>\n"),
    Case("T04", CALL),
    Case("T04 pretty", json.dumps(json.loads(CALL), indent=2)),
    Case("T04 unknown", CALL.replace("write_file", "read"), "'read', which is no edit"),
    Case("T04 fenced", f"```json\n{CALL}\n```\n"),
    Case("T05 array", f"[{CALL}]"),
    Case("T05 stray", f"{CALL}]"),
    Case("T05 wrapped", f"<tool_call>\n[{CALL}]]\n</tool_call>"),
    Case("T06 comma", CALL.replace('"}}', '",},}')),
    Case("T06 path", CALL.replace('"a.py"', "'a.py'")),
    Case("T06 escape", CALL.replace("args", "\\d"), r"holds the escape '\\\\d'"),
    Case("T06 single", CALL.replace(f'"{CONTENT}"', f"'{CONTENT}'"), "stands in single quotes"),
    Case("T06 raw", CALL.replace(CONTENT, TEXT)),
    Case("T06 raw mixed", CALL.replace(CONTENT, TEXT.replace("2", "'\\n'")), "mixes raw"),
    Case("T06 quote", CALL.replace("x = 2", 'x = "2}'), "cannot be read|ends before"),
    Case("T06 closed early", CALL.replace("x = 2", 'f("}}")'), "cannot be read|ends before"),
    Case("T06 triple", CALL.replace(f'"{CONTENT}"', f'"""{TEXT}"""'), "cannot be read"),
    Case("T06 cut", CALL[:-12], "ends inside its JSON"),
    Case("T07", f"<think>\n<tool_call>\n{CALL}\n</tool_call>\n</think>\nDone.", "the reasoning"),
    Case("T07 orphan", f"I write it.\n{QWEN}\n</think>\nDone.", "the reasoning"),
    Case("T07 orphan file", f"a.py\n```\n{TEXT}```\n</think>\nDone.", "the reasoning"),
    Case("T07 open", f"<think>\n<tool_call>\n{CALL}\n</tool_call>\n", "inside its reasoning"),
    Case(
        "T08",
        f"<think>\n{CALL.replace('2', '3')}\n</think>\n<tool_call>\n{CALL}\n</tool_call>",
    ),
    Case("T08 orphan", f"{CALL.replace('2', '3')}\n</think>\n<tool_call>{CALL}</tool_call>"),
    Case("T08 twice", f"<tool_call>\n{CALL}\n</tool_call>\n" * 2),
    Case("T08 both ways", f"<tool_call>{CALL}</tool_call>\n<tool_call>\n{XML}</tool_call>"),
    Case("T09", "I have fixed the file with the write_file tool.", "holds no|no JSON|names no"),
    Case("T10", CALL[:-1] + ', "id": null, "type": null}'),
    Case("T10 null name", CALL.replace('"write_file"', "null"), "holds no|no file|no JSON|no edit"),
    Case("T16", f"plan\n</think>{CALL}</tool_call>"),
    Case("T01 gemma", GEMMA),
    Case("P13", block("a.py", f"```python\n{BLOCK}```\n"), forms=BLOCKS),
    Case("P13 path inside", f"```python\na.py\n{BLOCK}```\n", forms=BLOCKS),
    Case(
        "P13 each part",
        "a.py\n<<<<<<< SEARCH\n```python\n    x = 1\n```\n=======\n```python\n    x = 2\n```\n"
        ">>>>>>> REPLACE\n",
        forms=BLOCKS,
    ),
    Case("P13 behind", f"a.py\n{BLOCK}```\n", forms=BLOCKS),
    Case("P14", block("a.py", BLOCK[:40]), "ends inside", BLOCKS),
    Case("P10", block("a.py", BLOCK.replace("    x = 1", "...")), "leaves lines out", BLOCKS),
    Case(
        "P18",
        block("a.py", BLOCK.replace("x = 1", "x = 9")),
        "no such lines; line 1 of its old side",
        BLOCKS,
    ),
    Case("P25", block("a.py", BLOCK.replace("x = 2", "# ... rest ...")), "left out", BLOCKS),
    Case(
        "P23",
        block("a.py", BLOCK.replace("2", "r'\\1 $&'")),
        "",
        BLOCKS,
        after=APP.replace(b"1", b"r'\\1 $&'"),
    ),
    Case(
        "P15",
        block("dir\\Items (1).py", BLOCK),
        forms=BLOCKS,
        path="dir/Items (1).py",
        expected=(),
    ),
    Case(
        "P18 repeated",
        block(
            "a.txt",
            "<<<<<<< SEARCH\n    x = ‘a’  \n=======\n    y = 1\n    x = ‘a’  \n    x = ‘a’  \n"
            ">>>>>>> REPLACE\n",
        ),
        forms=BLOCKS,
        before=b"    x = 'a'\n",
        after=b"    y = 1\n    x = 'a'\n    x = 'a'\n",
        path="a.txt",
        expected=("a.txt",),
    ),
    Case("P17", block("py", BLOCK), "names no file", BLOCKS, expected=()),
    Case(
        "F01",
        json.dumps({"files": [{"path": "a.md", "content": "# A\n```\nx\n```\n"}]}),
        forms=("whole-json",),
        path="a.md",
        after=b"# A\n```\nx\n```\n",
    ),
    Case(
        "F05",
        block("a.py", BLOCK.replace("2", "'```'")),
        forms=BLOCKS,
        after=APP.replace(b"1", b"'```'"),
    ),
    Case(
        "D01",
        block("a.py", BLOCK),
        forms=BLOCKS,
        before=APP.replace(b"\n", b"\r\n"),
        after=APP2.replace(b"\n", b"\r\n"),
    ),
]


@pytest.mark.parametrize(
    ("case", "name"),
    [pytest.param(one, name, id=f"{one.name} {name}") for one in CASES for name in one.forms],
)
def test_the_reply_lands_exactly_or_is_refused(case, name):
    def act():
        return land(form(name).parse(case.reply, case.expected), {case.path: case.before}.get)

    if case.refusal:
        with pytest.raises(EditError, match=case.refusal) as caught:
            act()
        assert caught.value.hint
        assert "\n" not in caught.value.message
        return
    (change,) = act().changes
    assert (change.path, change.after) == (case.path, case.after)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "reply",
    [
        "<think>\n{}\n</think>\nDone.",
        "<think>a</think> <think>\n{}\n</think>\nDone.",
        "<think>a</think>\nI see. <think>\n{}\n</think>\nDone.",
        "I'll see: `x` <think>\n{}\n</think>\nDone.",
        "I see. <think>\n{}\n</think>\nFrom here:\n```\n",
        "```python\nfoo()\n<think>\n{}\n</think>\nDone.",
        "<<<<<<< SEARCH\nfoo()\n<think>\n{}\n</think>\nDone.",
        "<think>\n{}\n",
        "I see. <think>\n{}\n",
    ],
)
def test_t07_a_call_in_the_reasoning_is_never_taken(reply, name, dialect):
    with pytest.raises(EditError):
        form(name).parse(reply.replace("{}", DIALECTS[dialect]), ("a.py",))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "reply",
    [
        "<think>\nFirst I try:\n```\ndraft\n```\n</think>\n{}",
        "<think>{}</think>{}",
        "<think>\n{}\n</think> <think>no: 2</think>\n{}",
        "I see. <think>```\ndraft\n```</think>\n{}",
        "{}\n<think>\nThat was:\n{}\n</think>\n",
        "{}<think>\nThat was:\n{}\n</think>\n",
    ],
)
def test_t08_a_call_beside_reasoning_is_taken(reply, name, dialect):
    said = reply.replace("{}", DIALECTS[dialect])
    assert land(form(name).parse(said, ("a.py",)), {"a.py": APP}.get).changes[0].after == APP2


@pytest.mark.parametrize("dialect", ["xml", "gemma", "qwen raw", "mistral raw", "bare raw"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "lines",
    ["    x = 2\n<think>\nkept\n</think>\n", "    x = 2\n</think>\n", "</tool_call>\n<think>\n"],
)
def test_t08_marks_of_reasoning_in_the_text_of_a_call_are_lines_of_the_file(name, dialect, lines):
    kind, *raw = dialect.split()
    said = DIALECTS[kind].replace(CONTENT, TEXT) if raw else DIALECTS[kind]
    reply = said.replace("    x = 2\n", lines)
    (edit,) = form(name).parse(reply, ("a.py",))
    assert edit.whole == TEXT.replace("    x = 2\n", lines)


@pytest.mark.parametrize("name", NAMES)
def test_t08_reasoning_behind_a_call_that_cannot_be_read_is_refused(name):
    broken = CALL.replace(CONTENT, 'say "no"\n')
    with pytest.raises(EditError, match="cannot be read"):
        form(name).parse(f"{broken}\n<think>\na.py\n```\nx\n```\n</think>\n", ("a.py",))


@pytest.mark.parametrize("reason", ["length", "context", "loop", "cancelled", "error"])
def test_p14_a_reply_that_did_not_end_by_itself_is_never_used(reason):
    with pytest.raises(EditError, match="after 12 tokens"):
        refuse_cut(reason, 12)


@pytest.mark.parametrize("reason", ["eog", "stop", ""])
def test_p14_a_reply_that_ended_by_itself_is_used(reason):
    refuse_cut(reason, 12)


def test_t08_the_end_of_reasoning_within_a_bare_diff_is_a_line_of_the_file():
    reply = (
        "--- a/a.py\n+++ b/a.py\n@@\n-    x = 1\n+</think>\n     return x\n@@\n-def main(args):\n"
    )
    landing = land(
        form("udiff").parse(reply), {"a.py": b"def main(args):\n    x = 1\n    return x\n("}.get
    )
    assert landing.changes[0].after == b"</think>\n    return x\n("


@pytest.mark.parametrize("mark", ["<<<<<<< HEAD", "<<<<<<< a.py", "<<<<<<<"])
def test_t08_marks_of_reasoning_in_a_block_are_lines_of_the_file(mark):
    reply = f"a.py\n{mark}\n<think>\nx\n</think>\n=======\ny\n>>>>>>> REPLACE\n"
    (change,) = land(
        form("search-replace").parse(reply), {"a.py": b"<think>\nx\n</think>\n"}.get
    ).changes
    assert change.after == b"y\n"


def test_t08_marks_of_reasoning_in_a_file_whose_fence_is_too_short_are_its_lines():
    text = "# A\n```py\nx\n```\n<think>\ny\n</think>\n"
    (edit,) = form("whole").parse(f"a.md\n```md\n{text}```\n")
    assert edit.whole == text


def test_t08_reasoning_within_a_diff_without_hunk_headers_is_a_line_of_the_file():
    reply = "--- a/a.py\n+++ b/a.py\n-    x = 1\n <think>\n+    x = 2\n </think>\n"
    before = b"    x = 1\n<think>\n</think>\n"
    (change,) = land(form("udiff").parse(reply), {"a.py": before}.get).changes
    assert change.after == b"<think>\n    x = 2\n</think>\n"
