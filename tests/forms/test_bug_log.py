"""Inputs that lost or corrupted files elsewhere, by their number in the bug log."""

from dataclasses import dataclass, field

import pytest

from agspec_tui.errors import EditError
from agspec_tui.forms.applier import land
from agspec_tui.forms.choose import form
from agspec_tui.session.output import left_out


@dataclass(frozen=True)
class Case:
    """A reply, and the files afterwards or the words of its refusal."""

    name: str
    form: str
    reply: str
    before: dict[str, bytes]
    after: dict[str, bytes] = field(default_factory=dict)
    refusal: str = ""
    expected: tuple[str, ...] = ()


def diff(path: str, *hunks: str) -> str:
    return f"```diff\n--- a/{path}\n+++ b/{path}\n{''.join(hunks)}```\n"


def block(path: str, old: str, new: str) -> str:
    return f"{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


def file(path: str, text: str, fence: str = "```", tag: str = "") -> str:
    return f"{path}\n{fence}{tag}\n{text}{fence}\n"


APP = b"def main(args):\n    x = 1\n\n    return x\n"
APP2 = APP.replace(b"1", b"2")
SWAP = " def main(args):\n-    x = 1\n+    x = 2\n"
TABLE = b"| a | 1 |\n| b | 1 |\n| c | 1 |\n"
DOC = "# Use\n\n```bash\nmake\n```\n\nThen:\n\n```\nrun\n```\n"
CRLF = b"a\r\nb\r\nc\r\n"
MIXED = b"a\r\nb\nc\r\nd\n"

