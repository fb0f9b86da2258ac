import subprocess

import pytest

from agspec_tui.errors import ToolError
from agspec_tui.events import EditProposed, SessionStarted, TaskFinished, Warned
from agspec_tui.session.repo import is_secret, list_files, read_text_file, refuse_ignored
from agspec_tui.session.sandbox import find_sandbox
from agspec_tui.session.session import Session
from agspec_tui.session.skipping import skip_reason
from agspec_tui.session.workspace import scan
from tests.session.scripted import (
    FIXED,
    TESTS,
    config,
    make_repo,
    of,
    plan,
    run_task,
    script,
    whole,
)

SECRET = "planted-secret-7f3a"
NAMES = (
    ".env",
    ".env.local",
    ".ENV",
    "prod.env",
    ".envrc",
    "server.pem",
    "server.key",
    "id_rsa",
    "id_ed25519.pub",
    "id_deploy",
    ".netrc",
    ".npmrc",
    "credentials",
    "credentials.json",
    "secrets.yaml",
    ".ssh/config",
    ".aws/credentials",
    ".docker/config.json",
    "main.tfstate",
    "prod.tfvars",
    "signing.p8",
    "backup.gpg",
    "client_secret_1.json",
    "service-account-x.json",
)
ORDINARY = (
    "env.py",
    "environment.py",
    "keys.py",
    "id_map.py",
    "credentials.py",
    "secrets.py",
    "tokens.py",
    "public/key.ts",
)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_secrets_are_known(name):
    assert is_secret(name)
    assert is_secret(f"pkg/{name}")


@pytest.mark.parametrize("name", ORDINARY)
def test_source_about_secrets_is_no_secret(name):
    assert not is_secret(name)


@pytest.fixture
def repo(tmp_path):
    root = make_repo(tmp_path.resolve() / "repo")
    subprocess.run(("git", "init", "-q", str(root)), check=True)
    outside = tmp_path.resolve() / "outside"
    outside.mkdir()
    (outside / "file.py").write_text(f"KEY = '{SECRET}'\n")
    (root / ".env").write_text(f"TOKEN={SECRET}\n")
    (root / ".gitignore").write_text("ignored.py\n.env\n")
    (root / "ignored.py").write_text(f"KEY = '{SECRET}'\n")
    (root / "cfg.py").symlink_to(".env")
    (root / "linked.py").symlink_to(outside / "file.py")
    (root / "folder").symlink_to(outside)
    (root / "dangling.py").symlink_to(outside / "new.py")
    return root


CLOSED = {
    "D07 by name": ".env",
    "D07 by the link to it": "cfg.py",
    "D06 link to a file outside": "linked.py",
    "D06 linked folder": "folder/file.py",
    "D06 dangling link": "dangling.py",
    "D12 ignored file": "ignored.py",
}


@pytest.mark.parametrize("name", CLOSED)
def test_one_filter_closes_every_way_to_a_file(repo, name):
    path = CLOSED[name]
    with pytest.raises(ToolError):
        read_text_file(repo, path)
    with pytest.raises(ToolError):
        refuse_ignored(repo, (path,))
    assert path not in list_files(repo)
    assert path not in scan(repo)[0]
    assert skip_reason(repo, path)


async def record_session(repo, folder, replies, command, **settings):
    path = script(folder, *replies)
    records = folder / "records"
    session = Session(
        repo, config(path, **settings), test_command=command, auto_approve=True, record=records
    )
    events = session.bus.subscribe()
    await session.start()
    try:
        seen = events.drain() + await run_task(session, "total() is wrong; see cfg.py and .env")
    finally:
        await session.close()
    [record] = records.iterdir()
    return seen, record.read_text()


async def test_no_secret_reaches_a_prompt_or_an_event(repo, tmp_path):
    leak = "cat .env cfg.py ignored.py linked.py folder/file.py"
    replies = [
        plan("cfg.py", ".env", "ignored.py", "linked.py", "calc.py"),
        whole("calc.py", FIXED),
    ]
    events, record = await record_session(repo, tmp_path, replies, f"{leak}; {TESTS}")
    assert of(events, TaskFinished)[0].status == "fixed"
    assert "result = result - number" in record  # the prompts are in it
    assert SECRET not in record
    for event in events:
        assert SECRET not in repr(event)


