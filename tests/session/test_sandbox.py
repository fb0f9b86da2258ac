import inspect
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from agspec_tui.session.runner import run
from agspec_tui.session.sandbox import (
    AGENT_VARIABLES,
    Places,
    Sandbox,
    find_sandbox,
    why_not,
)
from tests.session.scripted import snapshot
from tests.session.test_runner import alive

KINDS = {
    "bubblewrap": Sandbox("bubblewrap", own_pids=True),
    "namespaces": Sandbox("namespaces", own_pids=True),
    "namespaces, shared process ids": Sandbox("namespaces"),
}


@pytest.fixture(params=KINDS)
def sandbox(request):
    sandbox = KINDS[request.param]
    reason = why_not(sandbox)
    if reason:
        pytest.skip(f"{request.param} does not work here: {reason}")
    return sandbox


@pytest.fixture
def places(tmp_path):
    root = tmp_path.resolve()
    for name in ("repo", "temp", "caches", "other"):
        (root / name).mkdir()
    (root / "other" / "file").write_text("as it was\n")
    (root / "other" / "file").chmod(0o640)
    return Places(root / "repo", root / "temp", root / "caches")


async def confined(sandbox, places, command, timeout_s=30):
    return await run(
        command,
        places.root,
        timeout_s,
        places.environment(),
        without=AGENT_VARIABLES,
        confined=lambda argv: sandbox.wrap(argv, places),
    )


def python(code):
    return (sys.executable, "-c", code)


async def test_files_inside_can_be_made_changed_moved_and_removed(sandbox, places):
    script = (
        "mkdir a b; echo 1 > a/x; mv a/x b/y; echo 2 >> b/y; ln -s y b/z; rmdir a; chmod 700 b/y; "
        'echo t > "$TMPDIR/t"; cat b/z "$TMPDIR/t"'
    )
    done = await confined(sandbox, places, script)
    assert (done.exit_code, done.output) == (0, "1\n2\nt\n")
    assert (places.root / "b" / "y").read_text() == "1\n2\n"
    assert (places.temp / "t").read_text() == "t\n"


@pytest.mark.parametrize(
    "action",
    [
        "echo x > {}",
        "echo x >> {}",
        "rm -f {}",
        "mv {} here",
        "ln {} here; echo x >> here",
        "chmod 777 {}",
        "touch -d 2001-01-01 {}",
        "truncate -s 0 {}",
        "ln -s {} link; echo x > link",
        "echo x > {}.new",
        "mkdir {}.d",
        "mv {} {}.moved",
    ],
)
async def test_nothing_outside_changes(sandbox, places, action):
    other = places.root.parent / "other"
    file = other / "file"
    before = (file.read_bytes(), file.stat().st_mode, file.stat().st_mtime_ns)
    await confined(sandbox, places, action.replace("{}", str(file)))
    assert (file.read_bytes(), file.stat().st_mode, file.stat().st_mtime_ns) == before
    assert list(other.iterdir()) == [file]


async def test_the_network_cannot_be_reached(sandbox, places):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = (
            "import socket\n"
            f"for place in (('127.0.0.1', {port}), ('192.0.2.1', 80), ('1.1.1.1', 53)):\n"
            "    try:\n        socket.create_connection(place, 2)\n        print('reached')\n"
            "    except OSError as error:\n        print('refused')\n"
            "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "try:\n    udp.sendto(b'x', ('1.1.1.1', 53))\n    print('sent')\n"
            "except OSError:\n    print('refused')\n"
        )
        done = await confined(sandbox, places, python(code))
    assert done.output == "refused\n" * 4


async def test_an_abstract_socket_of_another_process_cannot_be_reached(sandbox, places):
    name = f"\0agspec-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})"
        done = await confined(sandbox, places, python(code))
    assert done.exit_code != 0
    assert "refused" in done.output or "not permitted" in done.output


async def test_servers_terminals_and_semaphores_of_tests_work_inside(sandbox, places):
    code = (
        "import multiprocessing, os, pty, socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname()).close()\n"
        "main, other = pty.openpty()\n"
        "os.write(other, b'x')\n"
        "multiprocessing.Lock()\n"
        "open('/dev/null', 'w').write('x')\n"
        "print('works')\n"
    )
    done = await confined(sandbox, places, python(code))
    assert done.output == "works\n"


async def test_other_processes_cannot_be_signalled(sandbox, places):
    if not sandbox.own_pids:
        pytest.skip("with shared process ids this depends on the version of Landlock")
    victim = subprocess.Popen(("sleep", "60"), start_new_session=True)
    try:
        script = f"kill -9 {victim.pid}; pkill -9 -x sleep; pgrep -x sleep"
        done = await confined(sandbox, places, script)
        assert str(victim.pid) not in done.output
        assert alive(victim.pid)
    finally:
        victim.kill()
        victim.wait()


async def test_x01_nothing_lives_on_even_with_a_clean_environment(sandbox, places):
    mark = f"7{os.getpid()}.5"
    script = f"env -i setsid sleep {mark} >/dev/null 2>&1 & sleep 0.2; echo done"
    done = await confined(sandbox, places, script)
    assert done.output == "done\n"
    if sandbox.own_pids:
        found = subprocess.run(("pgrep", "-f", f"sleep {mark}"), capture_output=True, text=True)
        assert found.stdout == ""
    else:
        subprocess.run(("pkill", "-f", f"sleep {mark}"), check=False)


