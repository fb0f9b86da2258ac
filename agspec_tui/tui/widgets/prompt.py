"""The prompt: Enter sends, Ctrl+J breaks the line, Up on an empty prompt brings back older ones.

`@` offers files and a leading `/` commands.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events, on
from textual.message import Message
from textual.widgets import TextArea

from agspec_tui.tui.complete import offered, wanted
from agspec_tui.tui.widgets.completion import Completion

QUIT_AFTER_S = 0.4
"""A lone `q` quits after this long, so that a sentence may still begin with q."""
_NEWLINE_KEYS = frozenset({"ctrl+j", "shift+enter", "ctrl+enter", "alt+enter"})
_SCROLL_KEYS = {"pageup": -1, "pagedown": 1}


class Prompt(TextArea):
    """A growing text field with history."""

    @dataclass
    class Submitted(Message):
        """The user sends `text`."""

        text: str
        """What was typed, without white space around it."""

    @dataclass
    class Scrolled(Message):
        """The user wants the transcript to move."""

        pages: int = 0
        """Pages to move; up is negative."""
        lines: int = 0
        """Lines to move; up is negative."""

    class Follow(Message):
        """The user wants the end of the transcript."""

    class FilesWanted(Message):
        """The name of a file begins here: `paths` may be old."""

    class QuitTyped(Message):
        """A lone `q` was typed and nothing followed."""

    def __init__(self, completion: Completion, *, id: str | None = None) -> None:
        super().__init__(
            id=id,
            soft_wrap=True,
            tab_behavior="focus",
            compact=True,
            highlight_cursor_line=False,
            placeholder="Describe the issue, Enter starts",
        )
        self.cursor_blink = False
        self.paths: Sequence[str] = ()
        """Files that `@` offers, relative to the repository; see `renew`."""
        self._completion = completion
        self._offered_for = ""  # the text before the cursor that the offered completions fit
        self._hidden_for = ""  # the text for which completions were sent away
        self._history: list[str] = []
        self._at: int | None = None

    async def _on_key(self, event: events.Key) -> None:
        if self._handled(event.key):
            event.stop()
            event.prevent_default()
            return
        lone_q = event.character == "q" and not self.text
        await super()._on_key(event)
        if lone_q:
            self.set_timer(QUIT_AFTER_S, self._quit_if_alone)

    def _handled(self, key: str) -> bool:
        if self._completion.is_open and self._completing(key):
            return True
        if key == "enter":
            self._submit()
        elif key in _NEWLINE_KEYS:
            self.insert("\n")
        elif key in _SCROLL_KEYS:
            self.post_message(self.Scrolled(pages=_SCROLL_KEYS[key]))
        elif key == "end" and not self.text:
            self.post_message(self.Follow())
        elif key == "up" and self._may_browse():
            self._browse(-1)
        elif key == "down" and self._may_browse():
            self._browse(1)
        else:
            return False
        return True

    def _completing(self, key: str) -> bool:
        """Move in the completions, take one, or send them away."""
        if key in ("up", "down"):
            self._completion.move(1 if key == "down" else -1)
        elif key in ("tab", "enter"):
            return self._complete(key)
        elif key == "escape":
            self._hidden_for = self._before_cursor()
            self._completion.offer([])
        else:
            return False
        return True

    def _complete(self, key: str) -> bool:
        """Take the chosen name; Enter on a whole command sends it."""
        if self._offered_for != self._before_cursor():
            self._offer()  # keys came faster than their changes were told
        if not self._completion.is_open:
            return False
        want, name = wanted(self._before_cursor()), self._completion.chosen
        self._completion.offer([])
        if want is None or (key == "enter" and want.typed == name):
            return False
        row, column = self.cursor_location
        self.replace(name, (row, column - len(want.typed)), (row, column))
        if want.kind == "file":
            self.insert(" ")
        else:
            self._hidden_for = self._before_cursor()
        return True

    def _before_cursor(self) -> str:
        return self.get_text_range((0, 0), self.cursor_location)

    @on(TextArea.Changed)
    @on(TextArea.SelectionChanged)
    def _offer(self) -> None:
        """Offer what could be meant at the cursor."""
        before = self._offered_for = self._before_cursor()
        want = None if before == self._hidden_for else wanted(before)
        self._completion.offer([] if want is None else offered(want, self.paths))
        if want is not None and want == ("file", ""):
            self.post_message(self.FilesWanted())

    def renew(self, paths: Sequence[str]) -> None:
        """Offer these files from now on, also where one is being named."""
        changed, self.paths = paths != self.paths, paths
        if changed and self.has_focus:
            self._offer()

    def _submit(self) -> None:
        text = self.text.strip()
        if not text:
            return
        if not self._history or self._history[-1] != text:
            self._history.append(text)
        self._at = None
        self.text = ""
        self.post_message(self.Submitted(text))

    def _may_browse(self) -> bool:
        if not self.text:
            return True
        return self._at is not None and self.text == self._history[self._at]

    def _browse(self, step: int) -> None:
        at = (len(self._history) if self._at is None else self._at) + step
        if at < 0 or not self._history:
            return
        self._at = at if at < len(self._history) else None
        self.text = "" if self._at is None else self._history[self._at]
        self.move_cursor(self.document.end)

    def _quit_if_alone(self) -> None:
        if self.text == "q" and self.has_focus:
            self.text = ""
            self.post_message(self.QuitTyped())

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Scrolled(lines=-3))

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Scrolled(lines=3))
