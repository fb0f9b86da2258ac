import asyncio
import contextlib
import re
import tempfile
from pathlib import Path

import pytest

from agspec_tui.commands import AnswerApproval
from agspec_tui.config import CommandRules
from agspec_tui.errors import ToolError
from agspec_tui.events import ApprovalAnswered, ApprovalRequested, Warned
from agspec_tui.session.approval import Approvals
from agspec_tui.session.gate import CommandGate
from agspec_tui.session.interrupt import InterruptSwitch
from agspec_tui.session.output import MAX_LINE_CHARS, N_HEAD_CHARS
from agspec_tui.session.redaction import MASK, mask, read_secrets
from agspec_tui.session.sandbox import Sandbox, find_sandbox, why_not
from agspec_tui.session.testing import TestCommand, given
from tests.session.scripted import of

BARE = Sandbox("none", reason="none for this test")


class Asked:
    """A gate whose questions are answered as the test wants."""

    def __init__(self, root, mode="ask", answer=True, *, sandbox=None, user=None, own=None):
        self.events = []
        self.answer = answer
        self.approvals = Approvals(self.publish, InterruptSwitch(), mode=mode)
        rules = user or CommandRules()
        self.gate = CommandGate(
            root.resolve(),
            self.approvals,
            self.publish,
            user=rules,
            own=own or CommandRules(),
            sandbox=sandbox,
        )

    def publish(self, event):
        self.events.append(event)
        if isinstance(event, ApprovalRequested):
            answer = AnswerApproval(call_id=event.call_id, approved=self.answer)
            asyncio.get_running_loop().call_soon(self.approvals.take, answer)

    async def line(self, line):
        return await self.gate.run_line(line, 30, turn=2, role="coder")

    @property
    def questions(self):
        return of(self.events, ApprovalRequested)


@pytest.mark.parametrize("mode", ["plan-only", "ask", "auto-edit", "full-auto"])
async def test_a_harmless_line_runs_unasked_in_every_mode(tmp_path, mode):
    (tmp_path / "a").write_text("1\n")
    asked = Asked(tmp_path, mode)
    assert (await asked.line("cat a")).output == "1\n"
    assert asked.questions == []


@pytest.mark.parametrize("mode", ["ask", "auto-edit"])
async def test_another_line_runs_after_a_yes_and_then_unasked(tmp_path, mode):
    asked = Asked(tmp_path, mode)
    for _ in range(2):
        assert (await asked.line("echo 1 > a")).exit_code == 0
    [question] = asked.questions
    assert (question.asks, question.command) == ("command", "echo 1 > a")
    assert question.diff == ""
    assert (question.turn, question.role) == (2, "coder")
    assert "redirect" in question.summary
    assert of(asked.events, ApprovalAnswered)[0].role == "coder"


async def test_after_a_no_it_does_not_run(tmp_path):
    asked = Asked(tmp_path, answer=False)
    with pytest.raises(ToolError, match="you said no"):
        await asked.line("touch a")
    assert not (tmp_path / "a").exists()


async def test_full_auto_runs_without_a_question_and_plan_only_never(tmp_path):
    free = Asked(tmp_path, "full-auto")
    await free.line("touch a")
    assert (tmp_path / "a").exists()
    strict = Asked(tmp_path, "plan-only")
    with pytest.raises(ToolError, match="was not run"):
        await strict.line("touch b")
    assert strict.questions == free.questions == []
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("line", ["pkill x", "cat .env"], ids=["X08", "D07"])
async def test_what_is_denied_runs_in_no_mode(tmp_path, line):
    (tmp_path / ".env").write_text("A=b\n")
    with pytest.raises(ToolError, match="was not run"):
        await Asked(tmp_path, "full-auto").line(line)


async def test_without_a_sandbox_found_tests_are_asked_about_and_given_ones_run(tmp_path):
    asked = Asked(tmp_path, "auto-edit", sandbox=BARE)
    assert (await asked.gate.run_tests(given("echo 1"), 20)).output == "1\n"
    assert asked.questions == []
    found = TestCommand(("echo", "2"), "echo 2", "npm")
    for _ in range(2):
        assert (await asked.gate.run_tests(found, 20)).output == "2\n"
    [question] = asked.questions
    assert "without a sandbox" in question.summary


async def test_tests_in_a_sandbox_are_not_asked_about(tmp_path):
    if find_sandbox().kind == "none":
        pytest.skip("no sandbox works here")
    asked = Asked(tmp_path, "ask")
    found = TestCommand(("sh", "-c", "echo 2 > a; cat a"), "npm test", "npm")
    done = await asked.gate.run_tests(found, 20)
    assert (done.output, done.command) == ("2\n", "npm test")
    assert asked.questions == []
    only = Asked(tmp_path, "plan-only")
    assert (
        await only.gate.run_tests(TestCommand(("sh", "-c", "echo 3 > a"), "x", "npm"), 20)
    ).exit_code
    assert (tmp_path / "a").read_text() == "2\n"


