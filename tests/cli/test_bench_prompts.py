import json

import pytest
from click.testing import CliRunner

from agspec_tui.cli.bench import bench, table
from agspec_tui.cli.bench_partings import partings_of
from agspec_tui.commands import LoadModel
from agspec_tui.config import Config
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import DraftError, UsageError
from agspec_tui.events import GenerationFinished
from agspec_tui.forms.choose import form
from agspec_tui.session.bench import Run, parse_methods, run_bench
from agspec_tui.session.bench_prompts import BenchPrompt, read_prompts
from agspec_tui.session.bench_report import BenchReport, BenchRow, Parting

FILE = "def double(x):\n    return x + x\n\n\ndef triple(x):\n    return x + x + x\n"
KINDS = ["whole-file", "diff", "multi-turn", "prose", "test-log"]
TURNS = """
[[prompt]]
kind = "talk"
path = "double.py"
file = "double.py.txt"
change = "Rename x to y."
then = ["One test failed. Again.", "All is well. Once more."]

[[prompt]]
kind = "prose"
role = "planner"
change = "Explain."
max_tokens = 20
"""


@pytest.fixture
def prompts(tmp_path):
    (tmp_path / "double.py.txt").write_text(FILE)
    path = tmp_path / "prompts.toml"
    path.write_text(TURNS)
    return path


def script(folder, *replies):
    path = folder / "script.json"
    path.write_text(json.dumps({"replies": replies}))
    return f"scripted:{path}"


def run(folder, *args):
    out = folder / "out.json"
    done = CliRunner().invoke(
        bench, [*(str(arg) for arg in args), "--json", str(out)], catch_exceptions=False
    )
    assert done.exit_code == 0
    report = json.loads(out.read_text())
    return report, {(row["method"], row["kind"]): row for row in report["rows"]}


def test_the_built_in_set_has_every_kind_and_bounded_replies():
    prompts = read_prompts(None)
    assert list(dict.fromkeys(prompt.kind for prompt in prompts)) == KINDS
    for prompt in prompts:
        assert 0 < prompt.max_tokens <= 400
        assert prompt.n_turns == (3 if prompt.kind == "multi-turn" else 1)
        assert (prompt.document() is None) == (prompt.kind in ("prose", "test-log"))


def test_a_prompt_holds_the_form_the_file_and_what_to_do():
    whole, diff = (p for p in read_prompts(None) if p.path == "ledger.py")
    assert (whole.form, diff.form) == ("whole", "udiff")
    for prompt in (whole, diff):
        system, user = prompt.opening()
        assert system.text.endswith(form(prompt.form).instructions())
        assert user.text.startswith(form("whole").render_file(prompt.path, prompt.text))
        assert prompt.change in user.text.splitlines()


def test_kinds_are_picked_and_unknown_ones_are_refused():
    assert {p.kind for p in read_prompts(None, ["prose", "diff"])} == {"prose", "diff"}
    with pytest.raises(UsageError, match="no prompt is of the kind 'verse'") as refused:
        read_prompts(None, ["prose", "verse"])
    assert all(kind in refused.value.hint for kind in KINDS)


@pytest.mark.parametrize(
    "line",
    [
        'path = "a.py"',
        'file = "double.py.txt"',
        'form = "whole"',
        'form = "verse"',
        "max_tokens = -1",
        'path = "a.py"\nfile = "absent.txt"',
    ],
)
def test_prompts_that_make_no_sense_are_refused(tmp_path, line):
    (tmp_path / "double.py.txt").write_text(FILE)
    path = tmp_path / "bad.toml"
    path.write_text(f'[[prompt]]\nkind = "x"\nchange = "y"\n{line}\n')
    with pytest.raises(UsageError, match="prompts cannot be read"):
        read_prompts(path)


@pytest.mark.parametrize(("name", "k"), [("fixed32", 32), ("fixed1", 1), ("fixed", 15)])
def test_a_number_behind_fixed_is_the_draft_length(name, k):
    (method,) = parse_methods(f"agspec-sam:{name}", Config())
    assert (method.drafting.policy, method.drafting.fixed_k) == ("fixed", k)


@pytest.mark.parametrize("name", ["fixed-3", "fixed3x", "goodput3", "fixed0"])
def test_other_numbers_are_refused(name):
    with pytest.raises(DraftError):
        parse_methods(f"agspec-sam:{name}", Config())


def test_later_turns_copy_from_earlier_ones_and_count_as_one_prompt(prompts, tmp_path):
    said = (FILE.replace("double", "twice"), FILE, FILE)
    report, rows = run(
        tmp_path,
        *("--model", script(tmp_path, *said, *said), "--prompts", prompts),
        *("--kinds", "talk"),
    )
    assert report["batch"] == 1
    plain, drafted = rows["none", "talk"], rows["agspec-sam", "talk"]
    assert plain["n_tokens"] == drafted["n_tokens"] == sum(map(len, said)) + 3
    assert plain["ids_equal"] is drafted["ids_equal"] is True
    assert drafted["accept_length"] > 4.0


def test_replies_that_differ_are_reported(prompts, tmp_path):
    said = (FILE, FILE, FILE, FILE, FILE.replace("x", "y"), FILE)
    _, rows = run(
        tmp_path,
        *("--model", script(tmp_path, *said), "--prompts", prompts, "--kinds", "talk"),
    )
    assert rows["none", "talk"]["ids_equal"] is True
    assert rows["agspec-sam", "talk"]["ids_equal"] is False


