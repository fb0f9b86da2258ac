import pytest

from agspec_tui.replay.shown_commands import commands_of, files_of
from agspec_tui.replay.shown_shapes import UNKNOWN, Stretch

TEXT = "a = 1\nb = 2\n"
NUMBERED = "     5\ta = 1\n     6\tb = 2\n"


def test_the_first_script_of_a_reply_is_taken():
    reply = "THOUGHT: ```python\nx\n```\n\n```bash\ncat a.py\n```\n```bash\nls\n```\n"
    assert commands_of(reply) == "cat a.py\n"
    assert commands_of("no script") == ""


@pytest.mark.parametrize(
    ("script", "printed", "expected"),
    [
        ("cat src/a.py", TEXT, Stretch("src/a.py", 1, TEXT)),
        ("cat -n src/a.py", NUMBERED, Stretch("src/a.py", 5, TEXT)),
        ("nl -ba src/a.py | sed -n '5,6p'", NUMBERED, Stretch("src/a.py", 5, TEXT)),
        ("nl -ba src/a.py | grep -A 1 'a ='", NUMBERED, None),
        ("sed -n '5,6p' src/a.py", TEXT, Stretch("src/a.py", 5, TEXT)),
        ("sed -n '5p' src/a.py", TEXT, Stretch("src/a.py", 5, TEXT)),
        ("sed -n '/a/,/b/p' src/a.py", TEXT, Stretch("src/a.py", UNKNOWN, TEXT)),
        ("head -n 2 src/a.py", TEXT, Stretch("src/a.py", 1, TEXT)),
        ("tail -n 2 src/a.py", TEXT, Stretch("src/a.py", UNKNOWN, TEXT)),
        ("tail -n +5 src/a.py", TEXT, Stretch("src/a.py", 5, TEXT)),
        ("cat src/a.py | head -n 2", TEXT, Stretch("src/a.py", 1, TEXT)),
        ("cat src/a.py | tail -2", TEXT, Stretch("src/a.py", UNKNOWN, TEXT)),
        ("sed -n '5,9p' src/a.py | head -n 2", TEXT, Stretch("src/a.py", 5, TEXT)),
        ("cd repo && cat src/a.py", TEXT, Stretch("src/a.py", 1, TEXT)),
        ("sed -i 's/x/y/' src/a.py && cat src/a.py", TEXT, Stretch("src/a.py", 1, TEXT)),
        ("python run.py && cat src/a.py", TEXT, None),
        ("cat src/a.py src/b.py", TEXT, None),
        ("cat src/a.py\ncat src/b.py", TEXT, None),
        ("cat src/a.py | wc -l", TEXT, None),
        ("cat 'src/a.py", TEXT, None),
        ("cat src/a.py | ", TEXT, None),
        ("sed -n '5,6p'", TEXT, None),
        ("grep -n a src/a.py", TEXT, None),
        ("ls", TEXT, None),
        ("cat src/a.py", "\n", None),
        ("", TEXT, None),
    ],
)
def test_a_file_is_known_where_one_command_prints_it_alone(script, printed, expected):
    assert list(files_of(script, [printed])) == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("head", "start"),
    [
        ("cat <<'EOF' > new.py", 1),
        ("cat > new.py <<EOF", 1),
        ('cat << "EOF" >new.py', 1),
        ("cat <<'EOF' >> new.py", UNKNOWN),
    ],
)
def test_a_here_document_is_the_file_that_it_is_written_to(head, start):
    found = list(files_of(f"{head}\n{TEXT}EOF\npython new.py\n", ["ran\n"]))
    assert found == [Stretch("new.py", start, TEXT)]


def test_a_file_can_be_written_and_shown_by_one_script():
    script = f"cat <<'EOF' > new.py\n{TEXT}EOF\nnl -ba old.py | sed -n '5,6p'\n"
    assert list(files_of(script, [NUMBERED])) == [
        Stretch("new.py", 1, TEXT),
        Stretch("old.py", 5, TEXT),
    ]


def test_what_follows_a_here_document_may_print():
    script = f"cat <<'EOF' > new.py && python new.py\n{TEXT}EOF\ncat src/a.py\n"
    assert list(files_of(script, [TEXT])) == [Stretch("new.py", 1, TEXT)]


def test_a_here_document_without_an_end_is_none():
    assert not list(files_of(f"cat <<'EOF' > new.py\n{TEXT}", [TEXT]))


def test_the_text_of_a_program_is_no_file():
    script = "python3 - <<'EOF' > log.txt\nprint(1)\nEOF\ncat src/a.py\n"
    assert not list(files_of(script, [TEXT]))


def test_what_is_behind_a_missing_middle_is_in_an_unknown_place():
    assert list(files_of("cat a.py", ["head\n", "tail\n"])) == [
        Stretch("a.py", 1, "head\n"),
        Stretch("a.py", UNKNOWN, "tail\n"),
    ]
    assert not list(files_of("cat a.py", []))
