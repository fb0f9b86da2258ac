"""Runs the app on a recording in a real terminal: `python -m tests.tui.run_recorded FILE SPEED`.

`--no-mouse` leaves the mouse to the terminal; `--crash` has the app fail after a second.
"""

import sys
from pathlib import Path

from agspec_tui.session.recorded import RecordedSession
from agspec_tui.tui.app import AgspecApp


def fail() -> None:
    """What no code of the app is meant to do."""
    raise ZeroDivisionError("on purpose")


def main() -> int:
    """Replay the file; prints the outcome after the screen has closed."""
    source = RecordedSession(Path(sys.argv[1]), float(sys.argv[2]))
    app = AgspecApp(source, repo=Path("durations"), model="recorded")
    if "--crash" in sys.argv:
        app.call_later(app.set_timer, 1.0, fail)
    outcome = app.run(mouse="--no-mouse" not in sys.argv)
    if outcome is None:
        return 1
    print(f"outcome: {outcome.summary}")
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main())
