import asyncio
import shlex
import sys
import time
from pathlib import Path

import pexpect
import psutil
import pytest

from agspec_tui.errors import ToolError
from agspec_tui.session.output import LEFT_OUT
from agspec_tui.session.runner import QUIET_ENVIRONMENT, run


def alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def gone(pid, limit_s=2.0):
    deadline = time.monotonic() + limit_s
    while alive(pid) and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    return not alive(pid)


async def pid_in(path):
    for _ in range(300):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        await asyncio.sleep(0.02)
    raise AssertionError(f"{path} was not written")


async def test_output_and_errors_come_in_order(tmp_path):
    result = await run("echo one; echo two >&2; echo three", tmp_path, 20)
    assert result.output == "one\ntwo\nthree\n"
    assert (result.exit_code, result.timed_out, result.n_cut_chars) == (0, False, 0)


async def test_arguments_are_passed_without_a_shell(tmp_path):
    argv = (sys.executable, "-c", "import sys; print(sys.argv[1])", "$(echo no) ; *")
    result = await run(argv, tmp_path, 20)
    assert result.output == "$(echo no) ; *\n"
    assert result.command.endswith("'$(echo no) ; *'")


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("kill -9 $$", -9), ("true", 0)])
async def test_the_exit_code_is_the_commands(tmp_path, command, code):
    assert (await run(command, tmp_path, 20)).exit_code == code


async def test_it_runs_in_the_folder_given(tmp_path):
    result = await run("pwd -P", tmp_path, 20)
    assert result.output.strip() == str(tmp_path.resolve())


