"""The one way in which commands run: permission, sandbox, limits, and no secret in the output."""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import replace
from os.path import lexists
from pathlib import Path

from agspec_tui.config import CommandRules, Config
from agspec_tui.errors import ToolError
from agspec_tui.events import Event, Warned
from agspec_tui.session.approval import Approvals
from agspec_tui.session.confine import SETUP_FAILED, SETUP_MESSAGE
from agspec_tui.session.own_settings import NAME, narrower, read_own_settings
from agspec_tui.session.permission import Permissions
from agspec_tui.session.redaction import mask, read_secrets
from agspec_tui.session.runner import CommandResult, run
from agspec_tui.session.sandbox import AGENT_VARIABLES, Places, Sandbox, find_sandbox
from agspec_tui.session.testing import TestCommand


def open_gate(
    root: Path, config: Config, approvals: Approvals, publish: Callable[[Event], object]
) -> "CommandGate":
    """What commands run through, by the user's settings and the repository's own.

    The mode of `approvals` becomes the stricter of the user's and the repository's.
    """
    own = read_own_settings(root)
    hint = "a repository can only narrow what your own settings allow"
    for key in own.ignored:
        publish(Warned(message=f"{NAME}: {key} is ignored", hint=hint))
    if own.problem:
        publish(Warned(message=f"{NAME}: {own.problem}", hint="edits and commands are asked about"))
    approvals.mode = narrower(approvals.mode, own.approve)
    gate = CommandGate(root, approvals, publish, user=config.commands, own=own.commands)
    if gate.sandbox.kind == "none":
        reason = f"commands run without a sandbox ({gate.sandbox.reason})"
        publish(Warned(message=reason, hint="those that may do harm are asked about"))
    return gate


class CommandGate:
    """Runs the commands of one session."""

    def __init__(
        self,
        root: Path,
        approvals: Approvals,
        publish: Callable[[Event], object],
        *,
        user: CommandRules,
        own: CommandRules,
        sandbox: Sandbox | None = None,
    ) -> None:
        """Set up; nothing runs yet.

        Args:
            root: the resolved root of the repository.
            approvals: asks the user.
            publish: puts an event on the bus.
            user: the user's rules about commands.
            own: the repository's rules, which only narrow.
            sandbox: what confines commands; None for the best there is.
        """
        self.sandbox = sandbox or find_sandbox()
        """What confines commands."""
        self._root = root
        self._approvals = approvals
        self._publish = publish
        self._permissions = Permissions(root, user, own)
        self._trusted: set[str] = set()
        self._warned: set[str] = set()

    async def run_tests(
        self, test: TestCommand, timeout_s: float, *, turn: int = 0, copy: Path | None = None
    ) -> CommandResult:
        """Run the test command, for which a sandbox is permission enough.

        Without a sandbox a command that the user gave runs all the same; one that was found in
        the repository is asked about once. The rules `deny` and `ask` hold for both.

        Args:
            test: the command.
            timeout_s: time limit in seconds.
            turn: the turn it belongs to.
            copy: a copy of the repository to run it in; None for the repository itself. In a
                sandbox the command finds it where the repository is.

        Raises:
            ToolError: a rule denies it, it could not be started, or the user said no.
            Interrupted: the user stopped the task.
        """
        found = await asyncio.to_thread(self._permissions.ruled, test.display)
        if found.verdict == "deny":
            reason = f"`{test.display}` was not run: {found.reason}"
            raise ToolError(reason, "change the rule, or --test CMD")
        is_bare = self.sandbox.kind == "none" and test.kind != "given"
        if is_bare or found.verdict == "ask":
            reason = found.reason or "it runs without a sandbox"
            await self._confirm(test.display, reason, turn, "executor")
        return await self._run(test.argv, test.display, timeout_s, copy)

    async def run_line(self, line: str, timeout_s: float, *, turn: int, role: str) -> CommandResult:
        """Run a command line that a role wants to run.

        No role of the team has commands of its own: what runs in a task is the test command.

        Args:
            line: the line, for the shell.
            timeout_s: time limit in seconds.
            turn: the turn it belongs to.
            role: who wants it.

        Raises:
            ToolError: it is denied, the user said no, or it could not be started.
            Interrupted: the user stopped the task.
        """
        found = await asyncio.to_thread(self._permissions.judge, line)
        if found.verdict == "deny":
            raise ToolError(f"`{line}` was not run: {found.reason}", "do without this command")
        if found.verdict == "ask":
            if self._approvals.mode == "plan-only":
                raise ToolError(f"`{line}` was not run: {found.reason}", "only a plan is made")
            bare = self.sandbox.kind == "none"
            reason = f"{found.reason}; there is no sandbox" if bare else found.reason
            await self._confirm(line, reason, turn, role)
        return await self._run(line, line, timeout_s)

    async def _confirm(self, command: str, reason: str, turn: int, role: str) -> None:
        """Go on if the user says yes to a command, once for each command.

        Raises:
            ToolError: the user said no.
        """
        if command in self._trusted:
            return
        if not await self._approvals.ask_command(command, reason, turn, role):
            raise ToolError(f"`{command}` was not run: you said no", "do without this command")
        self._trusted.add(command)

    async def _run(
        self,
        command: str | tuple[str, ...],
        shown: str,
        timeout_s: float,
        copy: Path | None = None,
    ) -> CommandResult:
        secrets = await asyncio.to_thread(read_secrets, self._root)
        if not secrets.is_complete:
            self._warn_once("not all secret files were read", "values of the rest are not masked")
        root = self._root
        has_git = lexists(root / ".git")
        with tempfile.TemporaryDirectory(prefix="agspec-", ignore_cleanup_errors=True) as temp:
            keeps_root = self._approvals.mode == "plan-only"
            places = Places(root, Path(temp).resolve(), keeps_root=keeps_root, copy=copy)
            is_confined = self.sandbox.kind != "none"
            done = await run(
                command,
                root if is_confined or copy is None else copy,
                timeout_s,
                places.environment() if is_confined else None,
                without=AGENT_VARIABLES if is_confined else (),
                confined=lambda argv: self.sandbox.wrap(argv, places),
                masked=lambda text: mask(text, secrets.values),
            )
        self._refuse_failed_sandbox(done)
        if not has_git and lexists(root / ".git"):
            message = f"`{shown}` made {root / '.git'}"
            hint = "its settings may name programs that git runs: look at it, or remove it"
            self._publish(Warned(message=message, hint=hint))
        if done.timed_out:
            self._publish(
                Warned(
                    message=f"`{shown}` ran past {timeout_s:g} s and was ended",
                    hint="give a command that ends by itself, or raise test_timeout_s",
                )
            )
        return replace(done, command=shown)

    def _refuse_failed_sandbox(self, done: CommandResult) -> None:
        """Tell a command that did not run from one that failed.

        Raises:
            ToolError: the sandbox could not be set up.
        """
        is_ours = done.exit_code == SETUP_FAILED and done.output.startswith(SETUP_MESSAGE)
        is_bubblewrap = done.exit_code == 1 and done.output.startswith("bwrap: ")
        failed = {"namespaces": is_ours, "bubblewrap": is_bubblewrap, "none": False}
        if failed[self.sandbox.kind]:
            raise ToolError(
                f"the command was not run: {done.output.strip().splitlines()[0]}",
                "the files of the repository may lie where no sandbox can be made",
            )

    def _warn_once(self, message: str, hint: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            self._publish(Warned(message=message, hint=hint))
