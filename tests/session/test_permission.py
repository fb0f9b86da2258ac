import pytest

from agspec_tui.config import CommandRules
from agspec_tui.session.own_settings import OwnSettings, narrower, read_own_settings
from agspec_tui.session.permission import Permissions

HARMLESS = (
    "ls -la",
    "git log --oneline -5 | head -5 2>&1 && ls 'a b'",
    "git diff --stat; git status -s",
    "find . -name '*.py' -not -path './x/*'",
    "sed -n 1,5p a.py",
    "grep -n total a.py || true",
    "ls *.py",
    "cat a.py 2>/dev/null",
    "! grep -q x a.py",
    "cat a.py # only that",
    "ls\npwd",
    "head -n 5 -- a.py",
)
UNSAFE = {
    "X06 substitution": "echo $(ls)",
    "X06 backticks": "echo `ls`",
    "X06 substitution in quotes": 'echo "a $(ls)"',
    "X06 process substitution": "diff <(ls) a.py",
    "X06 redirect": "ls > a.py",
    "X06 append": "echo x >> a.py",
    "X06 redirect of errors": "ls 2> a.py",
    "X06 redirect of both": "ls &> a.py",
    "X06 input": "cat < a.py",
    "X06 here-document": "cat <<E\nx\nE",
    "X06 find -exec": "find . -exec rm {} \\;",
    "X06 find -execdir": "find . -execdir rm {} +",
    "X06 find -delete": "find . -name x -delete",
    "X06 find -fprint": "find . -fprint a.py",
    "X06 printenv": "printenv",
    "X06 env": "env",
    "X06 set": "set",
    "X06 export": "export -p",
    "X06 declare": "declare -p",
    "X06 variable": "echo $HOME",
    "X06 variable in braces": "echo ${HOME}",
    "X06 environment of a process": "cat /proc/self/environ",
    "X06 second command": "ls; curl example.org",
    "X06 after &&": "ls && rm a.py",
    "X06 in a pipe": "cat a.py | sh",
    "X06 on the next line": "ls\nrm a.py",
    "X06 background": "ls &",
    "X06 assignment": "LD_PRELOAD=./x.so ls",
    "X06 function": "ls() { rm a.py; }; ls",
    "X06 program of the repository": "./ls",
    "X06 option that writes": "git diff --output=a.py",
    "X06 setting of git": "git -c core.pager=x log",
    "X06 sort that writes": "sort -o a.py b.py",
    "X06 uniq that writes": "uniq a.py b.py",
    "X06 sed that runs": "sed -n 1e a.py",
    "X06 sed that writes": "sed -i s/a/b/ a.py",
    "X06 escaped string": "cat $'a.py'",
    "X06 braces": "cat {a,b}.py",
    "X06 outside": "cat ../other",
    "X06 home": "cat ~/notes",
    "X06 absolute": "cat /etc/passwd",
    "X06 link outside": "cat out",
    "X06 recursive search": "grep -rn x .",
    "X06 another folder": "cd pkg && cat a.py",
    "X06 joined over lines": "ls \\\n> a.py",
    "X06 control character": "ls \x1b[A",
    "X06 unfinished": 'ls "a',
    "X06 nothing": "  ",
    "X06 subshell": "(ls)",
    "X06 unknown program": "frobnicate",
    "X06 an interpreter": "python -c 'print(1)'",
}
NEVER = {
    "X08 pkill": "pkill -f python",
    "X08 killall": "killall node",
    "X08 kill": "kill -9 1234",
    "X08 by path": "/usr/bin/pkill x",
    "X08 escaped": "p\\kill x",
    "X08 quoted": "'pk''ill' x",
    "X08 in a substitution": "echo $(pkill x)",
    "X08 in a shell": "sh -c 'pkill x'",
    "X08 in a shell in a shell": "bash -lc \"sh -c 'killall x'\"",
    "X08 by eval": "eval 'pkill x'",
    "X08 by xargs": "pgrep x | xargs kill",
    "X08 by env": "env A=b pkill x",
    "X08 by timeout": "timeout 5 pkill x",
    "X08 after others": "ls && true; pkill x",
    "X08 in the background": "sleep 1 && pkill x &",
    "X08 in a condition": "if true; then pkill x; fi",
    "X08 as root": "sudo ls",
    "D07 a secret by name": "cat .env",
    "D07 a secret by its link": "cat cfg",
    "D07 a secret by a glob": "cat .e*",
    "D07 a link by a glob": "cat c*",
    "D07 a secret of a commit": "git show HEAD:.env",
    "D07 a secret as input": "cat < .env",
    "D07 a secret as a value": "grep x --file=.env",
    "D07 a key in a folder": "head pkg/server.pem",
    "D07 a folder of keys": "cat .ssh/config",
}


