import json
import subprocess
import sys

import msgspec
import pytest
from click.testing import CliRunner

from agspec_tui.cli.bench import bench
from agspec_tui.config import Config
from agspec_tui.errors import AgspecError, DraftError, ModelError, UsageError
from agspec_tui.session.loading import plan_drafting
from tests.models import ggufs

FILE = "def double(x):\n    return x + x\n\n\ndef triple(x):\n    return x + x + x\n"


@pytest.fixture
def one_prompt(tmp_path):
    (tmp_path / "double.py.txt").write_text(FILE)
    prompts = tmp_path / "prompts.toml"
    prompts.write_text(
        '[[prompt]]\nkind = "whole-file"\npath = "double.py"\nfile = "double.py.txt"\n'
        'change = "Rename x to y."\nmax_tokens = 100\n'
    )
    return prompts


@pytest.fixture
def scripted(tmp_path):
    def write(n_replies, reply=FILE):
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"replies": [reply] * n_replies}))
        return f"scripted:{path}"

    return write


def run(*args):
    return CliRunner().invoke(bench, [str(arg) for arg in args], catch_exceptions=False)


def test_the_report_compares_methods_on_equal_ids(one_prompt, scripted, tmp_path):
    out = tmp_path / "out.json"
    done = run("--model", scripted(2), "--prompts", one_prompt, "--json", out)
    assert done.exit_code == 0
    report = json.loads(out.read_text())
    assert report["schema"] == 1
    rows = {(row["method"], row["kind"]): row for row in report["rows"]}
    assert set(rows) == {
        (method, kind) for method in ("none", "agspec-sam") for kind in ("whole-file", "all")
    }
    plain, drafted = rows["none", "all"], rows["agspec-sam", "all"]
    assert plain["ids_equal"] is drafted["ids_equal"] is True
    assert plain["n_tokens"] == drafted["n_tokens"] == len(FILE) + 1
    assert plain["accept_length"] == plain["speedup"] == 1.0
    assert drafted["accept_length"] > 2.0
    assert "accept length" in done.stdout


def test_json_to_stdout_is_one_document(one_prompt, scripted):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "agspec_tui", "bench", "--model", scripted(3)),
            *("--prompts", str(one_prompt)),
            *("--methods", "none,agspec-sam,agspec-sam:fixed", "--json", "-"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    report = json.loads(done.stdout)
    assert [row["method"] for row in report["rows"] if row["kind"] == "all"] == [
        "none",
        "agspec-sam",
        "agspec-sam:fixed",
    ]


def test_without_plain_decoding_there_is_no_ratio(one_prompt, scripted):
    done = run("--model", scripted(1), "--prompts", one_prompt, "--methods", "agspec-sam")
    assert done.exit_code == 0
    assert "–" in done.stdout


@pytest.mark.parametrize(
    ("methods", "n_labels"), [("none,fastcoder,fastcoder:fixed", 1), ("none,pld", 0)]
)
def test_a_drafter_made_from_its_abstract_is_named_so(one_prompt, scripted, methods, n_labels):
    done = run("--model", scripted(3), "--prompts", one_prompt, "--methods", methods)
    assert done.exit_code == 0
    assert done.stdout.count("fastcoder: from its abstract") == n_labels


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--methods", "none,none"), "stands there twice"),
        (("--methods", ","), "no methods"),
        (("--methods", "none:nonsense"), "unknown policy"),
    ],
)
def test_methods_that_make_no_sense_are_refused(one_prompt, scripted, args, message):
    with pytest.raises(AgspecError, match=message):
        run("--model", scripted(1), "--prompts", one_prompt, *args)


def test_an_unknown_drafter_is_refused_before_anything_is_loaded(one_prompt, scripted):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "agspec_tui", "bench", "--model", scripted(1)),
            *("--prompts", str(one_prompt), "--methods", "nonsense"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "agspec-sam" in done.stderr


def test_a_draft_model_is_measured_like_any_method(one_prompt, smollm2, tmp_path):
    out = tmp_path / "out.json"
    run(
        *("--model", smollm2, "--draft-model", smollm2, "--prompts", one_prompt),
        *("--methods", "none,draft-model,agspec-sam+draft-model", "--json", out),
    )
    rows = {row["method"]: row for row in json.loads(out.read_text())["rows"]}
    assert all(row["ids_equal"] for row in rows.values())
    own = rows["draft-model"]
    assert own["accept_length"] > 3.0
    assert own["rejected_per_step"] < 0.1
    assert rows["agspec-sam+draft-model"]["accept_length"] > 2.0


@pytest.mark.parametrize("method", ["draft-model", "agspec-sam+draft-model"])
def test_a_drafter_with_a_smaller_model_is_refused_without_one(one_prompt, scripted, method):
    with pytest.raises(DraftError, match="needs a draft model") as refused:
        run("--model", scripted(1), "--prompts", one_prompt, "--methods", f"none,{method}")
    assert "--draft-model" in refused.value.hint
    assert "draft_model" in refused.value.hint


def test_a_draft_model_must_exist_and_be_no_script(one_prompt, scripted, smollm2):
    args = ("--model", smollm2, "--prompts", one_prompt, "--methods", "draft-model")
    with pytest.raises(ModelError, match="does not exist"):
        run(*args, "--draft-model", "missing.gguf")
    with pytest.raises(DraftError, match="a script neither drafts"):
        run(*args, "--draft-model", scripted(1))


def test_a_draft_model_with_another_vocabulary_is_refused_before_anything_is_loaded(
    one_prompt, smollm2, tmp_path
):
    small = tmp_path / "small.gguf"
    small.write_bytes(ggufs.gguf(list(ggufs.model_pairs().values())))
    with pytest.raises(DraftError, match="cannot draft for") as refused:
        run(
            *("--model", smollm2, "--prompts", one_prompt),
            *("--methods", "draft-model", "--draft-model", small),
        )
    assert "small" in refused.value.message
    assert "3 tokens, not 49152" in refused.value.message


def test_the_draft_model_may_come_from_the_configuration(smollm2):
    settings = Config(
        model=str(smollm2), n_ctx=1024, drafter="draft-model", draft_model=str(smollm2)
    )
    drafting = plan_drafting(settings)
    assert (drafting.draft_model, drafting.policy) == (str(smollm2), "own")
    # A method that uses none does not ask for it.
    plain = plan_drafting(msgspec.structs.replace(settings, drafter="none", draft_model="no.gguf"))
    assert plain.draft_model == ""


@pytest.mark.parametrize("content", ["not toml [", "prompt = []", '[[prompt]]\nkind = "x"\n'])
def test_a_prompts_file_that_cannot_be_read_is_refused(tmp_path, scripted, content):
    prompts = tmp_path / "bad.toml"
    prompts.write_text(content)
    with pytest.raises(UsageError) as refused:
        run("--model", scripted(1), "--prompts", prompts)
    assert refused.value.hint
