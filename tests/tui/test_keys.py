"""Every binding is on the help page, which docs/keys.md quotes."""

import pytest
from textual.binding import Binding

from agspec_tui.tui.app import AgspecApp
from agspec_tui.tui.screens.approval import ApprovalScreen, TextApprovalScreen
from agspec_tui.tui.screens.diff_review import DiffScreen
from agspec_tui.tui.screens.help import KEYS
from agspec_tui.tui.screens.main import MainScreen
from agspec_tui.tui.screens.provenance import ProvenanceScreen
from agspec_tui.tui.screens.replay import ReplayScreen
from agspec_tui.tui.screens.speculation import SpeculationScreen
from agspec_tui.tui.widgets.transcript import Transcript

NAMES = {
    "escape": "Esc", "enter": "Enter", "question_mark": "?", "pageup": "PgUp", "pagedown": "PgDn",
    "end": "End", "space": "Space", "full_stop": ".", "plus": "+", "equals_sign": "+", "minus": "−",
    "left": "←", "right": "→", "left_square_bracket": "[", "right_square_bracket": "]",
}  # fmt: skip
SCREENS = [
    AgspecApp, ApprovalScreen, DiffScreen, MainScreen, ProvenanceScreen, ReplayScreen,
    SpeculationScreen, TextApprovalScreen, Transcript,
]  # fmt: skip
SHOWN = {word for _, keys in KEYS for shown, _ in keys for word in shown.replace(",", " ").split()}


def name_of(key):
    if key in NAMES:
        return NAMES[key]
    *held, last = key.split("+")
    return "+".join(
        [part.capitalize() for part in held] + [last.upper() if held or len(key) > 1 else last]
    )


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.__name__)
def test_every_binding_is_on_the_help_page(screen):
    bindings = [one for one in screen.__dict__["BINDINGS"] if isinstance(one, Binding)]
    assert bindings
    for binding in bindings:
        for key in binding.key.split(","):
            assert name_of(key.strip()) in SHOWN, key