@pytest.mark.parametrize("mode", ["plan-only", "ask", "auto-edit", "full-auto"])
@pytest.mark.parametrize("kind", ["given", "npm"])
@pytest.mark.parametrize("owner", ["user", "own"])
async def test_a_denied_test_command_runs_in_no_mode(tmp_path, mode, kind, owner):
    asked = Asked(tmp_path, mode, **{owner: CommandRules(deny=("touch",))})
    test = TestCommand(("sh", "-c", "cd . && touch a"), "cd . && touch a", kind)
    with pytest.raises(ToolError, match="`touch` is denied by a rule"):
        await asked.gate.run_tests(test, 20)
    assert asked.questions == []
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("kind", ["given", "npm"])
@pytest.mark.parametrize("answer", [True, False])
async def test_a_test_command_is_asked_about_where_a_rule_says_so(tmp_path, kind, answer):
    asked = Asked(tmp_path, "auto-edit", answer, own=CommandRules(ask=("cargo test",)))
    test = TestCommand(("sh", "-c", "echo 1 > a"), "cargo test --all", kind)
    refused = contextlib.nullcontext() if answer else pytest.raises(ToolError, match="said no")
    with refused:
        await asked.gate.run_tests(test, 20)
    assert (tmp_path / "a").exists() == answer
    assert len(asked.questions) == 1
    assert "`cargo test` is to be asked about" in asked.questions[0].summary


@pytest.mark.parametrize("own_pids", [True, False])
async def test_a_sandbox_that_cannot_be_set_up_is_no_failing_test(tmp_path, own_pids):
    sandbox = Sandbox("namespaces", own_pids=own_pids)
    if why_not(sandbox):
        pytest.skip("no namespaces here")
    # The memory that commands share is their own, so nothing of the machine's is seen in it.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        asked = Asked(Path(folder), sandbox=sandbox)
        with pytest.raises(ToolError, match="the command was not run: the sandbox could not be"):
            await asked.gate.run_tests(given("touch ran"), 20)
        assert not (Path(folder) / "ran").exists()


async def test_a_test_that_ends_like_a_failed_sandbox_still_counts_as_a_test(tmp_path):
    for script in ("echo mine; exit 125", "echo bwrap; exit 1", "echo 'bwrap: x'; exit 2"):
        assert (await Asked(tmp_path).gate.run_tests(given(script), 20)).exit_code


async def test_version_control_that_a_command_makes_is_warned_of(tmp_path):
    asked = Asked(tmp_path)
    for _ in range(2):
        await asked.gate.run_tests(given("mkdir -p .git; echo x > .git/config"), 20)
    [warning] = of(asked.events, Warned)
    assert "made" in warning.message
    assert ".git" in warning.message


async def test_x03_a_server_that_never_ends_gives_its_output_and_advice(tmp_path):
    asked = Asked(tmp_path)
    script = "echo ready on port 3000; while true; do sleep 1; done"
    done = await asked.gate.run_tests(given(script), 1)
    assert done.timed_out
    assert done.output == "ready on port 3000\n"
    [warning] = of(asked.events, Warned)
    assert "ran past 1 s" in warning.message
    assert "a command that ends" in warning.hint


@pytest.mark.parametrize(
    "script",
    [
        "git rebase -i HEAD~1",
        "git commit --amend",
        "git pull http://127.0.0.1:9/x",
        "git fetch ssh://git@127.0.0.1:9/x",
        "git log",
        "$EDITOR a",
        'read line; echo "got $line"; cat',
        "python3 -c 'import getpass; getpass.getpass()'",
        "less a; more a </dev/null",
    ],
)
async def test_x04_nothing_waits_for_an_editor_a_password_or_a_pager(tmp_path, script):
    start = (
        "git init -q .; git config user.email a@example.org; git config user.name a; "
        "seq 500 > a; git add a; git commit -qm 1; git commit -q --allow-empty -m 2; "
    )
    asked = Asked(tmp_path)
    done = await asked.gate.run_tests(given(start + script), 20)
    assert not done.timed_out
    assert done.wall_s < 15


async def test_x09_progress_bars_titles_and_the_clipboard_leave_text_only(tmp_path):
    script = (
        r"printf '\033]0;title\007\033]52;c;aGk=\007\033]8;;http://x\033\\link\033]8;;\033\\ ';"
        r"printf '10%%\r50%%\r100%% done\n\033[2J\033[1;1H\033[31mred\033[0m\n'"
    )
    done = await Asked(tmp_path).gate.run_tests(given(script), 20)
    assert done.output == "100% done\nred\n"