async def test_the_environment_is_quiet_and_additions_win(tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("KEPT_FROM_THE_USER", "yes")
    result = await run("env", tmp_path, 20, {"TERM": "vt100", "ADDED": "x"})
    seen = dict(line.split("=", 1) for line in result.output.splitlines() if "=" in line)
    assert "FORCE_COLOR" not in seen
    assert seen["KEPT_FROM_THE_USER"] == "yes"
    assert (seen["TERM"], seen["ADDED"]) == ("vt100", "x")
    for name in ("GIT_EDITOR", "GIT_TERMINAL_PROMPT", "PAGER", "PYTHONDONTWRITEBYTECODE"):
        assert seen[name] == QUIET_ENVIRONMENT[name]


async def test_there_is_no_input_and_no_terminal(tmp_path):
    code = (
        "import os, sys\n"
        "print(repr(sys.stdin.read()), os.getsid(0) == os.getpid())\n"
        "try:\n    os.open('/dev/tty', os.O_RDWR)\n"
        "except OSError as error:\n    print('no tty', error.errno)\n"
    )
    result = await run((sys.executable, "-c", code), tmp_path, 20)
    assert result.output.startswith("'' True\nno tty ")


WITH_TERMINAL = """
import asyncio, os, sys
from pathlib import Path
from agspec_tui.session.runner import run
os.close(os.open("/dev/tty", os.O_RDWR))
script = "read -t 5 line </dev/tty && echo \\"got $line\\"; read line; echo \\"input: $line\\""
print(asyncio.run(run(("bash", "-c", script), Path(sys.argv[1]), 20)).output)
"""


def test_a_command_cannot_read_the_terminal_that_the_session_has(tmp_path):
    root = str(Path(__file__).parents[2])
    arguments = ["-c", WITH_TERMINAL, str(tmp_path)]
    child = pexpect.spawn(sys.executable, arguments, cwd=root, encoding="utf-8", timeout=20)
    child.setecho(False)
    child.sendline("typed by the person")
    child.expect(pexpect.EOF)
    assert "No such device" in child.before
    assert "input: \r\n" in child.before
    assert "typed" not in child.before


async def test_git_does_not_wait_for_an_editor(tmp_path):
    script = (
        "git init -q . && git config user.email a@example.org && git config user.name a "
        "&& git commit -q --allow-empty -m one && git commit --amend --allow-empty && git log"
    )
    result = await run(script, tmp_path, 20)
    assert (result.exit_code, result.timed_out) == (0, False)


async def test_the_time_limit_ends_children_that_hold_the_pipe(tmp_path):
    script = "sleep 300 & echo $! > child; echo started; sleep 300"
    started = time.monotonic()
    result = await run(script, tmp_path, 0.5)
    assert time.monotonic() - started < 3.0
    assert result.timed_out
    assert result.exit_code == -15
    assert result.output == "started\n"
    assert await gone(await pid_in(tmp_path / "child"))


async def test_a_command_that_ignores_sigterm_is_killed(tmp_path):
    code = (
        "import os, signal, time, pathlib\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pathlib.Path('child').write_text(str(os.getpid()))\n"
        "time.sleep(300)\n"
    )
    result = await run((sys.executable, "-c", code), tmp_path, 1.0)
    assert result.timed_out
    assert result.exit_code == -9
    assert result.wall_s < 6.0
    assert await gone(await pid_in(tmp_path / "child"))


async def test_a_background_child_does_not_keep_the_command_waiting(tmp_path):
    result = await run("sleep 300 & echo $! > child; echo done", tmp_path, 60)
    assert (result.exit_code, result.timed_out, result.output) == (0, False, "done\n")
    assert result.wall_s < 5.0
    assert await gone(await pid_in(tmp_path / "child"))


async def test_a_silent_background_child_is_ended_too(tmp_path):
    result = await run("sleep 300 >/dev/null 2>&1 & echo $! > child", tmp_path, 60)
    assert result.wall_s < 4.0
    assert await gone(await pid_in(tmp_path / "child"))


@pytest.mark.parametrize("redirect", ["", ">/dev/null 2>&1"], ids=["pipe", "silent"])
async def test_a_child_in_a_session_of_its_own_is_ended(tmp_path, redirect):
    code = (
        "import os, pathlib, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    pathlib.Path('child').write_text(str(os.getpid()))\n"
        "    time.sleep(300)\n"
        "while not os.path.exists('child'): time.sleep(0.01)\n"
    )
    (tmp_path / "daemon.py").write_text(code)
    result = await run(f"{shlex.quote(sys.executable)} daemon.py {redirect}", tmp_path, 60)
    assert result.exit_code == 0
    assert result.wall_s < 6.0
    assert await gone(await pid_in(tmp_path / "child"))


async def test_a_command_that_closes_its_output_is_still_waited_for(tmp_path):
    result = await run("exec >/dev/null 2>&1; sleep 0.3; exit 4", tmp_path, 20)
    assert (result.exit_code, result.timed_out) == (4, False)


async def test_cancelling_ends_the_group_within_half_a_second(tmp_path):
    script = "trap '' TERM; sleep 300 & echo $! > child; sleep 300"
    task = asyncio.create_task(run(script, tmp_path, 300))
    pid = await pid_in(tmp_path / "child")
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 0.5
    assert await gone(pid)


async def test_the_loop_stays_alive_during_a_flood(tmp_path):
    longest_s = 0.0

    async def tick():
        nonlocal longest_s
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest_s = max(longest_s, time.monotonic() - before)

    ticking = asyncio.create_task(tick())
    result = await run("yes 0123456789 | head -c 30000000; echo the end", tmp_path, 60)
    ticking.cancel()
    assert result.output.startswith("0123456789\n")
    assert result.output.endswith("the end\n")
    assert LEFT_OUT in result.output
    assert result.n_cut_chars > 29_000_000
    assert len(result.output) < 70_000
    assert 0 < longest_s < 0.4


async def test_a_line_of_megabytes_is_cut(tmp_path):
    code = "print('x' * 1_700_000); print('after')"
    result = await run((sys.executable, "-c", code), tmp_path, 30)
    assert LEFT_OUT in result.output
    assert len(result.output) < 70_000
    assert result.output.endswith("after\n")


async def test_bytes_that_are_not_utf8_are_shown_as_replacements(tmp_path):
    result = await run(r"printf 'caf\351 \303\251\n'", tmp_path, 20)
    assert result.output == "caf\ufffd é\n"


async def test_no_descriptor_is_left_open(tmp_path):
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        await run("echo x", tmp_path, 20)
        with pytest.raises(ToolError):
            await run(("no-such-program-here",), tmp_path, 20)
    assert len(list(Path("/dev/fd").iterdir())) == before


@pytest.mark.parametrize("command", [("no-such-program-here",), ("/",), (), ("a\0b",)])
async def test_a_command_that_cannot_start_is_a_tool_error(tmp_path, command):
    with pytest.raises(ToolError, match="cannot run"):
        await run(command, tmp_path, 20)


async def test_a_missing_folder_is_a_tool_error(tmp_path):
    with pytest.raises(ToolError, match="cannot run"):
        await run("true", tmp_path / "missing", 20)
