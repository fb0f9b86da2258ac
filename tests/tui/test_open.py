import pytest
from click.testing import CliRunner

from agspec_tui.cli.main import run
from agspec_tui.cli.tui import open_tui
from agspec_tui.errors import UsageError


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["no/such/folder"], "does not exist"),
        (["pyproject.toml"], "is a file, not a folder"),
        ([".", "--issue", " "], "the issue is empty"),
        ([".", "--issue", "tests"], "is a folder"),
        (["."], "the screen needs a terminal (without one: agspec-tui fix"),
    ],
)
def test_what_cannot_be_opened_is_one_line_with_a_hint(arguments, part, capsys):
    assert run(arguments) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert part in error
    assert "(" in error


def test_without_a_terminal_the_refusal_is_a_usage_error():
    result = CliRunner().invoke(open_tui, ["."])
    assert isinstance(result.exception, UsageError)


def test_the_command_is_hidden_and_its_options_are_those_of_the_design():
    assert open_tui.hidden
    assert sorted({option for p in open_tui.params for option in p.opts}) == [
        "--approve",
        "--candidates",
        "--device",
        "--exact",
        "--flash-attn",
        "--gpu-layers",
        "--issue",
        "--kv-type",
        "--model",
        "--n-ctx",
        "--record",
        "--rpc",
        "--test",
        "--threads",
        "repo",
    ]