CASES = [
    *(
        Case(f"P01 {head}", "udiff", diff("a.py", f"{head}\n", SWAP), {"a.py": APP}, {"a.py": APP2})
        for head in ("@@", "@@ ... @@", "@@ def main @@")
    ),
    Case(
        "P04",
        "udiff",
        "```diff\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,2 @@\n+1\n+2\n+3\n+4\n```\n",
        {},
        {"n.py": b"1\n2\n3\n4\n"},
    ),
    Case(
        "P05",
        "udiff",
        diff("a.py", "@@ -1,1 +1,9 @@\n", SWAP),
        {"a.py": APP},
        {"a.py": APP2},
    ),
    Case(
        "P07",
        "udiff",
        diff("a.py", "@@ main @@\n def main(args):\n", "@@\n", SWAP),
        {"a.py": APP},
        {"a.py": APP2},
    ),
    Case(
        "P07 nothing",
        "udiff",
        diff("a.py", "@@ main @@\n def main(args):\n"),
        {"a.py": APP},
        refusal="changes nothing",
    ),
    Case(
        "P08",
        "udiff",
        diff("a.py", "@@\n", SWAP, "\n", "     return x\n"),
        {"a.py": APP},
        {"a.py": APP2},
    ),
    Case(
        "P08 added",
        "udiff",
        diff("a.py", "@@\n     x = 1\n+\n+    y = 2\n\n     return x\n"),
        {"a.py": APP},
        {"a.py": APP.replace(b"1\n", b"1\n\n    y = 2\n")},
    ),
    Case(
        "P09",
        "udiff",
        diff("a.py", "@@\n", SWAP) + diff("b.py", "@@\n-no such line\n+y\n"),
        {"a.py": APP, "b.py": b"x\n"},
        refusal=r"b\.py, hunk 1",
    ),
    Case(
        "P10",
        "udiff",
        diff("a.py", "@@\n def main(args):\n     ...\n-    return x\n+    return 2\n"),
        {"a.py": APP},
        refusal="hunk 1: the old side leaves lines out",
    ),
    Case(
        "P12",
        "udiff",
        diff("a.md", "@@\n-one sentence of\n+one phrase of\n"),
        {"a.md": b"This is one sentence of a long line of prose.\r\nx\n"},
        {"a.md": b"This is one phrase of a long line of prose.\r\nx\n"},
    ),
    Case(
        "P12 twice",
        "search-replace",
        block("a.md", "one sentence of\n", "one phrase of\n"),
        {"a.md": b"Here is one sentence of it, there one sentence of that.\n"},
        refusal="no such lines",
    ),
    Case(
        "P12 in a word",
        "search-replace",
        block("a.md", "one sentence of\n", "one phrase of\n"),
        {"a.md": b"This is one sentence often read.\n"},
        refusal="no such lines",
    ),
    Case(
        "P14",
        "udiff",
        "```diff\n--- a/a.py\n+++ b/a.py\n@@\n-    x = 1\n+    x = std::threa",
        {"a.py": APP},
        refusal="ends inside",
    ),
    Case("P14 whole", "whole", "a.py\n```\nuse std::threa", {"a.py": APP}, refusal="ends inside"),
    Case(
        "P15",
        "whole",
        file("dir\\CreateAnItems (1).cpp", "int x;\n"),
        {"dir/CreateAnItems (1).cpp": b"int y;\n"},
        {"dir/CreateAnItems (1).cpp": b"int x;\n"},
    ),
    Case(
        "P16",
        "whole",
        file('"dir with space/file.txt"', "new\n"),
        {"dir with space/file.txt": b"old\n"},
        {"dir with space/file.txt": b"new\n"},
    ),
    Case("P17", "whole", file("py", "x = 1\n"), {"a.py": APP}, refusal="names no file"),
    Case("P17 md", "whole", file("File: .md", "x\n"), {"a.py": APP}, refusal="an extension"),
    Case(
        "P18",
        "udiff",
        diff("a.md", "@@\n-| d | 1 |\n+| d | 2 |\n"),
        {"a.md": TABLE},
        refusal="no such lines",
    ),
    Case(
        "P19",
        "udiff",
        diff("a.py", "@@\n def main(argv):\n-    x = 0\n+    x = 2\n     return x\n"),
        {"a.py": APP},
        refusal="no such lines",
    ),
    Case(
        "P20",
        "udiff",
        diff("a.py", '@@\n s = "a"\n-t = 1\n+t = 2\n'),
        {"a.py": "s = “a”  \nt = 1\nﬁne \t\n".encode()},
        {"a.py": "s = “a”  \nt = 2\nﬁne \t\n".encode()},
    ),
    Case(
        "P23",
        "udiff",
        diff("a.js", "@@\n-x\n+y = r(/(a)/, '$1$& \\1 \\g<0>')\n"),
        {"a.js": b"x\n"},
        {"a.js": b"y = r(/(a)/, '$1$& \\1 \\g<0>')\n"},
    ),
    Case(
        "P25",
        "whole",
        file("a.py", "def main(args):\n    x = 2\n# ... rest of code unchanged ...\n"),
        {"a.py": APP},
        refusal="left out",
    ),
    Case(
        "P26",
        "whole",
        file("a.py", f"def main(args):\n    x = 2\n{left_out(12)}\n"),
        {"a.py": APP},
        refusal="left out",
    ),
    Case(
        "P27",
        "udiff",
        diff("a.py", "@@\n", SWAP, "@@\n-    return y\n+    return 3\n"),
        {"a.py": APP},
        refusal=r"a\.py, hunk 2: .*line 1 of its old side.*return y",
    ),
    Case(
        "P28",
        "udiff",
        "```diff\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+1\n```\n",
        {"n.py": b""},
        {"n.py": b"1\n"},
    ),
    Case(
        "P28 full",
        "udiff",
        "```diff\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+1\n```\n",
        {"n.py": b"2\n"},
        refusal="exists and is not empty",
    ),
    Case(
        "F01",
        "whole",
        file("README.md", DOC, "````", "markdown"),
        {"README.md": b"# Old\n"},
        {"README.md": DOC.encode()},
    ),
    Case(
        "F01 short fence",
        "whole",
        file("README.md", DOC),
        {"README.md": b"# Old\n"},
        {"README.md": DOC.encode()},
    ),
    Case(
        "F02",
        "whole",
        file("save.md", DOC, "````"),
        {},
        {"save.md": DOC.encode()},
    ),
    Case(
        "F03",
        "whole",
        file("a.md", "x\n```javascript\ny\n```\nz\n", "```", "markdown"),
        {"a.md": b"x\n"},
        {"a.md": b"x\n```javascript\ny\n```\nz\n"},
    ),
    Case(
        "F04",
        "udiff",
        diff("a.md", "@@\n x\n+```python\n+y\n+```\n"),
        {"a.md": b"x\n"},
        {"a.md": b"x\n```python\ny\n```\n"},
    ),
    Case(
        "F05",
        "whole",
        file("a.js", "r = /```/;\n", "```", "js"),
        {"a.js": b"r = 1;\n"},
        {"a.js": b"r = /```/;\n"},
    ),
    Case(
        "D01", "whole", file("a", "a\nB\nc\n"), {"a": CRLF}, {"a": b"a\r\nB\r\nc\r\n"}, "", ("a",)
    ),
    Case(
        "D02",
        "udiff",
        diff("a.txt", "@@\n a\n-b\n+B\n c\n"),
        {"a.txt": MIXED},
        {"a.txt": b"a\r\nB\nc\r\nd\n"},
    ),
    *(
        Case(
            f"D03 {name}",
            "udiff",
            diff("a.txt", "@@\n-x = 1\n+x = 2\n"),
            {"a.txt": text.encode(name) + b"x = 1\n"},
            {"a.txt": text.encode(name) + b"x = 2\n"},
        )
        for name, text in (("cp1252", "“é€”\n"), ("latin-1", "éü\n"), ("gbk", "你好\n"))
    ),
    Case(
        "D04",
        "whole",
        file("a.txt", "b\n"),
        {"a.txt": b"\xef\xbb\xbfa\r\n"},
        {"a.txt": b"\xef\xbb\xbfb\r\n"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_edit_lands_exactly_or_is_refused(case):
    def act():
        return land(form(case.form).parse(case.reply, case.expected), case.before.get)

    if case.refusal:
        with pytest.raises(EditError, match=case.refusal) as caught:
            act()
        assert caught.value.hint
        assert "\n" not in caught.value.message
        return
    assert {change.path: change.after for change in act().changes} == case.after


def test_d01_the_diff_of_a_crlf_file_shows_the_changed_line_alone():
    edits = form("whole").parse(file("a.txt", "a\nB\nc\n"))
    text = land(edits, {"a.txt": CRLF}.get).diff
    rows = [row for row in text.split("\n")[4:] if row[:1] in ("-", "+")]
    assert rows == ["-b\r", "+B\r"]
