import json
import shutil
from pathlib import Path

import pytest

from agspec_tui.errors import ModelError
from agspec_tui.models.catalogue import ENTRIES, require
from agspec_tui.models.discover import discover
from agspec_tui.models.resolve import resolve
from agspec_tui.models.verified import is_marked
from tests.models.ggufs import gguf, model_pairs

TOY = gguf([*model_pairs().values()])


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder without any cache, and a models folder of its own."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / ".cache"))
    monkeypatch.setenv("AGSPEC_MODELS", str(folder / "models"))
    for name in ("HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    return folder


def put(path, content=TOY):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def found_in(home):
    """What is found below a home folder; Ollama's system folder is the machine's own."""
    return [model for model in discover() if model.path.is_relative_to(home)]


def test_real_model_is_found_by_its_catalogue_name(smollm2):
    resolved = resolve("smollm2-135m")
    assert resolved.name == "smollm2-135m"
    assert resolved.path == str(smollm2)
    assert resolved.header.n_layers == 30


def test_copy_that_was_never_checked_is_checked_once(smollm2, home):
    path = home / "models" / "smollm2-135m.gguf"
    path.parent.mkdir()
    shutil.copyfile(smollm2, path)
    assert resolve("smollm2-135m").path == str(path)
    assert is_marked(require("smollm2-135m"), path)


def test_damaged_catalogue_model_is_refused_with_the_way_to_mend_it(smollm2, home):
    put(home / "models" / "smollm2-135m.gguf", smollm2.read_bytes()[:5_000_000])
    with pytest.raises(ModelError, match="is damaged: 5000000 bytes instead of") as refusal:
        resolve("smollm2-135m")
    assert refusal.value.hint == "agspec-tui models pull smollm2-135m"


def test_catalogue_model_that_is_not_pulled_says_how_to_pull_it(home):
    for entry in ENTRIES:
        with pytest.raises(ModelError, match="is not pulled yet") as refusal:
            resolve(entry.name)
        assert refusal.value.hint == f"agspec-tui models pull {entry.name}"


def test_catalogue_name_wins_over_a_folder_of_that_name(smollm2, tmp_path, monkeypatch):
    (tmp_path / "smollm2-135m").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve("smollm2-135m").path == str(smollm2)


@pytest.mark.parametrize("given", ["./toy.gguf", "toy.gguf", "toy", "~/toy.gguf"])
def test_path_may_be_relative_without_suffix_or_under_home(home, monkeypatch, given):
    monkeypatch.chdir(home)
    put(home / "toy.gguf")
    put(home / "toy")
    resolved = resolve(given)
    assert resolved.name == "toy"
    assert Path(resolved.path).is_absolute()
    assert Path(resolved.path).parent == home


REFUSED = {
    "": "no model is named",
    "  ": "no model is named",
    "a\0b": "NUL",
    "none/where": "does not exist",
    "none.gguf": "does not exist",
    "x" * 5000: "is no path",
    "~nobody-of-that-name/x.gguf": "is no path",
    ".": "is a folder",
    "readme.md": "not a GGUF",
    "cut.gguf": "cut short",
    "qwen2.5-coder": "unknown model",
    "scripted:": "does not exist",
    "scripted:none.toml": "does not exist",
    "scripted:.": "does not exist",
}


@pytest.mark.parametrize(("given", "problem"), REFUSED.items(), ids=[*map(repr, range(14))])
def test_anything_else_is_one_line_with_a_hint(home, monkeypatch, given, problem):
    monkeypatch.chdir(home)
    put(home / "readme.md", b"# a text")
    put(home / "cut.gguf", TOY[:40])
    with pytest.raises(ModelError, match=problem) as refusal:
        resolve(given)
    assert refusal.value.hint
    assert "\n" not in refusal.value.one_line()


@pytest.mark.parametrize(
    ("given", "nearest"),
    [
        ("qwen2.5-coder", "nearest: qwen2.5-coder-1.5b, qwen2.5-coder-0.5b"),
        ("smolm2-135m", "nearest: smollm2-135m"),
        ("Gemma3", "nearest: gemma3-270m"),
        ("my-own", "nearest: My-Own-7B"),
        ("zzz", "known: " + ", ".join(entry.name for entry in ENTRIES)),
    ],
)
def test_unknown_name_comes_with_the_nearest_ones(home, given, nearest):
    put(home / ".lmstudio/models/maker/repo/My-Own-7B.gguf")
    with pytest.raises(ModelError) as refusal:
        resolve(given)
    assert refusal.value.hint == nearest


def test_script_passes_through_with_an_absolute_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "play.toml", b"")
    resolved = resolve("scripted:play.toml")
    assert resolved.path == f"scripted:{tmp_path / 'play.toml'}"
    assert resolved.header is None


def test_files_of_other_programs_are_found_by_name(home):
    hub = home / ".cache/huggingface/hub"
    blob = put(hub / "models--o--r/blobs/abc")
    snapshot = hub / "models--o--r/snapshots/rev/From-Hub.gguf"
    snapshot.parent.mkdir(parents=True)
    snapshot.symlink_to(blob)
    put(home / ".lmstudio/models/maker/repo/from-studio.gguf")
    put(home / ".cache/llama.cpp/from-llama.gguf")
    put(home / "models/own.gguf")
    put(home / ".ollama/models/blobs/sha256-0a1b")
    put(
        home / ".ollama/models/manifests/registry.ollama.ai/library/qwen/7b",
        json.dumps(
            {
                "layers": [
                    {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:0a1b"}
                ]
            }
        ).encode(),
    )
    places = {model.name: model.place for model in found_in(home)}
    assert places == {
        "From-Hub": "hub",
        "from-llama": "llama.cpp",
        "from-studio": "LM Studio",
        "own": "models folder",
        "qwen:7b": "Ollama",
    }
    assert resolve("from-hub").path == str(snapshot)
    assert resolve("qwen:7b").name == "qwen:7b"


def test_what_is_no_whole_model_is_not_offered(home):
    put(home / ".lmstudio/models/a/b/mmproj-model.gguf")
    put(home / ".lmstudio/models/a/b/big-00002-of-00003.gguf")
    put(home / ".lmstudio/models/a/b/empty.gguf", b"")
    put(home / ".lmstudio/models/a/b/notes.txt")
    put(home / "models/smollm2-135m.gguf")
    put(home / "models/other.gguf.part")
    (home / ".cache/llama.cpp").mkdir(parents=True)
    (home / ".cache/llama.cpp/gone.gguf").symlink_to(home / "nowhere")
    assert found_in(home) == []


@pytest.mark.parametrize(
    "manifest",
    [
        "not json",
        "[]",
        '{"layers": 3}',
        '{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "../../x"}]}',
        '{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:"}]}',
    ],
)
def test_hostile_manifest_is_passed_over(home, manifest):
    put(home / ".ollama/x")
    put(home / ".ollama/models/manifests/r/l/m/tag", manifest.encode())
    assert found_in(home) == []


def test_looking_for_models_changes_nothing(home):
    put(home / ".lmstudio/models/a/b/c.gguf")
    before = sorted((str(path), path.stat().st_mtime_ns) for path in home.rglob("*"))
    discover()
    assert sorted((str(path), path.stat().st_mtime_ns) for path in home.rglob("*")) == before


def test_folder_that_links_to_itself_is_not_followed(home):
    put(home / ".lmstudio/models/a/one.gguf")
    (home / ".lmstudio/models/a/again").symlink_to(home / ".lmstudio/models")
    assert [model.name for model in found_in(home)] == ["one"]
