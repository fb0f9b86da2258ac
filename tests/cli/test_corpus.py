import json
import os
import re
import stat
import sys
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner

from agspec_tui.cli.main import cli, run
from agspec_tui.config import corpora_dir
from agspec_tui.drafting.corpus_file import open_corpus
from agspec_tui.drafting.global_corpus import open_global
from agspec_tui.engine.llama_tokenizer import Vocabulary

EVENTS = Path(__file__).resolve().parents[1] / "data" / "events"
TEXT = "def total(prices):\n    return sum(price.net for price in prices)\n"


def session(name, *calls, **more):
    made = [{"prompt": [{"role": "user", "content": p}], "output": o} for p, o in calls]
    return json.dumps({"session_id": name, "calls": made, **more})


@pytest.fixture
def traces(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = tmp_path / "t.jsonl"
    path.write_text(
        "\n".join(
            [
                session("one", ("write it", TEXT), ("again <|im_end|>", TEXT), task="t1"),
                session("two", ("write it", "no"), task="t2"),
            ]
        )
    )
    return path


@pytest.fixture
def vocabulary(smollm2):
    vocabulary = Vocabulary(smollm2)
    yield vocabulary
    vocabulary.close()


def build(*args, model="smollm2-135m"):
    return CliRunner().invoke(cli, ["corpus", "build", *map(str, args), "--model", model])


def test_a_corpus_is_built_and_drafted_from(traces, vocabulary):
    built = build(traces)
    assert built.exit_code == 0, built.output
    (path,) = corpora_dir().iterdir()
    assert str(path) in built.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    file = open_corpus(path)
    names = [file.name(number) for number in range(file.header.n_documents)]
    assert names == ["one call 2 user", "one call 2 agent", "two call 1 user", "two call 1 agent"]
    corpus = open_global(path, vocabulary.fingerprint(), vocabulary.n_vocab)
    ids = vocabulary.tokenize(TEXT, special=False)
    corpus.begin(ids[:6].tolist())
    drafted, document, offset = corpus.draft(50)
    assert drafted == tuple(ids[6:])
    assert (document, offset) == ("one call 2 agent", 6)


def test_control_tokens_in_recorded_text_are_plain_text(traces, vocabulary):
    assert build(traces).exit_code == 0
    (path,) = corpora_dir().iterdir()
    ids = open_corpus(path).ids
    (end,) = vocabulary.tokenize("<|im_end|>", special=True)
    assert end not in ids


def test_json_holds_the_figures(traces, tmp_path):
    out = tmp_path / "out.json"
    built = build(traces, "--json", out, "--output", tmp_path / "c", "--exclude-task", "t2")
    assert built.exit_code == 0
    figures = json.loads(out.read_text())
    assert figures["schema"] == 1
    assert (figures["n_sessions"], figures["n_excluded"], figures["n_repeated"]) == (1, 1, 1)
    assert figures["path"] == str(tmp_path / "c")
    assert figures["n_bytes"] == (tmp_path / "c").stat().st_size
    shown = build(traces, "--json", "-", "--outputs-only", "--output", tmp_path / "c")
    assert json.loads(shown.stdout)["n_documents"] == 2
    assert not corpora_dir().exists()


def test_room_is_given_to_the_newest(traces, tmp_path):
    built = build(traces, "--json", "-", "--output", tmp_path / "c", "--max-tokens", 8)
    figures = json.loads(built.stdout)
    assert figures["is_full"] is True
    assert figures["n_tokens"] == 7
    assert open_corpus(tmp_path / "c").locate(6)[0] == "two call 1 agent"


def test_our_own_recordings_can_be_built_from(traces):
    started = traces.with_name("started.jsonl")
    recording = (EVENTS / "word_count.jsonl").read_text(encoding="utf-8")
    started.write_text("".join(recording.splitlines(keepends=True)[:3]), encoding="utf-8")
    built = build(EVENTS / "word_count.jsonl", started)
    assert built.exit_code == 0
    assert built.stderr == f"skipped {started}: a recording without a reply\n"


def test_info_shows_every_corpus_and_its_checksum(traces, tmp_path):
    assert build(traces).exit_code == 0
    shown = CliRunner().invoke(cli, ["corpus", "info"])
    assert shown.exit_code == 0
    assert re.search(r"^n_documents +4$", shown.stdout, re.MULTILINE)
    assert re.search(r"^checksum +right$", shown.stdout, re.MULTILINE)
    (path,) = corpora_dir().iterdir()
    asked = CliRunner().invoke(cli, ["corpus", "info", str(path), "--json", "-"])
    (figures,) = json.loads(asked.stdout)["corpora"]
    assert figures["path"] == str(path)
    assert figures["version"] == 1


def test_info_names_a_damaged_corpus_and_shows_the_others(traces, capsys):
    assert build(traces).exit_code == 0
    (path,) = corpora_dir().iterdir()
    bad = path.with_name("0.corpus")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    bad.write_bytes(data)
    capsys.readouterr()
    assert run(["corpus", "info"]) == 2
    shown = capsys.readouterr()
    assert "checksum" in shown.out
    assert shown.err.startswith(f"error: {bad} is damaged: its checksum is wrong (")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["build"], "TRACES"),
        (["build", "none.jsonl"], "none.jsonl does not exist"),
        (["build", "t.jsonl", "--model", "none.gguf"], "none.gguf"),
        (["build", "t.jsonl", "--model", "scripted:s.json"], "has no tokenizer"),
        (["build", "t.jsonl", "--max-tokens", "1"], "max-tokens"),
        (["build", "t.jsonl", "--output", "none/c"], "no folder"),
        (["build", "t.jsonl", "--output", "."], "is a directory"),
        (["build", "t.jsonl", "--exclude-task", "t1", "--exclude-task", "t2"], "no text is left"),
        (["build", "bad.jsonl"], "no session"),
        (["info"], "no corpus in"),
        (["info", "none"], "does not exist"),
        (["info", "t.jsonl"], "no corpus file"),
    ],
)
def test_wrong_input_is_one_line_with_a_hint(traces, smollm2, args, message, capsys, monkeypatch):
    monkeypatch.chdir(traces.parent)
    Path("s.json").write_text('{"replies": []}')
    Path("bad.jsonl").write_text("{}")
    more = ["--model", "smollm2-135m"] if args[0] == "build" and "--model" not in args else []
    assert run(["corpus", *args, *more]) == 2
    error = capsys.readouterr().err.splitlines()
    assert [line for line in error if not line.startswith("skipped")] == error[-1:]
    assert error[-1].startswith("error: ")
    assert message in error[-1]
    assert error[-1].endswith(")")


def test_progress_is_a_moving_line_on_a_terminal_and_leaves_nothing(traces, tmp_path):
    args = ["-m", "agspec_tui", "corpus", "build", str(traces), "--model", "smollm2-135m"]
    child = pexpect.spawn(
        sys.executable, args, env={**os.environ, "TERM": "xterm"}, timeout=60, encoding="utf-8"
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "sessions left" in child.before
    *_, after = child.before.partition("\r\x1b[Kcorpus")
    assert after
    assert "token was not control" not in child.before
