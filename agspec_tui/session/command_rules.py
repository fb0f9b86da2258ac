"""Which programs an agent may run unasked, and which never: data, with the reasons beside it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Safe:
    """A program that only reads, and the arguments that keep it so."""

    words: str
    """Program and subcommand, with spaces between."""
    options: str = ""
    """Options it may have, with spaces between; `-#` stands for a number."""
    n_operands: int = -1
    """Most operands; −1 for any number."""
    first: str = ""
    """What the first operand must match as a whole, as a regular expression; empty for all."""


_PRINT = "--no-color --color --color=never"
_GIT = f"{_PRINT} --no-ext-diff --no-textconv --stat --shortstat --numstat --name-only"
_GIT += " --name-status"
_GIT_LOG = f"{_GIT} -# -n -p -U --patch --oneline --graph --decorate --all --max-count --format"
_GIT_LOG += " --pretty --since --until --author --grep --no-merges --follow --reverse --date"

SAFE = (
    Safe("basename"),
    Safe("cat", "-A -b -e -E -n -s -t -T -v --number"),
    Safe("cmp", "-b -l -s"),
    Safe("comm", "-1 -2 -3"),
    Safe("cut", "-b -c -d -f -s --complement"),
    Safe("diff", f"-a -b -B -c -i -N -q -s -u -U -w -y {_PRINT} --brief --unified"),
    Safe("dirname"),
    Safe("du", "-a -b -c -d -h -k -m -s --max-depth"),
    Safe("echo", "-n"),
    Safe("false"),
    Safe("file", "-b -i --mime-type"),
    Safe(
        "find",
        "-name -iname -path -ipath -type -maxdepth -mindepth -size -newer -mtime -mmin -not -o -a"
        " -print -print0 -empty -prune -regex -iregex",
    ),
    Safe("fold", "-s -w"),
    Safe("git blame", f"{_GIT} -L -w -M -C -s"),
    Safe("git branch", f"{_PRINT} -a -r -v -vv --all --list --show-current --contains", 0),
    Safe("git describe", "--tags --always --dirty --abbrev"),
    Safe("git diff", f"{_GIT} -b -w -U -M --cached --staged --check --unified --word-diff"),
    Safe("git log", _GIT_LOG),
    Safe("git ls-files", "-c -d -m -o -s -t -z --exclude-standard --others --cached --modified"),
    Safe("git rev-parse", "--show-toplevel --abbrev-ref --short --verify"),
    Safe("git show", _GIT_LOG),
    Safe("git status", "-s -b -u --short --branch --porcelain --untracked-files"),
    Safe("grep", f"-# -a -c -e -h -H -i -l -L -m -n -o -q -s -v -w -x -A -B -C -E -F {_PRINT}"),
    Safe("head", "-# -c -n -q -v --lines --bytes"),
    Safe("ls", f"-# -a -A -d -F -g -G -h -i -l -o -p -r -R -s -S -t -u -X {_PRINT}"),
    Safe("nl", "-b -n -w -s"),
    Safe("pwd", "-L -P"),
    Safe("rev"),
    Safe("sed", "-n -E -r", first=r"(\d+|\$)(,(\d+|\$))?p"),
    Safe("seq", "-s -w"),
    Safe("sort", "-b -d -f -g -h -i -k -n -r -s -t -u -V"),
    Safe("stat", "-c --format"),
    Safe("tac"),
    Safe("tail", "-# -c -n -q -v --lines --bytes"),
    Safe("tr", "-c -d -s"),
    Safe("tree", "-a -d -f -i -L -I -P --noreport --dirsfirst"),
    Safe("true"),
    Safe("type"),
    Safe("uniq", "-c -d -f -i -s -u -w", 1),
    Safe("wc", "-c -l -L -m -w --lines --words --bytes"),
    Safe("which", "-a"),
)
"""What runs unasked. Left out on purpose: recursive searches, which read secret files too; `cd`,
after which paths mean other files; whatever shows the environment or runs another program."""

NEVER = {
    "chroot": "changes the root",
    "dd": "writes to devices",
    "doas": "becomes another user",
    "fdisk": "writes to devices",
    "halt": "stops the machine",
    "kill": "ends processes of others",
    "killall": "ends processes of others",
    "killall5": "ends processes of others",
    "mkfs": "writes to devices",
    "mount": "changes what is mounted",
    "pkexec": "becomes another user",
    "pkill": "ends processes of others",
    "poweroff": "stops the machine",
    "reboot": "stops the machine",
    "shutdown": "stops the machine",
    "skill": "ends processes of others",
    "slay": "ends processes of others",
    "su": "becomes another user",
    "sudo": "becomes another user",
    "systemctl": "controls services",
    "umount": "changes what is mounted",
    "xkill": "ends processes of others",
}
"""Programs that no agent may run unless the user's own settings say so, and why."""

CARRIERS = frozenset(
    {
        "builtin",
        "busybox",
        "chrt",
        "command",
        "env",
        "exec",
        "find",
        "flock",
        "ionice",
        "nice",
        "nohup",
        "parallel",
        "setsid",
        "stdbuf",
        "taskset",
        "time",
        "timeout",
        "watch",
        "xargs",
    }
)
"""Programs that run another one, which their arguments name."""
