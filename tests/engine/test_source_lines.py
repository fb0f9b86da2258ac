import time

import numpy as np
import pytest

from agspec_tui.commands import DocumentView, LoadModel
from agspec_tui.drafting.workspace_corpus import WorkspaceCorpus
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.source_lines import SourceLines
from agspec_tui.forms.choose import views_of
from agspec_tui.forms.text import normalise

FILE = (
    "\ufeff# coding: utf-8\r\n\r\n\r\n"
    "class Größe:\n"
    '\tnames = {"\\n": "a\\\\b", \'q\': "\u2028", "😀": "👩‍👩‍👧"}\n'
    "\n\n\n        \n"
    "    def value(self, n):\n"
    "        return [number * 17 for number in range(n) if number % 3 == 0]\n"
    "}}}}\r\n))))\n"
    "日本語のコメント\tと\x0cform feed\n"
    "last line without an end"
)
TEXTS = {
    "mixed": FILE,
    "with a final newline": f"{FILE}\n",
    "empty": "",
    "one newline": "\n",
    "blank lines": "\n\n\n\n\n",
    "code": "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(60)),
}


@pytest.fixture(scope="module")
def backend(smollm2):
    backend = LlamaBackend(LoadModel(path=str(smollm2), name="smollm2", n_ctx=256))
    yield backend
    backend.close()


def lines_of_tokens(backend, view, ids):
    """Line in which each token begins, told from the text before it."""
    found, before = [], b""
    for token in ids.tolist():
        if view.name.startswith("escaped"):
            n_ends = before.replace(b"\\\\", b"").count(b"\\n")
        else:
            n_ends = before.count(b"\n")
        found.append(n_ends + 1)
        before += backend.detokenize([token])
    assert before == view.text.encode()
    return found


@pytest.mark.parametrize("form", ["whole", "udiff", "whole-json"])
@pytest.mark.parametrize("name", TEXTS)
def test_every_token_of_every_view_leads_back_to_its_line(backend, form, name):
    lines = SourceLines(backend.detokenize, backend.n_vocab)
    pairs = [
        (view, backend.tokenize(view.text, special=False)) for view in views_of(form, TEXTS[name])
    ]
    lines.add("a (b).py", pairs)
    n_lines = len(normalise(TEXTS[name]).removesuffix("\n").split("\n"))
    for view, ids in pairs:
        given = [lines.line(f"a (b).py ({view.name})", offset) for offset in range(len(ids))]
        assert given == lines_of_tokens(backend, view, ids)
        assert max(given, default=0) <= n_lines


def test_the_offset_of_a_draft_leads_to_the_line_it_continues(backend):
    text = TEXTS["code"]
    ids = backend.tokenize(text, special=False)
    corpus, lines = WorkspaceCorpus(), SourceLines(backend.detokenize, backend.n_vocab)
    corpus.index("f.py", [("raw", ids)])
    lines.add("f.py", [(DocumentView("raw", text), ids)])
    corpus.begin(backend.tokenize("x\ndef f41(x", special=False).tolist())
    drafted, document, offset = corpus.draft(8)
    assert backend.detokenize(drafted).startswith(b"):\n    return x + 4")
    assert document == "f.py (raw)"
    line = lines.line(document, offset)
    assert text.split("\n")[line - 1] == "def f41(x):"
    later = lines.line(document, offset + 4)
    assert text.split("\n")[later - 1] == "    return x + 41"


def test_what_is_no_file_has_no_line(backend):
    lines = SourceLines(backend.detokenize, backend.n_vocab)
    text = "a = 1\n"
    lines.add("a.py", [(DocumentView("raw", text), backend.tokenize(text, special=False))])
    assert lines.line("a.py (raw)", 0) == 1
    for document in ("", "coder:user 3", "a.py", "a.py (space)", "b.py (raw)", "(raw)"):
        assert lines.line(document, 0) == 0
    lines.forget("a.py")
    lines.forget("b.py")
    assert lines.line("a.py (raw)", 0) == 0


def test_a_changed_file_loses_the_views_it_no_longer_has(backend):
    lines = SourceLines(backend.detokenize, backend.n_vocab)
    for text in ("é\n", "e\n"):
        pairs = [
            (view, backend.tokenize(view.text, special=False))
            for view in views_of("whole-json", text)
        ]
        lines.add("a.py", pairs)
    assert lines.line("a.py (escaped)", 0) == 1
    assert lines.line("a.py (escaped-ascii)", 0) == 0
    lines.clear()
    assert lines.line("a.py (escaped)", 0) == 0


def test_tokens_that_are_not_the_bytes_of_the_text_have_no_lines():
    pieces = {0: b" a", 1: b"\n", 2: b"b"}  # the first one carries a blank that is not in the text
    lines = SourceLines(lambda ids: b"".join(pieces[token] for token in ids), 3)
    ids = np.array([0, 1, 2], dtype=np.int32)
    lines.add("a.py", [(DocumentView("raw", "a\nb"), ids)])
    assert lines.line("a.py (raw)", 2) == 0
    lines.add("a.py", [(DocumentView("raw", " a\nb"), ids)])
    assert lines.line("a.py (raw)", 2) == 2


def test_twenty_thousand_tokens_are_placed_in_a_few_milliseconds(backend):
    text = TEXTS["code"] * 22
    view, taken_s = DocumentView("raw", text), []
    ids = backend.tokenize(text, special=False)
    assert len(ids) > 20_000
    lines = SourceLines(backend.detokenize, backend.n_vocab)
    for _ in range(10):
        started = time.perf_counter()
        lines.add("a.py", [(view, ids)])
        taken_s.append(time.perf_counter() - started)
    print(f"{min(taken_s) * 1e3:.2f} ms for {len(ids)} tokens")
    assert min(taken_s) < 0.005