async def test_x01_the_time_limit_ends_all_of_it(sandbox, places):
    script = "trap '' TERM; (trap '' TERM; sleep 300) & echo started; sleep 300"
    done = await confined(sandbox, places, script, timeout_s=1)
    assert done.timed_out
    assert done.output == "started\n"
    assert done.wall_s < 8


@pytest.mark.parametrize(("script", "code"), [("exit 3", {3}), ("kill -9 $$", {-9, 137})])
async def test_the_exit_code_is_the_commands(sandbox, places, script, code):
    assert (await confined(sandbox, places, script)).exit_code in code


async def test_hooks_and_settings_of_git_cannot_be_planted(sandbox, places):
    subprocess.run(("git", "init", "-q", "."), cwd=places.root, check=True)
    before = snapshot(places.root / ".git")
    script = (
        "echo x > .git/hooks/post-commit; mv .git .gone; mv .git/hooks .git/old; "
        "git config core.fsmonitor ./x; rm -rf .git/hooks; echo x > .git/config; "
        "mkdir evil; echo ../evil > .git/commondir; mkdir -p .git/modules/x; "
        "rm -rf .git; echo 'gitdir: evil' > .git"
    )
    await confined(sandbox, places, script)
    assert snapshot(places.root / ".git") == before
    assert (places.root / "evil").is_dir()


async def test_the_file_of_a_work_tree_stays(sandbox, places):
    (places.root / ".git").write_text("gitdir: ../other\n")
    script = "echo 'gitdir: evil' > .git; rm -f .git; mv .git x; mkdir .git; mv evil .git"
    await confined(sandbox, places, f"echo evil > evil; {script}")
    assert (places.root / ".git").read_text() == "gitdir: ../other\n"


async def test_a_missing_hooks_folder_cannot_be_made(sandbox, places):
    subprocess.run(("git", "init", "-q", "."), cwd=places.root, check=True)
    shutil.rmtree(places.root / ".git" / "hooks", ignore_errors=True)
    await confined(sandbox, places, "mkdir .git/hooks; mv .git x; mkdir -p .git/hooks")
    assert not (places.root / ".git" / "hooks").exists()


async def test_keys_in_the_home_folder_are_not_seen(sandbox, places, monkeypatch):
    home = places.root.parent / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_rsa").write_text("planted-secret")
    (home / ".cargo").mkdir()
    files = [".netrc", ".npmrc", ".my.cnf", ".vault_pass.txt", ".cargo/credentials.toml"]
    for name in files:
        (home / name).write_text("planted-secret")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere")
    shown = " ".join(f"{home}/{name}" for name in files)
    script = f"cat {home}/.ssh/id_rsa {shown}; umount {home}/.ssh; cat {home}/.ssh/*; env"
    done = await confined(sandbox, places, script)
    assert "planted-secret" not in done.output
    assert "SSH_AUTH_SOCK" not in done.output


async def test_a_repository_can_be_kept_as_it_is(sandbox, places):
    (places.root / "a").write_text("1\n")
    kept = Places(places.root, places.temp, places.caches, keeps_root=True)
    done = await confined(sandbox, kept, 'echo 2 > a; echo 3 > "$TMPDIR/b"; cat "$TMPDIR/b"')
    assert done.output.endswith("3\n")
    assert (places.root / "a").read_text() == "1\n"


async def test_files_of_the_repository_do_not_get_into_the_launcher(sandbox, places, monkeypatch):
    for name in ("json", "ctypes", "os", "signal", "sitecustomize"):
        (places.root / f"{name}.py").write_text("raise SystemExit('got in')")
    monkeypatch.setenv("PYTHONPATH", str(places.root))
    done = await confined(sandbox, places, "echo ran")
    assert done.output == "ran\n"


async def test_a_program_that_is_not_there_says_so(sandbox, places):
    done = await confined(sandbox, places, ("no-such-program-here",))
    assert done.exit_code != 0
    assert "no-such-program-here: No such file or directory" in done.output


def test_a_sandbox_that_cannot_be_set_up_runs_nothing(tmp_path):
    from agspec_tui.session import confine

    missing = str(tmp_path / "missing")
    settings = {"write": [[missing, missing]], "hide": [], "read_only": []}
    for own_pids in (True, False):
        text = json.dumps(settings | {"own_pids": own_pids})
        argv = (sys.executable, "-I", "-S", inspect.getfile(confine), text, "--", "touch", "ran")
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == confine.SETUP_FAILED
        assert "could not be set up" in done.stderr
        assert not (tmp_path / "ran").exists()


def test_the_kind_is_known_and_works():
    assert find_sandbox() is find_sandbox()
    if find_sandbox().kind == "none":
        assert find_sandbox().reason
        assert find_sandbox().wrap(("ls",), Places(Path(), Path())) == ("ls",)
    else:
        assert why_not(find_sandbox()) == ""
