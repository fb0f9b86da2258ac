"""Text that is made to be slow to search: every shape stays linear in it."""

import time

import pytest

from agspec_tui.replay.edit_formats import forms_of, turns_of
from agspec_tui.replay.shown_files import ShownFiles
from agspec_tui.replay.traces import TraceCall, TraceMessage, TraceSession

N = 20_000
TEXTS = {
    "open fences behind paths": "a.py\n```python\n" * N,
    "open fences of many lengths": "".join(f"a.py\n{'`' * (3 + n % 50)}x\n" for n in range(N)),
    "headings": "### a.py\nx\n" * N,
    "dots": "a." * N * 10,
    "observations": "Observation: The content of a.py is:\n1 x\n" * N,
    "tool calls": "[tool_use Read]\n{}\n" * N,
    "open tags": "<output>\n" * N,
    "open heads": "<output_head>\n" * N,
    "here-documents without end": "```bash\n" + "cat <<EOF > a.py\n" * N + "```\n",
    "here-documents in a row": "```bash\ncat " + "<< x > y " * N + "\n```\n",
    "quotes": "```bash\n" + "a;'" * N + "\n```\n",
    "commands in a row": "```bash\n" + "a;" * N + "'\n```\n",
    "cats in a row": "cat <<x " * N,
    "opens in a row": "open(" * N,
    "heads of diffs": "--- a\n+++ b\n" * N,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_hostile_text_is_searched_in_linear_time(text):
    message = TraceMessage("user", text)
    calls = (
        TraceCall(prompt=(message,), output=text),
        TraceCall(prompt=(message, TraceMessage("tool", text)), output=text),
    )
    session = TraceSession("s", calls)
    started = time.process_time()
    shown = ShownFiles()
    for call in calls:
        shown.changes(call)
    forms_of(session)
    turns_of(session)
    assert time.process_time() - started < 10
