import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pyte
import pytest

from tests.tui.driving import FIXED

ROOT = Path(__file__).parents[2]
ROWS, COLUMNS = 40, 120


class Terminal:
    """A child on a pseudo terminal, and what a person at it would see."""

    def __init__(self, *arguments: str, module: str = "tests.tui.run_recorded") -> None:
        env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        # COLUMNS and LINES of the process that runs the tests would outweigh the terminal's own.
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            env.pop(name, None)
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", module, *arguments],
            cwd=str(ROOT),
            env=env,
            dimensions=(ROWS, COLUMNS),
            encoding="utf-8",
            codec_errors="replace",
            timeout=30,
        )
        self.raw = ""
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self._screen)

    def read(self, seconds: float) -> None:
        """Take in what the child prints for a while, or until it is gone."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                part = self.child.read_nonblocking(65536, timeout=0.1)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                return
            self.raw += part
            # pyte does not know the sequences with private markers that Textual sends.
            self._stream.feed(re.sub(r"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p", "", part))

    def resize(self, rows: int, columns: int) -> None:
        """Make the terminal larger or smaller."""
        self._screen.resize(rows, columns)
        self._screen.reset()
        self.child.setwinsize(rows, columns)

    def shown(self) -> str:
        return "\n".join(self._screen.display)

    def wait_for(self, seen: Callable[[str], bool], seconds: float = 30) -> str:
        """Read until the screen shows something."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.2)
            if seen(self.shown()):
                return self.shown()
        raise AssertionError(f"not seen:\n{self.shown()}")

    def leave(self) -> int:
        """Read to the end; returns the exit code."""
        self.read(20)
        self.child.close()
        return self.child.exitstatus


def modes(raw: str) -> dict[str, bool]:
    """The last state of every private terminal mode that was touched."""
    found: dict[str, bool] = {}
    for numbers, switch in re.findall(r"\x1b\[\?([0-9;]+)([hl])", raw):
        for number in numbers.split(";"):
            found[number] = switch == "h"
    return found


MOUSE = ("1000", "1003", "1006", "1015")


def assert_sane(terminal: Terminal, outcome: str = "outcome:") -> None:
    """Alternate screen left, cursor shown, mouse, paste and focus reports off, echo on."""
    state = modes(terminal.raw)
    assert state["1049"] is False
    assert state["25"] is True
    assert not any(state.get(mode, False) for mode in (*MOUSE, "2004", "1004"))
    screen, _, tail = terminal.raw.rpartition("\x1b[?1049l")
    assert "Traceback" not in tail
    assert outcome in tail
    if outcome:  # a real session shows the tracebacks of failing tests
        assert "Traceback" not in screen


@pytest.mark.parametrize("flags", [(), ("--no-mouse",)])
def test_the_screen_paints_and_q_leaves_the_terminal_as_it_was(flags):
    terminal = Terminal(str(FIXED), "inf", *flags)
    parts = ("durations", "accept length", "α drift", "rejected tokens per turn", "tok/s")
    # The terminal gets the screen row by row, so one part says nothing about the others.
    terminal.wait_for(lambda shown: all(part in shown for part in (*parts, "fixed in")))
    assert modes(terminal.raw)["1049"] is True
    assert modes(terminal.raw).get("1000", False) is not bool(flags)
    terminal.child.send("q")
    assert terminal.leave() == 0
    assert_sane(terminal)


def test_numbers_move_while_the_replay_runs_and_a_question_can_be_answered():
    terminal = Terminal(str(FIXED), "5")
    terminal.wait_for(lambda shown: "planning" in shown)
    terminal.wait_for(lambda shown: "Write this change?" in shown)
    terminal.wait_for(lambda shown: "y / Enter" in shown)
    terminal.child.send("y")
    terminal.wait_for(lambda shown: "turn 3" in shown or "turn 4" in shown)
    terminal.child.send("\x11")
    assert terminal.leave() == 0
    assert_sane(terminal)


@pytest.mark.parametrize("ignored", [False, True], ids=["", "SIGHUP ignored"])
def test_a_terminal_that_is_gone_ends_the_app(ignored, tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN) if ignored else None
    try:
        terminal = Terminal(str(FIXED), "5")
    finally:
        if ignored:
            signal.signal(signal.SIGHUP, before)
    terminal.wait_for(lambda shown: "planning" in shown)
    os.close(terminal.child.child_fd)  # as a window that is closed, or a connection that is lost
    began = time.monotonic()
    while os.waitpid(terminal.child.pid, os.WNOHANG) == (0, 0):
        assert time.monotonic() - began < 15
        time.sleep(0.1)
    terminal.child.child_fd, terminal.child.terminated, terminal.child.closed = -1, True, True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(number):
    terminal = Terminal(str(FIXED), "inf")
    terminal.wait_for(lambda shown: "fixed in" in shown)
    terminal.child.kill(number)
    assert terminal.leave() == 0
    assert_sane(terminal)


