import json

import psutil
import pytest

from tests.engine.faults import strike
from tests.session.scripted import FIXED, TESTS, make_repo, plan, whole
from tests.tui.test_terminal import Terminal, assert_sane


class Workspace(Terminal):
    """The real program in a terminal, with a scripted model."""

    def __init__(self, *arguments):
        super().__init__(*arguments, module="agspec_tui")

    def engine(self):
        """The engine process."""
        (child,) = psutil.Process(self.child.pid).children()
        return child.pid


@pytest.mark.parametrize("fault", ["SIGKILL", "SIGSEGV"])
def test_the_screen_tells_of_a_dead_engine_and_the_task_goes_on(tmp_path, fault):
    repo = make_repo(tmp_path / "repo")
    path = tmp_path / "script.json"
    replies = [plan("calc.py"), whole("calc.py", FIXED), "PASS"]
    path.write_text(json.dumps({"replies": replies, "step_delay_s": 0.1}))
    terminal = Workspace(
        str(repo), "--model", f"scripted:{path}", "--test", TESTS, "--issue", "wrong sum"
    )
    terminal.wait_for(lambda shown: "planning" in shown, 60)
    pid = terminal.engine()
    strike(pid, fault)
    terminal.wait_for(lambda shown: "the engine runs again" in shown)
    terminal.wait_for(lambda shown: "Write this change?" in shown, 60)
    terminal.wait_for(lambda shown: "y / Enter" in shown)
    terminal.read(1.0)
    terminal.child.send("y")
    terminal.wait_for(lambda shown: "fixed in" in shown, 60)
    assert (repo / "calc.py").read_text() == FIXED
    terminal.child.send("\x11")
    assert terminal.leave() == 0
    assert_sane(terminal, outcome="")
    assert not psutil.pid_exists(pid)
