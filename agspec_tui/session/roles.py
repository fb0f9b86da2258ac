"""Roles as data: reads `agents/*.toml`, their prompts and grammars, and `team.toml`.

A role is one TOML file (who it is and what it may do), one Markdown file (its system message) and,
for short controlled replies, one GBNF file. The user's own files win over the built-in ones.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from agspec_tui.commands import SEEDS, Sampling
from agspec_tui.errors import AgspecError, RoleError
from agspec_tui.resources import find
from agspec_tui.session.draws import FIRST, Draw

_File = TypeVar("_File", bound=msgspec.Struct)
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z0-9_]*)\s*\}\}")
_RULE = re.compile(r"^\s*([^\s:#\"\[|()]+)\s*::=", re.MULTILINE)
_LITERAL_OR_SET = re.compile(r'"(?:\\.|[^"\\\n])*"|\[(?:\\.|[^\]\\\n])*\]|#[^\n]*')


_SEEDS_A_DRAW = 1_000_000
"""More than the seeds of all turns and candidates lie apart."""


class RoleSampling(Sampling, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a role's reply is generated: the values of `Sampling`, and its length."""

    max_tokens: int = 1024
    """Most tokens of one reply."""
    retry_temperatures: tuple[float, ...] = ()
    """Temperatures of the attempts behind the first, in order; the last one stays. Empty: all have
    that of the first."""
    n_redraws: int = 0
    """How often a reply that cannot be used is drawn again before that counts as a failed attempt;
    never in the first attempt."""
    redraw_warmth: float = 0.4
    """What each of these draws adds to the temperature."""

    def at(self, turn: int, draw: Draw = FIRST) -> Sampling:
        """How tokens are chosen at a turn: each has seeds of its own, the same in every run.

        Args:
            turn: the turn.
            draw: which of the replies to one task it is.
        """
        values = {name: getattr(self, name) for name in Sampling.__struct_fields__}
        order = (self.temperature, *self.retry_temperatures)
        temperature = order[min(draw.attempt, len(order) - 1)] + self.redraw_warmth * draw.again
        seed = (self.seed + turn + _SEEDS_A_DRAW * draw.again) % SEEDS
        return Sampling(**{**values, "temperature": temperature, "seed": seed})

    def fault(self) -> str:
        """Which value is out of its range, with the range; empty if none is."""
        if self.n_redraws < 0:
            return f"n_redraws is {self.n_redraws}, at least 0"
        if not 0 <= self.redraw_warmth <= 10:
            return f"redraw_warmth is {self.redraw_warmth}: it lies between 0 and 10"
        for temperature in self.retry_temperatures:
            fault = Sampling(temperature=temperature).fault()
            if fault:
                return fault.replace("temperature is", "retry_temperatures has")
        return super().fault()


class Forms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In which edit forms a role may answer."""

    default: str = ""
    """Edit form of the first reply; empty for a role that does not edit."""
    retry: tuple[str, ...] = ()
    """Edit forms after attempts whose replies could not be used, in order; the last one stays."""

    def at(self, n_refused: int) -> str:
        """Edit form after so many such attempts."""
        order = (self.default, *self.retry)
        return order[min(n_refused, len(order) - 1)]

    def in_use(self) -> tuple[str, ...]:
        """Every form once, the default first."""
        return tuple(dict.fromkeys(name for name in (self.default, *self.retry) if name))


class Context(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reply may see besides the issue and the files to change."""

    show: tuple[tuple[str, ...], ...] = ()
    """One list an attempt, the last one stays; of `plan`, `failure`, `tests`, `tried`, and
    `cause`, for which the coder is asked first: it then takes the place of the plan."""

    def at(self, attempt: int) -> frozenset[str]:
        """What an attempt sees, counted from 0."""
        return frozenset(self.show[min(attempt, len(self.show) - 1)]) if self.show else frozenset()


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds that keep a role's prompt and reply small."""

    n_steps: int = 4
    """Most steps of a plan; those after it are dropped."""
    n_files: int = 4
    """Most files of a plan, and most files shown to the coder in full."""
    n_output_lines: int = 40
    """Most lines of test output in a prompt, head and tail together."""
    n_list_lines: int = 120
    """Most lines of the file list in a prompt."""
    n_map_tokens: int = 2048
    """Most tokens of the file list, counted by the model's tokenizer."""
    n_looks: int = 4
    """Most files and searches a role may look at before its reply."""
    n_plain_files: int = 8
    """Source files of a repository up to which no look is offered."""


