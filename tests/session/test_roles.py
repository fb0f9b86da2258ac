import pytest

from agspec_tui.errors import RoleError
from agspec_tui.session.draws import Draw
from agspec_tui.session.roles import Forms, RoleSampling, fill, load_role, load_team

CODER = 'schema = 1\nname = "coder"\ndescription = "d"\nprompt = "coder.md"\n'
FORM = '[forms]\ndefault = "whole"\n'


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("AGSPEC_HOME", str(tmp_path))
    folder = tmp_path / "agents"
    folder.mkdir()
    return folder


def test_the_built_in_team_is_valid():
    team = load_team()
    assert [role.name for role in team.roles] == ["planner", "coder", "executor"]
    assert team.max_turns == 5
    assert team.coder.settings.forms.in_use() == ("whole", "udiff")
    assert team.planner.grammar
    assert not team.coder.grammar, "code is never constrained"


def test_system_messages_have_no_template_left_and_are_stable():
    first, second = load_team(), load_team()
    for role, again in zip(first.roles, second.roles, strict=True):
        assert "{{" not in role.system
        assert role.system == again.system


def test_the_users_own_file_wins(home):
    (home / "coder.md").write_text("Write code.")
    assert load_role("coder").system == "Write code."


@pytest.mark.parametrize(
    ("toml", "parts"),
    [
        (CODER + "samplng = 1\n", ["agents/coder.toml", "`samplng`", "did you mean `sampling`"]),
        (
            CODER + "[sampling]\ntemprature = 0.0\n",
            ["agents/coder.toml", "`sampling.temprature`", "did you mean `temperature`"],
        ),
        (CODER + "[limits]\nqqqq = 1\n", ["`limits.qqqq`", "known: n_steps"]),
        (CODER + '[sampling]\nmax_tokens = "many"\n', ["coder.toml", "sampling.max_tokens"]),
        (CODER + "[sampling]\nmax_tokens = 0\n", ["coder.toml", "sampling.max_tokens"]),
        (CODER + "[sampling]\ntemperature = -1.0\n", ["coder.toml", "sampling.temperature", "100"]),
        (CODER + "[sampling]\ntop_p = 2.0\n", ["coder.toml", "sampling.top_p is 2.0"]),
        (CODER + "[sampling]\nn_redraws = -1\n", ["coder.toml", "sampling.n_redraws is -1"]),
        (CODER + "[sampling]\nredraw_warmth = nan\n", ["coder.toml", "sampling.redraw_warmth"]),
        (
            CODER + "[sampling]\nretry_temperatures = [-1.0]\n",
            ["coder.toml", "sampling.retry_temperatures has -1.0", "100"],
        ),
        (CODER + "[limits]\nn_files = 0\n", ["coder.toml", "limits.n_files"]),
        (CODER + '[context]\nshow = [["plans"]]\n', ["coder.toml", "`plans`", "failure"]),
        (CODER, ["coder.toml", "forms.default"]),
        (CODER.replace("1", "2"), ["coder.toml", "schema is 2"]),
        (CODER.replace('"coder"', '"codr"'), ["coder.toml", "`codr`", "`coder`"]),
        ('schema = 1\nname = "coder"\n', ["coder.toml", "description"]),
        (CODER.replace("coder.md", "codr.md") + FORM, ["agents/codr.md", "does not exist"]),
        ("schema = = 1", ["coder.toml", "not TOML"]),
    ],
)
def test_a_wrong_role_file_is_refused_by_file_and_key(home, toml, parts):
    (home / "coder.toml").write_text(toml)
    with pytest.raises(RoleError) as raised:
        load_role("coder")
    for part in parts:
        assert part in raised.value.one_line()


def test_an_unknown_template_variable_names_file_and_variable(home):
    (home / "planner.md").write_text("At most {{ n_stps }} steps.")
    with pytest.raises(RoleError) as raised:
        load_role("planner")
    assert "agents/planner.md" in raised.value.message
    assert "`n_stps`" in raised.value.message
    assert "`n_steps`" in raised.value.hint


def test_fill_replaces_every_variable_once_and_literally():
    assert fill(r"{{ a }}-{{b}}", {"a": r"\1 {{ b }}", "b": "2"}, "x") == r"\1 {{ b }}-2"


@pytest.mark.parametrize(
    ("grammar", "part"),
    [
        ('root ::= my_rule\nmy_rule ::= "a"\n', "`my_rule`"),
        ('top ::= "a"\n', "`root`"),
        ("root ::= missing\n", "`missing`"),
    ],
)
def test_a_grammar_that_llama_cpp_cannot_read_is_refused_at_load(home, grammar, part):
    (home / "executor.gbnf").write_text(grammar)
    with pytest.raises(RoleError) as raised:
        load_role("executor")
    assert "agents/executor.gbnf" in raised.value.message
    assert part in raised.value.message


@pytest.mark.parametrize(
    ("team", "part"),
    [
        ('schema = 1\norder = ["coder", "planner", "executor"]\n', "order"),
        ('schema = 1\norder = ["planner", "coder", "executor"]\nmax_turns = 0\n', "max_turns"),
        ('schema = 1\norder = ["planner", "coder", "executor"]\nmaxturns = 3\n', "`maxturns`"),
    ],
)
def test_a_wrong_team_file_is_refused(home, team, part):
    (home / "team.toml").write_text(team)
    with pytest.raises(RoleError, match=part):
        load_team()


def test_the_last_retry_form_stays():
    forms = Forms(default="whole", retry=("udiff", "whole"))
    assert [forms.at(attempt) for attempt in range(5)] == [
        "whole", "udiff", "whole", "whole", "whole",
    ]  # fmt: skip


def test_every_attempt_and_every_draw_has_a_temperature_and_a_seed_of_its_own():
    sampling = RoleSampling(
        temperature=0.1, retry_temperatures=(0.7, 0.0), redraw_warmth=0.25, seed=5
    )
    chosen = [sampling.at(attempt + 1, Draw(attempt)) for attempt in range(4)]
    assert [one.temperature for one in chosen] == [0.1, 0.7, 0.0, 0.0]
    assert [one.seed for one in chosen] == [6, 7, 8, 9]
    again = [sampling.at(2, Draw(1, again)) for again in range(3)]
    assert [one.temperature for one in again] == [0.7, 0.95, 1.2]
    assert len({one.seed for one in again}) == 3
    assert RoleSampling(temperature=0.3).at(4, Draw(3)).temperature == 0.3
