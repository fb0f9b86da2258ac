"""What the main screen opens over itself: other screens, and the person's editor."""

from pathlib import Path

from textual import on
from textual.app import SuspendNotSupported
from textual.message import Message
from textual.screen import Screen

from agspec_tui.config import Config
from agspec_tui.errors import UsageError
from agspec_tui.session.editor import edited, editor
from agspec_tui.tui.bridge import Severity
from agspec_tui.tui.screens.log import LogScreen
from agspec_tui.tui.screens.models import ModelsScreen
from agspec_tui.tui.screens.provenance import ProvenanceScreen
from agspec_tui.tui.screens.sessions import SessionsScreen
from agspec_tui.tui.screens.speculation import SpeculationScreen
from agspec_tui.tui.state import UiState
from agspec_tui.tui.switch import Switch
from agspec_tui.tui.text import one_line
from agspec_tui.tui.widgets.prompt import Prompt
from agspec_tui.tui.widgets.transcript import Transcript


class Openers(Screen[None]):
    """A screen with a transcript and a prompt."""

    class SwitchChosen(Message):
        """Something else is to be opened in place of this session."""

        def __init__(self, switch: Switch) -> None:
            super().__init__()
            self.switch = switch
            """What."""

    def __init__(self, state: UiState, repo: Path, config: Config | None = None) -> None:
        """Make one.

        Args:
            state: what is drawn.
            repo: the repository.
            config: settings of the session; None where a recording is shown.
        """
        super().__init__()
        self._state = state
        self._repo = repo
        self._config = config

    def alert(self, message: str, severity: Severity) -> None:
        """Show a notification; its text is foreign, so markup is off."""
        self.app.notify(one_line(message), severity=severity, markup=False)

    def action_speculation(self) -> None:
        """Open all charts and the table of counts."""
        self.app.push_screen(SpeculationScreen(self._state))

    def action_log(self) -> None:
        """Open the log."""
        self.app.push_screen(LogScreen())

    def action_sessions(self) -> None:
        """Open the list of stored sessions."""
        self.app.push_screen(SessionsScreen(busy=self._state.working), self._switch)

    def action_models(self) -> None:
        """Open the list of models."""
        if self._config is None:
            self.alert("this is a recording; it has no model", "information")
            return
        screen = ModelsScreen(self._config, self._state.model, busy=self._state.working)
        self.app.push_screen(screen, self._switch)

    def _switch(self, switch: Switch | None) -> None:
        if switch is not None:
            self.post_message(self.SwitchChosen(switch))

    async def action_editor(self) -> None:
        """Write the message in the person's own editor, in place of the screen."""
        if not editor():
            self.alert("no editor is known; set VISUAL or EDITOR", "warning")
            return
        prompt = self.query_one(Prompt)
        try:
            with self.app.suspend():
                text = await edited(prompt.text, (), lambda: False, "message.md")
        except SuspendNotSupported:
            self.alert("this terminal cannot be lent to an editor", "warning")
        except UsageError as error:
            self.alert(error.one_line(), "error")
        else:
            prompt.text = text.strip()
            prompt.move_cursor(prompt.document.end)
            prompt.focus()

    def action_provenance(self) -> None:
        """Show where the newest accepted text in view was copied from."""
        transcript = self.query_one("#transcript", Transcript)
        self._open_provenance(transcript.newest_in_view(transcript.marked()))

    @on(Transcript.OriginChosen)
    def _origin_chosen(self, message: Transcript.OriginChosen) -> None:
        runs = self.query_one("#transcript", Transcript).marked()
        self._open_provenance(
            next((at for at, run in enumerate(runs) if run.origin is message.origin), -1)
        )

    def _open_provenance(self, at: int) -> None:
        transcript = self.query_one("#transcript", Transcript)
        runs = transcript.marked()
        if at < 0:
            self.alert("no accepted draft is in view", "information")
            return
        paths = self.query_one(Prompt).paths
        self.app.push_screen(ProvenanceScreen(self._repo, runs, at, transcript.texts, paths))