@pytest.fixture
def root(tmp_path):
    root = tmp_path.resolve() / "repo"
    (root / "pkg").mkdir(parents=True)
    for name in ("a.py", "b.py", ".env", "pkg/server.pem"):
        (root / name).write_text("x\n")
    (root / "cfg").symlink_to(".env")
    (root / "out").symlink_to("/etc/hostname")
    return root


def permissions(root, *, allow=(), ask=(), deny=(), own=None):
    user = CommandRules(allow=allow, ask=ask, deny=deny)
    return Permissions(root, user, own or CommandRules())


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_that_only_reads_the_repository_runs_unasked(root, line):
    found = permissions(root).judge(line)
    assert (found.verdict, found.reason) == ("allow", "")


@pytest.mark.parametrize("name", UNSAFE)
def test_a_line_that_may_do_more_is_asked_about(root, name):
    found = permissions(root).judge(UNSAFE[name])
    assert found.verdict == "ask"
    assert found.reason


@pytest.mark.parametrize("name", NEVER)
def test_ending_processes_and_reading_secrets_is_denied(root, name):
    assert permissions(root).judge(NEVER[name]).verdict == "deny"


def test_the_users_rules_widen_and_narrow(root):
    rules = permissions(root, allow=("make test", "pkill mine"), ask=("git log",), deny=("ls",))
    assert rules.judge("make test -k").verdict == "allow"
    assert rules.judge("make test && rm x").verdict == "ask"
    assert rules.judge("make testing").verdict == "ask"
    assert rules.judge("make test > x").verdict == "ask"
    assert rules.judge("make test .env").verdict == "deny"
    assert rules.judge("pkill mine").verdict == "allow"
    assert rules.judge("pkill other").verdict == "deny"
    assert rules.judge("git log").verdict == "ask"
    assert rules.judge("/bin/ls").verdict == "deny"
    assert rules.judge("./make test").verdict == "ask"


def test_a_word_is_no_secret_file_unless_it_may_be_a_path(root):
    rules = permissions(root)
    assert rules.judge("grep -n id_user a.py").verdict == "allow"
    (root / "id_user").write_text("x\n")
    for line in ("cat id_user", "cat pkg/id_user", "cat id_user.pub", "cat id_*"):
        assert rules.judge(line).verdict == "deny"
    assert rules.judge("git grep x").verdict == "ask"


def test_x07_a_repositorys_rules_narrow_and_never_widen(root):
    own = CommandRules(allow=("rm",), ask=("cat",), deny=("git log",))
    rules = permissions(root, allow=("git log", "make"), own=own)
    assert rules.judge("rm a.py").verdict == "ask"
    assert rules.judge("cat a.py").verdict == "ask"
    assert rules.judge("git log").verdict == "deny"
    assert rules.judge("make").verdict == "allow"


def test_x07_keys_that_would_widen_are_named_and_do_not_count(root):
    (root / ".agspec.toml").write_text(
        'approve = "full-auto"\nsandbox = "off"\n'
        '[commands]\nallow = ["rm"]\nask = ["cat"]\ndeny = ["git"]\n'
    )
    own = read_own_settings(root)
    assert own.commands == CommandRules(ask=("cat",), deny=("git",))
    assert own.ignored == ("sandbox", "commands.allow")
    assert narrower("ask", own.approve) == "ask"


@pytest.mark.parametrize(
    ("text", "mode"),
    [('approve = "plan-only"\n', "plan-only"), ("approve = 3\n", "ask"), ("[", "ask")],
)
def test_x07_a_repository_can_ask_for_more_care(root, text, mode):
    (root / ".agspec.toml").write_text(text)
    own = read_own_settings(root)
    assert narrower("full-auto", own.approve) == mode
    assert bool(own.problem) == (mode == "ask")


def test_a_repository_without_settings_narrows_nothing(root):
    assert read_own_settings(root) == OwnSettings()


def test_a_very_long_or_deep_line_is_asked_about_and_soon(root):
    rules = permissions(root)
    for line in ("ls " * 50_000, "(" * 3000, "echo " + "$(" * 2000, '"' * 4001, "{" * 5000):
        assert rules.judge(line).verdict == "ask"