def test_the_mouse_can_be_given_to_the_terminal_and_taken_back():
    terminal = Terminal(str(FIXED), "inf")
    terminal.wait_for(lambda shown: "fixed in" in shown)
    terminal.child.send("\x1b[17~")
    terminal.wait_for(lambda _: not any(modes(terminal.raw)[mode] for mode in MOUSE))
    terminal.child.send("\x1b[17~")
    terminal.wait_for(lambda _: all(modes(terminal.raw)[mode] for mode in MOUSE))
    terminal.child.send("\x11")
    assert terminal.leave() == 0
    assert_sane(terminal)


# The last one is what tmux sends when it is attached to again: focus and the terminal's attributes.
@pytest.mark.parametrize(
    "junk",
    [
        *(b"\x1b[M\xa0\xb5\xb5", b"\xff\xfe", b"\x1b[<35;1"),
        b"\x1b[O\x1b[I\x1b[?1;2c\x1b[>84;0;0c\x1bP>|tmux 3.3a\x1b\\\x1b[?2026;2$y",
    ],
)
def test_broken_input_bytes_do_not_end_the_app(junk):
    terminal = Terminal(str(FIXED), "inf")
    terminal.wait_for(lambda shown: "fixed in" in shown)
    os.write(terminal.child.fileno(), junk)
    terminal.read(1.0)
    terminal.child.send("\x11")
    assert terminal.leave() == 0
    assert_sane(terminal)


def stopped(terminal: Terminal) -> bool:
    return Path(f"/proc/{terminal.child.pid}/stat").read_text().rpartition(") ")[2][0] == "T"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
@pytest.mark.parametrize("way", ["Ctrl+Z", "SIGTSTP"])
def test_it_can_be_suspended_and_goes_on(way):
    terminal = Terminal(str(FIXED), "inf")
    terminal.wait_for(lambda shown: "fixed in" in shown)
    for keys in ("\t\x1a", "\x1a"):  # in the prompt it would take typing back
        if way == "Ctrl+Z":
            terminal.child.send(keys)
        else:
            terminal.child.kill(signal.SIGTSTP)
        terminal.wait_for(lambda _: stopped(terminal))
        state = modes(terminal.raw)
        assert (state["1049"], state["25"]) == (False, True)
        assert not any(state.get(mode, False) for mode in (*MOUSE, "2004", "1004"))
        terminal.raw = ""
        terminal.child.kill(signal.SIGCONT)
        terminal.wait_for(lambda _: modes(terminal.raw).get("1049", False))
        terminal.wait_for(lambda shown: "fixed in" in shown)
    terminal.child.send("\x11")
    assert terminal.leave() == 0
    assert_sane(terminal)


def test_a_resize_folds_the_panels_and_unfolds_them():
    terminal = Terminal(str(FIXED), "inf")
    terminal.wait_for(lambda shown: "fixed in" in shown and "rejected tokens per turn" in shown)
    terminal.resize(24, 80)
    terminal.wait_for(lambda shown: "fixed in" in shown and "per turn" not in shown)
    terminal.resize(ROWS, COLUMNS)
    terminal.wait_for(lambda shown: "rejected tokens per turn" in shown)
    terminal.child.send("\x11")
    assert terminal.leave() == 0
    assert_sane(terminal)


def test_a_recording_that_is_none_is_told_on_the_screen(tmp_path):
    terminal = Terminal(str(tmp_path / "none.jsonl"), "inf")
    terminal.wait_for(lambda shown: "No such file" in shown and "one JSON event a line" in shown)
    terminal.child.send("q")
    assert terminal.leave() == 2
    assert_sane(terminal)


def test_a_crash_leaves_the_terminal_as_it_was_and_says_what_it_was():
    terminal = Terminal(str(FIXED), "inf", "--crash")
    assert terminal.leave() == 1
    state = modes(terminal.raw)
    assert (state["1049"], state["25"]) == (False, True)
    assert not any(state.get(mode, False) for mode in (*MOUSE, "2004", "1004"))
    tail = terminal.raw.rpartition("\x1b[?1049l")[2]
    assert "ZeroDivisionError" in tail
    assert "on purpose" in tail