class Candidates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How several replies to one prompt come to differ."""

    temperature: float = 0.8
    """Temperature of all but the first, which is generated as if it were the only one."""


class Drafting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a role's reply is drafted."""

    enabled: bool = True
    """False decodes this role plainly, whatever drafter is configured."""


class RoleFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `agents/<name>.toml`."""

    schema: int
    """Number of this file format; 1."""
    name: str
    """Name of the role, as the file is called."""
    description: str
    """What the role does, in one sentence."""
    prompt: str
    """Markdown file under `agents/` with the system message."""
    grammar: str = ""
    """GBNF file under `agents/` that constrains the reply; empty for none."""
    look_grammar: str = ""
    """GBNF file under `agents/` for replies that may look at code first; empty for none."""
    sampling: RoleSampling = RoleSampling()
    """How the reply is generated."""
    forms: Forms = Forms()
    """Edit forms, for a role that edits."""
    context: Context = Context()
    """What the prompt shows, attempt by attempt."""
    limits: Limits = Limits()
    """Bounds of prompt and reply."""
    candidates: Candidates = Candidates()
    """How further replies to a prompt are generated, where several are wanted."""
    drafting: Drafting = Drafting()
    """Whether the reply is drafted."""


class TeamFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`agents/team.toml`."""

    schema: int
    """Number of this file format; 1."""
    order: tuple[str, ...]
    """Roles in the order they speak: the planner, the coder, perhaps the reviewer, the executor."""
    max_turns: int = 5
    """Turns the coder gets before the task is handed back."""
    hand_over_after: int = 3
    """Failed turns after which the person is asked whether to go on; 0 for never."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role, loaded and checked."""

    name: str
    """Its name."""
    settings: RoleFile
    """Its TOML file."""
    system: str
    """Its system message, templates filled in; the same for the whole session."""
    grammar: str
    """Its GBNF; empty for none."""
    look_grammar: str = ""
    """GBNF of replies that may look first; empty for none."""


@dataclass(frozen=True, slots=True)
class Team:
    """The roles that work on an issue together."""

    planner: Role
    """Says which files to change, and how."""
    coder: Role
    """Writes the edits."""
    executor: Role
    """Says PASS or FAIL after the tests ran."""
    guide: Role
    """Answers questions; takes no part in an issue."""
    max_turns: int
    """Turns the coder gets."""
    hand_over_after: int = 3
    """Failed turns after which the person is asked; 0 for never."""
    reviewer: Role | None = None
    """Reads an edit before it is written; None if the team has none."""

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles of an issue in the order they speak."""
        reviewer = (self.reviewer,) if self.reviewer else ()
        return (self.planner, self.coder, *reviewer, self.executor)


ROLES = ("planner", "coder", "executor")
WITH_REVIEWER = ("planner", "coder", "reviewer", "executor")
SHOWABLE = ("plan", "failure", "tests", "tried", "cause")


def load_team() -> Team:
    """Read `team.toml` and the roles it names.

    Raises:
        RoleError: a file is missing or wrong; the message names the file and the key.
    """
    team = _decode("team.toml", TeamFile)
    if team.order not in (ROLES, WITH_REVIEWER):
        raise RoleError(
            f"agents/team.toml: order is {', '.join(team.order) or 'empty'}",
            f"the team is {', '.join(ROLES)}, in this order; a reviewer may follow the coder",
        )
    if team.max_turns < 1:
        raise RoleError(f"agents/team.toml: max_turns is {team.max_turns}", "at least 1")
    if team.hand_over_after < 0:
        raise RoleError(
            f"agents/team.toml: hand_over_after is {team.hand_over_after}", "at least 0"
        )
    roles = {name: load_role(name) for name in (*team.order, "guide")}
    return Team(
        planner=roles["planner"],
        coder=roles["coder"],
        executor=roles["executor"],
        guide=roles["guide"],
        max_turns=team.max_turns,
        hand_over_after=team.hand_over_after,
        reviewer=roles.get("reviewer"),
    )


def load_role(name: str) -> Role:
    """Read one role with its prompt and grammar.

    Raises:
        RoleError: a file is missing or wrong; the message names the file and the key.
    """
    where = f"{name}.toml"
    settings = _decode(where, RoleFile)
    _check_values(name, settings)
    limits = {key: str(value) for key, value in msgspec.structs.asdict(settings.limits).items()}
    system = fill(_text(settings.prompt), limits, f"agents/{settings.prompt}").strip()
    return Role(name, settings, system, _grammar(settings.grammar), _grammar(settings.look_grammar))


def fill(template: str, values: Mapping[str, str], where: str) -> str:
    """Replace every `{{ name }}` of a template.

    Raises:
        RoleError: a variable that has no value; the message names the file and the variable.
    """

    def value(match: re.Match[str]) -> str:
        key = match.group(1)
        if key not in values:
            raise RoleError(f"{where}: unknown variable `{key}`", _nearest(key, values))
        return values[key]

    return _VARIABLE.sub(value, template)


def _check_values(name: str, settings: RoleFile) -> None:
    """Refuse values that the types allow and the session does not."""
    where = f"agents/{name}.toml"
    if settings.schema != 1:
        raise RoleError(f"{where}: schema is {settings.schema}", "this version reads schema 1")
    if settings.name != name:
        raise RoleError(f"{where}: name is `{settings.name}`", f"expected `{name}`")
    fault = settings.sampling.fault()
    if fault:
        raise RoleError(f"{where}: sampling.{fault}")
    if settings.sampling.max_tokens < 1:
        raise RoleError(f"{where}: sampling.max_tokens must be at least 1")
    for limit, value in msgspec.structs.asdict(settings.limits).items():
        least = 0 if limit in ("n_looks", "n_plain_files") else 1
        if value < least:
            raise RoleError(f"{where}: limits.{limit} is {value}", f"at least {least}")
    for shown in (item for attempt in settings.context.show for item in attempt):
        if shown not in SHOWABLE:
            raise RoleError(f"{where}: context.show has `{shown}`", f"of {', '.join(SHOWABLE)}")
    if name == "coder" and not settings.forms.default:
        raise RoleError(f"{where}: forms.default is missing", "e.g. default = 'whole'")


def _grammar(name: str) -> str:
    """A grammar file's text, checked; empty without a file."""
    grammar = _text(name) if name else ""
    if grammar:
        _check_grammar(grammar, f"agents/{name}")
    return grammar