# ── secrets in what commands print ───────────────────────────────────────────────────────────────


async def test_values_of_secret_files_and_variables_are_masked(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVICE_API_KEY", "sk-planted-in-the-environment")
    (tmp_path / ".gitignore").write_text(".env\n")
    (tmp_path / ".env").write_text(
        "# settings\nexport DB_PASSWORD='hunter2-planted'\nDEBUG=true\nPORT=5432\n"
        'TOKEN="tok-planted"\nURL=https://user:pw@example.org/planted\nMODE=development\n'
    )
    (tmp_path / "server.pem").write_text(
        f"-----BEGIN KEY-----\n{'MIIB' * 12}==\n-----END KEY-----\n"
    )
    (tmp_path / "secrets.json").write_text('{\n  "client_secret": "json-planted",\n  "n": 1\n}\n')
    script = "cat .env server.pem secrets.json; env; echo 5432 true development"
    done = await Asked(tmp_path).gate.run_tests(given(script), 20)
    assert "planted" not in done.output
    assert "MIIB" not in done.output
    assert done.output.count(MASK) >= 6
    assert "5432 true development" in done.output


PLANTED = "pla/Nted+0123456789"


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (".npmrc", f"//registry.example.org/:_authToken={PLANTED}"),
        (".npmrc", f"_auth = {PLANTED}"),
        (".git-credentials", "https://user:planted_0123456789@example.org"),
        (".netrc", f"machine h login me password {PLANTED}"),
        ("_netrc", f"password {PLANTED}"),
        (".env", f"API_KEY={PLANTED} # prod"),
        (".env", f'API_KEY="{PLANTED}"  # prod'),
        (".env", f"export API_KEY='{PLANTED}' # prod"),
        (".env", f"API_KEY=/{PLANTED}"),
        (".env", f"API_KEY=//{PLANTED}"),
        ("secrets.yaml", f"- token: {PLANTED}"),
        ("secrets.json", f'{{"type":"service","client_secret":"{PLANTED}","n":1}}'),
        (".pgpass", "host:5432:db:me:planted-0"),
        ("env/prod.env", f"TOKEN={PLANTED}"),
        ("vendor/x/.env", f"TOKEN={PLANTED}"),
        ("build/server.key", "MIIBpLanted" * 5),
    ],
)
async def test_a_secret_is_masked_however_its_file_is_written(tmp_path, file, line):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"{line}\n")
    wanted = re.search(r"/*(pla|MIIBpLa)[\w/+-]+", line).group()
    done = await Asked(tmp_path).gate.run_tests(given(f"cat {file}; echo '{wanted}'"), 20)
    assert wanted not in done.output
    assert done.output.count(MASK) == 2


async def test_a_value_across_the_cut_of_an_output_is_masked(tmp_path):
    (tmp_path / ".env").write_text(f"API_KEY={PLANTED}\n")
    for n_before in (N_HEAD_CHARS - 9, MAX_LINE_CHARS - 9):
        filler = "('x' * 99 + chr(10))" if n_before > MAX_LINE_CHARS else "'x'"
        (tmp_path / "a.py").write_text(
            f"s = open('.env').read()[8:].strip()\n"
            f"before = ({filler} * {n_before})[:{n_before}]\n"
            "print(before + s, 'y\\n' * 90_000)\n"
        )
        done = await Asked(tmp_path).gate.run_tests(given("python3 a.py"), 20)
        assert "left out" in done.output
        assert PLANTED[:6] not in done.output


@pytest.mark.parametrize("what", ["files", "bytes"])
async def test_secrets_beyond_what_is_read_are_warned_of_once(tmp_path, what):
    for number in range(51 if what == "files" else 1):
        (tmp_path / f"{number}.env").write_text("A=b\n" * (1 if what == "files" else 40_000))
    asked = Asked(tmp_path)
    for _ in range(2):
        await asked.gate.run_tests(given("true"), 20)
    [warning] = of(asked.events, Warned)
    assert warning.message == "not all secret files were read"


def test_ordinary_values_are_not_masked(tmp_path):
    (tmp_path / ".env").write_text("A=true\nPATH_TO=/usr/bin\nNAME=x\nMODE=production\nPIN=1234\n")
    found = read_secrets(tmp_path, {"PWD": "/srv/x", "GIT_AUTHOR_NAME": "Somebody"})
    assert (found.values, found.is_complete) == ((), True)


def test_the_longest_value_is_masked_first(tmp_path):
    (tmp_path / ".env").write_text("A_KEY=abcdef\nB_KEY=abcdefghi\n")
    values = read_secrets(tmp_path, {}).values
    assert mask("abcdefghi abcdef", values) == f"{MASK} {MASK}"