def test_the_share_of_the_oracle_is_the_speed_up_over_the_best_possible_one(prompts, tmp_path):
    said = (FILE, FILE, FILE)
    _, rows = run(
        tmp_path,
        *("--model", script(tmp_path, *said * 4), "--prompts", prompts, "--kinds", "talk"),
        *("--methods", "none,agspec-sam,agspec-sam:fixed32,llama-ngram-mod"),
    )
    plain, drafted = rows["none", "talk"], rows["agspec-sam", "talk"]
    assert plain["share_of_oracle"] == pytest.approx(plain["speedup"]) == 1.0
    # Almost every token can be copied, at the shipped cost of a pass.
    for row in (drafted, rows["agspec-sam:fixed32", "talk"]):
        assert 0.4 < row["share_of_oracle"] < 1.0
    assert rows["llama-ngram-mod", "talk"]["share_of_oracle"] is None


def test_prompts_decoded_at_once_share_their_wall_time(prompts, tmp_path):
    # Each prompt is read first, which says one token of a reply that nobody looks at.
    replies = ["a"] * 40
    report, rows = run(
        tmp_path,
        *("--model", script(tmp_path, *replies), "--prompts", prompts, "--batch", 2),
        *("--methods", "none,agspec-sam,agspec-sam:fixed32"),
    )
    assert report["batch"] == 2
    assert {kind for _, kind in rows} == {"all"}
    for row in rows.values():
        assert row["n_tokens"] == 4 * 2
        assert row["ids_equal"] is True
        assert row["share_of_oracle"] is None
        assert row["tok_per_s"] > 0.0


class Listening(EngineClient):
    def __init__(self, folder):
        super().__init__(lambda event: None, folder)
        self.commands = []

    async def generate(self, command):
        self.commands.append(command)
        return await super().generate(command)


@pytest.fixture
async def listening(tmp_path):
    client = Listening(tmp_path)
    yield client
    await client.close()


def three_prompts():
    return [
        BenchPrompt("a", "", "", f"Name colour {number}.", form="none", max_tokens=3)
        for number in range(3)
    ]


async def test_every_group_decodes_as_many_prompts_at_once(listening, tmp_path):
    load = LoadModel(path=script(tmp_path, *["a"] * 40), name="s", n_ctx=4096)
    methods = parse_methods("none", Config())
    await listening.start(load, methods[0].drafting)
    prompts = three_prompts()
    runs = await run_bench(listening, methods, prompts, 1, lambda run: None, 2)
    assert {command.batch for command in listening.commands} == {2}
    assert [run.prompt for run in runs] == [*prompts, prompts[0]]
    assert {run.at_once for run in runs} == {True}
    with pytest.raises(UsageError, match="4 prompts cannot be decoded at once: there are 3"):
        await run_bench(listening, methods, prompts, 1, lambda run: None, 4)


async def test_prompts_that_would_be_read_while_others_decode_are_refused(listening, tmp_path):
    load = LoadModel(path=script(tmp_path, *["a"] * 40), name="s", n_ctx=512)
    methods = parse_methods("none", Config())
    await listening.start(load, methods[0].drafting)
    prompts = [
        BenchPrompt("a", "", "", f"{number} " * 150, form="none", max_tokens=3)
        for number in range(2)
    ]
    await run_bench(listening, methods, prompts, 1, lambda run: None)
    with pytest.raises(UsageError, match="no room for these prompts") as refused:
        await run_bench(listening, methods, prompts, 1, lambda run: None, 2)
    assert "--n-ctx" in refused.value.hint


def decoded(method, *replies, stop_reason="eog"):
    turns = tuple(
        GenerationFinished(
            request=1,
            stop_reason=stop_reason,
            text="",
            ids=ids,
            n_prompt=9,
            n_reused=0,
            broken_by="",
            n_tokens=len(ids) + 1,
            n_steps=1,
            n_drafted=0,
            n_accepted=0,
            prefill_s=0.1,
            decode_s=0.1,
            alpha=1.0,
        )
        for ids in replies
    )
    prompt = BenchPrompt("talk", "", "", "Name a colour.", form="none", then=("Another.",))
    return Run(method, prompt, turns, 1.0)


@pytest.mark.model
def test_a_parting_is_no_near_tie_where_the_logits_are_far_apart(smollm2):
    load = LoadModel(path=str(smollm2), name="m", n_ctx=512)
    plain = decoded("none", (10, 11), (12, 13, 14))
    assert partings_of(load, [plain, decoded("pld", (10, 11), (12, 13, 14))]) == ()
    # Nobody would say either of these; the second of them even less.
    other = decoded("pld", (10, 11), (12, 49151, 14))
    cut = decoded("sam", (10, 11), (12,), stop_reason="cancelled")
    parted, broken = partings_of(load, [plain, other, cut])
    assert (parted.method, parted.turn, parted.position) == ("pld", 2, 1)
    assert parted.gap > 2 * parted.rounding
    assert parted.near_tie is False
    assert (broken.position, broken.gap, broken.near_tie) == (1, None, False)


@pytest.mark.parametrize(("tied", "shown"), [(True, "tie"), (False, "NO")])
def test_the_table_tells_a_tie_from_a_fault(tied, shown):
    parting = Parting("pld", "talk", "x", 1, 7, 0.01, 0.02, tied)
    row = BenchRow("pld", "all", 3, 1.0, 1.0, 1.0, 0.0, False, None)
    report = BenchReport(1, "m", "CPU", 2, 7, 8, (row,), (parting,))
    lines = table(report).splitlines()
    assert lines[2].split()[-1] == shown
    assert "behind 7 tokens" in lines[3]