def _check_grammar(grammar: str, where: str) -> None:
    """Refuse rule names that llama.cpp cannot read: its sampler would be null and crash."""
    bare = _LITERAL_OR_SET.sub(" ", grammar)
    rules = _RULE.findall(bare)
    for rule in rules:
        if not re.fullmatch(r"[a-zA-Z0-9-]+", rule):
            raise RoleError(f"{where}: rule name `{rule}`", "use letters, digits and `-` only")
    if "root" not in rules:
        raise RoleError(f"{where}: no rule `root`")
    for used in re.findall(r"[A-Za-z_][\w-]*", bare):
        if used not in rules:
            raise RoleError(f"{where}: unknown rule `{used}`", _nearest(used, rules))


def _decode(name: str, kind: type[_File]) -> _File:
    """Read a TOML file of `agents/` into its type."""
    where = f"agents/{name}"
    try:
        data = msgspec.toml.decode(_text(name))
    except msgspec.DecodeError as error:
        raise RoleError(f"{where}: not TOML: {error}") from error
    _check_keys(data, kind, where, "")
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise RoleError(f"{where}: {str(error).replace('`$.', '`')}") from error


def _check_keys(data: object, kind: object, where: str, path: str) -> None:
    """Refuse unknown keys by name, with the nearest valid one."""
    if not isinstance(data, dict) or not isinstance(kind, type):
        return
    if not issubclass(kind, msgspec.Struct):
        return
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in data.items():
        if key not in fields:
            raise RoleError(f"{where}: unknown key `{path}{key}`", _nearest(key, fields))
        _check_keys(value, fields[key], where, f"{path}{key}.")


def _nearest(word: str, known: Mapping[str, object] | list[str]) -> str:
    """A hint that names the nearest known word, or all of them."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}"


def _text(name: str) -> str:
    """The text of a file of `agents/`."""
    try:
        return find("agents", name).read_text(encoding="utf-8")
    except AgspecError as error:
        raise RoleError(error.message, error.hint) from error
    except (OSError, UnicodeDecodeError) as error:
        raise RoleError(f"agents/{name}: {error}") from error
