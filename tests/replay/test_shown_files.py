from agspec_tui.replay.shown_files import MAX_BYTES, Change, ShownFiles
from agspec_tui.replay.traces import TraceCall, TraceMessage


def lines(first: int, last: int, word: str = "line") -> str:
    return "".join(f"{word} number {n}\n" for n in range(first, last + 1))


def read_call(text: str, first: int, path: str = "/r/a.go") -> tuple[TraceCall, TraceCall]:
    """A call that asks for a file, and the one that sees `text` from line `first` on."""
    shown = "".join(f"{n:6}→{line}\n" for n, line in enumerate(text.splitlines(), first))
    ask = f'[tool_use Read]\n{{"file_path": "{path}"}}'
    return (
        TraceCall(prompt=(), output=ask),
        TraceCall(prompt=(TraceMessage("tool", shown),), output="seen"),
    )


def changes(shown: ShownFiles, text: str, first: int) -> list[Change]:
    return [change for call in read_call(text, first) for change in shown.changes(call)]


def test_a_file_is_indexed_before_the_call_that_sees_it():
    shown = ShownFiles()
    ask, seen = read_call(lines(1, 3), 1)
    assert shown.changes(ask) == []
    assert shown.changes(seen) == [Change("/r/a.go", lines(1, 3))]


def test_the_same_text_is_not_indexed_again():
    shown = ShownFiles()
    assert changes(shown, lines(1, 9), 1)
    assert changes(shown, lines(1, 9), 1) == []
    assert changes(shown, lines(4, 6), 4) == []


def test_the_same_lines_with_other_text_are_indexed_again():
    shown = ShownFiles()
    changes(shown, lines(1, 9), 1)
    assert changes(shown, lines(1, 9, "word"), 1) == [Change("/r/a.go", lines(1, 9, "word"))]


def test_a_part_has_a_document_of_its_own_until_more_is_shown():
    shown = ShownFiles()
    assert changes(shown, lines(4, 6), 4) == [Change("/r/a.go:4", lines(4, 6))]
    assert changes(shown, lines(8, 9), 8) == [Change("/r/a.go:8", lines(8, 9))]
    assert changes(shown, lines(1, 9), 1) == [
        Change("/r/a.go:4", ""),
        Change("/r/a.go:8", ""),
        Change("/r/a.go", lines(1, 9)),
    ]


def test_parts_in_unknown_places_are_known_by_their_text():
    shown = ShownFiles()
    sections = f"### src/a.py\n...\n{lines(1, 3)}...\n{lines(7, 9)}"
    call = TraceCall(prompt=(TraceMessage("user", sections),), output="")
    assert shown.changes(call) == [
        Change("src/a.py~1", lines(1, 3)),
        Change("src/a.py~2", lines(7, 9)),
    ]
    assert shown.changes(call) == []
    whole = TraceMessage("user", lines(1, 9), file="src/a.py")
    assert shown.changes(TraceCall(prompt=(whole,), output="")) == [
        Change("src/a.py~1", ""),
        Change("src/a.py~2", ""),
        Change("src/a.py", lines(1, 9)),
    ]


def test_another_agent_does_not_see_the_result_of_a_call():
    shown = ShownFiles()
    ask, seen = read_call(lines(1, 3), 1)
    shown.changes(ask)
    other = TraceCall(prompt=seen.prompt, output="", agent_id="other")
    assert shown.changes(other) == []


def test_an_empty_context_begins_without_a_tool_call():
    shown = ShownFiles()
    ask, seen = read_call(lines(1, 3), 1)
    shown.changes(ask)
    assert shown.changes(TraceCall(prompt=seen.prompt, output="", ctx="new")) == []


def test_what_a_shell_prints_is_found_behind_either_kind_of_call():
    bash = TraceCall(prompt=(), output="```bash\ncat a.py\n```\n")
    printed = f"<returncode>0</returncode>\n<output>\n{lines(1, 3)}</output>"
    seen = TraceCall(prompt=(TraceMessage("user", printed),), output="")
    shown = ShownFiles()
    shown.changes(bash)
    assert shown.changes(seen) == [Change("a.py", lines(1, 3))]
    tool = TraceCall(prompt=(), output='[tool_use Bash]\n{"command": "cat b.py"}')
    seen = TraceCall(prompt=(TraceMessage("tool", lines(1, 3)),), output="")
    shown.changes(tool)
    assert shown.changes(seen) == [Change("b.py", lines(1, 3))]


def test_files_that_are_too_large_are_counted_and_left_out():
    shown = ShownFiles()
    large = TraceMessage("user", "x" * (MAX_BYTES + 1), file="a.py")
    assert shown.changes(TraceCall(prompt=(large,), output="")) == []
    assert shown.n_too_large == 1
    fits = TraceMessage("user", "x" * MAX_BYTES, file="a.py")
    assert len(shown.changes(TraceCall(prompt=(fits,), output=""))) == 1


def test_the_oldest_of_many_parts_makes_room():
    shown = ShownFiles()
    sections = "".join(f"### a.py\n...\nsome line number {n}\n" for n in range(2000))
    found = shown.changes(TraceCall(prompt=(TraceMessage("user", sections),), output=""))
    added = [change.name for change in found if change.text]
    removed = [change.name for change in found if not change.text]
    assert len(added) == 2000
    assert removed == added[: len(removed)]
    assert len(added) - len(removed) == 500
