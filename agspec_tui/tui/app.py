"""The application: screens, keys, themes, and a clean end. Everything else is elsewhere."""

import asyncio
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import Screen

from agspec_tui.config import Config
from agspec_tui.errors import ThemeError
from agspec_tui.tui import theme as themes
from agspec_tui.tui.complete import COMMANDS
from agspec_tui.tui.screens.help import HelpScreen
from agspec_tui.tui.screens.main import MainScreen
from agspec_tui.tui.screens.replay import Paced, ReplayScreen
from agspec_tui.tui.source import Source
from agspec_tui.tui.state import UiState
from agspec_tui.tui.switch import Switch
from agspec_tui.tui.text import one_line

CLOSE_S = 10.0
"""Longest wait for the session to close, in seconds; the terminal is given back in any case."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the screen leaves behind."""

    summary: str
    """One line about the last task."""
    exit_code: int
    """0, or 2 or 3 if the session could not be started."""
    then: Switch | None = None
    """What is to be opened next; None for nothing."""


class AgspecApp(App[Outcome]):
    """A terminal workspace on one source."""

    TITLE = "agspec-tui"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f4", "next_theme", "Theme", key_display="F4"),
        Binding("f1", "help", "Help", key_display="F1"),
        Binding("ctrl+q", "quit", "Quit", key_display="^q", priority=True),
        Binding("question_mark", "help", show=False),
        Binding("t", "next_theme", show=False),
        Binding("q", "quit", show=False),
        Binding("f6", "release_mouse", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False),  # in the prompt it takes typing back
    ]
    PAUSE_GC_ON_SCROLL = True

    def __init__(
        self,
        source: Source,
        *,
        repo: Path,
        model: str,
        theme: str = themes.DEFAULT,
        issue: str = "",
        replay: Paced | None = None,
        config: Config | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._source = source
        self._repo = repo.resolve()
        self._wanted_theme = theme
        self._issue = issue
        self._replay = replay
        self._config = config
        self._then: Switch | None = None
        self._clock = clock
        self._source_closed = False
        self._mouse = True
        self._own_themes: list[str] = []
        self.state = UiState(repo=repo.resolve().name or str(repo), model=model)
        self.main: MainScreen | None = None
        for name, text in themes.stylesheets():
            self.stylesheet.add_source(text, read_from=("themes", name), is_default_css=False)

    def get_driver_class(self) -> type[Driver]:
        """The platform's driver, on Unix the one that bears broken input."""
        driver = super().get_driver_class()
        if driver.__name__ != "LinuxDriver":
            return driver
        from agspec_tui.tui.terminal import TolerantDriver  # its base is there on Unix only

        return TolerantDriver

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our semantic colours for whatever theme is on."""
        return themes.derived(self.current_theme)

    def on_mount(self) -> None:
        """Put on the theme and open the main screen."""
        self._use_themes()
        self._catch_signals()
        self.main = (
            MainScreen(
                self._source,
                self.state,
                repo=self._repo,
                issue=self._issue,
                clock=self._clock,
                config=self._config,
            )
            if self._replay is None
            else ReplayScreen(
                self._source, self.state, self._replay, repo=self._repo, clock=self._clock
            )
        )
        self.push_screen(self.main)

    def _use_themes(self) -> None:
        loaded, errors = themes.load_all()
        for theme in loaded:
            self.register_theme(theme)
        self._own_themes = [theme.name for theme in loaded]
        known = self._wanted_theme in self.available_themes
        if not known and not errors:
            hint = f"there are {', '.join(self._own_themes)}"
            errors.append(ThemeError(f"theme {self._wanted_theme} does not exist", hint))
        self.theme = self._wanted_theme if known else themes.DEFAULT
        if errors:
            message = "; ".join(one_line(error.one_line()) for error in errors)
            self.notify(message, title="Theme", severity="warning", timeout=10, markup=False)

    def _catch_signals(self) -> None:
        """A polite kill or a closed terminal ends the session as `q` does."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            try:
                loop.add_signal_handler(number, self.leave)
            except (NotImplementedError, RuntimeError, ValueError):
                return  # no signal handlers on this platform or outside the main thread

    def leave(self) -> None:
        """Close the session and leave, as `q` does."""
        self.run_worker(self.action_quit(), exit_on_error=False)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the palette offers: Textual's own, and ours where the main screen can do them."""
        for one in super().get_system_commands(screen):
            if one.title not in ("Quit", "Keys"):  # ours close the session, and list all keys
                yield one
        for name, (action, about) in COMMANDS.items():
            if name != "theme" and (isinstance(screen, MainScreen) or action.startswith("app.")):
                run = partial(self.run_action, action, screen)
                yield SystemCommand(name.capitalize(), about[:1].upper() + about[1:], run)

    # ── actions ──────────────────────────────────────────────────────────────────────────────────

    def action_help(self) -> None:
        """Open the page of keys, or close it."""
        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss(None)
        else:
            self.push_screen(HelpScreen())

    def action_next_theme(self) -> None:
        """Put on the next of our themes."""
        names = self._own_themes
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self.notify(f"theme {self.theme}", timeout=2, markup=False)

    def action_release_mouse(self) -> None:
        """Let the terminal select and paste with the mouse, or take the mouse back."""
        if self._driver is None or self._driver.is_headless:
            return
        self._mouse = not self._mouse
        switch = "h" if self._mouse else "l"
        for mode in (1000, 1003, 1015, 1006):
            self._driver.write(f"\x1b[?{mode}{switch}")
        self._driver.flush()
        whose = "the app" if self._mouse else "the terminal; F6 takes it back"
        self.notify(f"the mouse belongs to {whose}", timeout=3, markup=False)

    async def action_quit(self) -> None:
        """Close the session, then leave."""
        await self._close_source()
        if self.main is not None:
            self.main.bridge.pump()  # what no frame has shown yet counts as well
        self.exit(self._outcome(), return_code=self.main.exit_code if self.main else 0)

    async def on_unmount(self) -> None:
        """However the app ends, the session is closed."""
        await self._close_source()

    async def _close_source(self) -> None:
        if self._source_closed:
            return
        self._source_closed = True
        self.state.activity = "closing"
        if self.main is not None:
            closing = asyncio.wait_for(self._source.close(), CLOSE_S)
            await self.main.bridge.attempt(closing, quiet=True)

    @on(MainScreen.SwitchChosen)
    async def _leave_for(self, message: MainScreen.SwitchChosen) -> None:
        """Close the session, and leave for what was chosen."""
        self._then = message.switch
        await self.action_quit()

    def _outcome(self) -> Outcome:
        if self._then is not None:
            return Outcome("", 0, self._then)
        code = self.main.exit_code if self.main else 0
        finished = self.state.finished
        if finished is None:
            return Outcome("no task was finished", code)
        status = finished.status.replace("_", " ")
        first = one_line(finished.summary.strip().split("\n")[0])
        return Outcome(f"{status}: {first}" if first else status, code)
