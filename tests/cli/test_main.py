import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from agspec_tui import __version__
from agspec_tui.cli import main

ROOT = Path(__file__).resolve().parents[2]
MODULE = [sys.executable, "-m", "agspec_tui"]


def ended(*arguments, command=MODULE, **settings):
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=60, check=False, **settings
    )


def in_python(script, **settings):
    return ended("-c", script, command=[sys.executable], cwd=ROOT, **settings)


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_the_commands_and_the_way_to_the_screen(flag):
    shown = CliRunner().invoke(main.cli, [flag])
    assert shown.exit_code == 0
    assert shown.stdout.startswith("Usage: agspec-tui [REPO] [--model NAME|PATH]")
    for command in ("fix", "bench", "models"):
        assert f"\n  {command} " in shown.stdout


def test_help_loads_neither_the_screen_nor_an_engine():
    shown = in_python(
        "import sys\n"
        "from agspec_tui.cli.main import run\n"
        "assert run(['--help']) == 0\n"
        "heavy = {'textual', 'llama_cpp', 'numpy', 'agspec_tui.session', 'agspec_tui.engine'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))\n"
    )
    assert shown.stdout.endswith("\nloaded: []\n")


def test_version_is_the_package_s():
    shown = ended("--version")
    assert shown.stdout == f"agspec-tui, version {__version__}\n"
    assert shown.returncode == 0


def test_installed_script_is_this_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["agspec-tui"] == "agspec_tui.cli.main:main"
    script = Path(sysconfig.get_path("scripts")) / "agspec-tui"
    assert ended("--version", command=[str(script)]).stdout == ended("--version").stdout


def test_every_command_can_be_loaded_and_says_what_it_does():
    context = main.cli.make_context("agspec-tui", ["--help"], resilient_parsing=True)
    for name in main.cli.list_commands(context):
        assert main.cli.get_command(context, name).get_short_help_str()
    assert main.cli.get_command(context, "open-tui") is not None
    assert main.cli.get_command(context, "none") is None


WRONG = {
    "unknown option": (["fix", "--no-such"], "No such option"),
    "misspelt command": (["modles", "list"], "did you mean 'models'?"),
    "unknown model": (["models", "path", "none"], "unknown model 'none'"),
    "control characters": (["models", "path", "\x1b[2J\nx"], r"\x1b[2J"),
    "undecodable": (["models", "path", os.fsdecode(b"\xff")], "unknown model"),
}


@pytest.mark.parametrize(("arguments", "problem"), WRONG.values(), ids=WRONG.keys())
def test_user_s_mistake_is_one_line_without_a_traceback(arguments, problem):
    shown = ended(*arguments)
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert len(shown.stderr.splitlines()) == 1
    assert shown.stderr.startswith("error: ")
    assert problem in shown.stderr
    assert "\x1b" not in shown.stderr


FAILURES = {
    "EngineError": ("raise errors.EngineError('gone', 'start it')", 3, "error: gone (start it)\n"),
    "UsageError": ("raise errors.UsageError('bad\\nline')", 2, "error: bad line\n"),
    "Abort": ("raise click.Abort", 130, "error: interrupted\n"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", 130, "error: interrupted\n"),
    "Exit": ("click.get_current_context().exit(1)", 1, ""),
    "return": ("return 1", 1, ""),
}


@pytest.mark.parametrize(("body", "code", "shown"), FAILURES.values(), ids=FAILURES.keys())
def test_outcome_of_a_command_is_its_exit_code_and_at_most_one_line(tmp_path, body, code, shown):
    (tmp_path / "probe.py").write_text(
        f"import click\nfrom agspec_tui import errors\n@click.command()\ndef probe():\n    {body}\n"
    )
    outcome = in_python(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nsys.argv[1:] = ['probe']\n"
        "from agspec_tui.cli import main\n"
        "main._COMMANDS['probe'] = ('probe', 'probe', '')\nmain.main()\n"
    )
    assert outcome.stderr == shown
    assert outcome.returncode == code


@pytest.mark.parametrize("can_log", [True, False])
def test_bug_is_logged_with_its_traceback_and_shown_as_one_line(tmp_path, can_log):
    state = tmp_path / "state"
    if not can_log:
        state.write_text("")
    (tmp_path / "probe.py").write_text(
        "import click\n@click.command()\ndef probe():\n    {}['no such key']\n"
    )
    outcome = in_python(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nsys.argv[1:] = ['probe']\n"
        "from agspec_tui.cli import main\n"
        "main._COMMANDS['probe'] = ('probe', 'probe', '')\nmain.main()\n",
        env={**os.environ, "XDG_STATE_HOME": str(state), "TMPDIR": str(tmp_path)},
    )
    assert outcome.returncode == 1
    assert len(outcome.stderr.splitlines()) == 1
    assert outcome.stderr.startswith("error: unexpected KeyError (details in ")
    log = Path(outcome.stderr.partition("details in ")[2].strip().removesuffix(")"))
    assert log.is_relative_to(state if can_log else tmp_path)
    assert "Traceback" in log.read_text()
    assert "no such key" in log.read_text()


def test_reader_that_goes_away_is_no_error(tmp_path):
    shown = subprocess.run(
        ["bash", "-c", '"$@" models list | true; echo "${PIPESTATUS[0]}"', "-", *MODULE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert shown.stderr == ""
    assert shown.stdout.strip() in {"0", "141"}


def test_output_to_a_closed_pipe_ends_quietly():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        child = subprocess.run(
            [*MODULE, "models", "list"],
            stdout=closed,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert child.stderr == b""
    assert child.returncode == 141


def test_ctrl_c_ends_a_pull_with_one_line_and_no_installer_left(tmp_path):
    # An index that accepts and never answers keeps the installer waiting.
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        child = subprocess.Popen(
            [*MODULE, "models", "pull", "smollm2-135m"],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={
                **os.environ,
                "AGSPEC_MODELS": str(tmp_path),
                "PIP_CONFIG_FILE": os.devnull,
                "PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple",
                "PIP_EXTRA_INDEX_URL": "",
                "PIP_FIND_LINKS": "",
                "PIP_NO_INDEX": "0",
            },
        )
        connection, _ = server.accept()
        os.kill(child.pid, signal.SIGINT)
        started_s = time.monotonic()
        _, errors = child.communicate(timeout=30)
        connection.close()
    assert time.monotonic() - started_s < 10
    assert child.returncode == 130
    assert errors.splitlines()[-1] == "error: interrupted"
    assert "Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)