UNSEEN = ("ignored.py", "linked.py", "prod.env", "folder/file.py", "large.py")


@pytest.mark.parametrize("new", UNSEEN)
async def test_a_file_that_is_there_unseen_is_not_made_anew(repo, tmp_path, own_home, new):
    (own_home / "agents").mkdir(parents=True)
    (own_home / "agents" / "team.toml").write_text(
        'schema = 1\norder = ["planner", "coder", "reviewer", "executor"]\n'
    )
    (repo / "prod.env").write_text(f"TOKEN={SECRET}\n")
    (repo / "large.py").write_text(f"KEY = '{SECRET}'\n" + "x = 1\n" * 50_000)
    before = {path: (repo / path).read_bytes() for path in UNSEEN}
    replies = [plan(new=[new]), *[whole(new, "KEY = 1\n"), "OK", "FAIL: no"] * 8]
    events, record = await record_session(repo, tmp_path, replies, TESTS, max_turns=3)
    assert of(events, TaskFinished)[0].status == "not_fixed"
    assert not [event for event in of(events, EditProposed) if new in event.files]
    assert {path: (repo / path).read_bytes() for path in UNSEEN} == before
    assert SECRET not in record
    for event in events:
        assert SECRET not in repr(event)


async def test_an_edit_of_a_secret_is_refused(repo, tmp_path):
    before = (repo / ".env").read_bytes()
    replies = [plan("cfg.py"), *(whole(name, "TOKEN=mine\n") for name in (".env", "cfg.py") * 10)]
    events, _ = await record_session(repo, tmp_path, replies, TESTS, max_turns=3)
    assert of(events, TaskFinished)[0].status == "not_fixed"
    assert (repo / ".env").read_bytes() == before


async def test_the_session_says_what_confines_commands_and_what_is_unasked(repo, tmp_path):
    (repo / ".agspec.toml").write_text('approve = "auto-edit"\n[commands]\nallow = ["rm"]\n')
    replies = [plan("calc.py"), whole("calc.py", FIXED)]
    events, _ = await record_session(repo, tmp_path, replies, TESTS)
    [started] = of(events, SessionStarted)
    assert (started.sandbox, started.approve) == (find_sandbox().kind, "auto-edit")
    assert any("commands.allow is ignored" in event.message for event in of(events, Warned))


async def test_plan_only_makes_a_plan_and_changes_nothing(repo, tmp_path):
    (repo / ".agspec.toml").write_text('approve = "plan-only"\n')
    events, _ = await record_session(repo, tmp_path, [plan("calc.py")], TESTS)
    assert of(events, TaskFinished)[0].status == "planned"
    assert of(events, TaskFinished)[0].diff == ""


async def test_x11_nothing_is_committed_and_no_hook_runs(repo, tmp_path):
    git = ("git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run((*git, "add", "-A"), check=True)
    subprocess.run((*git, "commit", "-qm", "one"), check=True)
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\nexit 1\n")
    hook.chmod(0o755)
    (repo / "show.py").write_text((repo / "show.py").read_text() + "# mine\n")
    head = subprocess.run((*git, "rev-parse", "HEAD"), capture_output=True, check=True).stdout
    replies = [plan("calc.py"), whole("calc.py", FIXED)]
    events, _ = await record_session(repo, tmp_path, replies, TESTS)
    assert of(events, TaskFinished)[0].status == "fixed"
    after = subprocess.run((*git, "rev-parse", "HEAD"), capture_output=True, check=True).stdout
    assert after == head
    assert not (tmp_path / "hooked").exists()
    status = subprocess.run((*git, "status", "-s"), capture_output=True, text=True).stdout
    assert sorted(status.splitlines()) == [" M calc.py", " M show.py"]
