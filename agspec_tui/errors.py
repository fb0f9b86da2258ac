"""Errors a user may see: one line that says what is wrong, and a hint that says what to do.

Anything that is not an `AgspecError` is a bug; it goes to the log with its traceback.
"""


class AgspecError(Exception):
    """The root. `message` is one line; `hint` says what the user can do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def one_line(self) -> str:
        """The error as it is printed: `message (hint)`, never more than one line."""
        text = f"{self.message} ({self.hint})" if self.hint else self.message
        return " ".join(text.split())


class UsageError(AgspecError):
    """The command line or the input is wrong. Exit code 2."""


class ConfigError(AgspecError):
    """A configuration file or key is wrong. Exit code 2."""


class RoleError(AgspecError):
    """A role or team file under `agents/` is wrong. Exit code 2."""


class ThemeError(AgspecError):
    """A theme file is wrong; the screen falls back to the default theme."""


class ModelError(AgspecError):
    """A model is unknown, missing, damaged, or does not fit. Exit code 2."""


class EngineError(AgspecError):
    """The engine process failed or refused a request. Exit code 3 when nothing can go on."""


class DraftError(AgspecError):
    """A drafter or policy is unknown or was given values out of range. Exit code 2."""


class EditError(AgspecError):
    """An edit was refused; the message names the file and the place, `detail` the real lines."""

    def __init__(self, message: str, hint: str = "", detail: str = "") -> None:
        super().__init__(message, hint)
        self.detail = detail

    def report(self) -> str:
        """The refusal as the coder is told it: message, hint and detail, at most 20 lines."""
        parts = (self.message, self.hint, self.detail)
        return "\n".join("\n".join(part for part in parts if part).splitlines()[:20])


class ToolError(AgspecError):
    """A command or a file operation could not be carried out."""


class StoreError(AgspecError):
    """A stored session is missing, damaged, in use, or of another program. Exit code 2."""
