"""Tool calls that models print as text, in the dialect of their family, as carriers of an edit.

Read are Qwen's `<tool_call>` with JSON, Qwen3-Coder's `<function=…><parameter=…>`, Mistral's
`[TOOL_CALLS]name[ARGS]{…}`, Gemma's `call:name{…}` and bare JSON; wrappers may be missing on
either side. A call counts only where it stands outside fences and before anything else that can be
an edit: the text of a file may hold calls, too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agspec_tui.errors import EditError
from agspec_tui.forms import jsontext
from agspec_tui.forms.fences import fence_at
from agspec_tui.forms.jsontext import Value

_OPENER = re.compile(
    r"<tool_call>|<function=|\[TOOL_CALLS\]|<start_function_call>|\[\s*\{\s*\"name\"|\{\s*\"name\"|"
    r"\{\s*\"(?:function|tool|arguments)\""
)
_AFTER_PROSE = re.compile(
    r"(?:[^`\"']|(?<=\w)'(?=\w)){0,200}(?:\[TOOL_CALLS\]\s*(?:[\w.-]+\s*)?[\[{]|"
    r"<tool_call>\s*(?:[\[{<]|$)|<start_function_call>\s*call:)"
)
_OTHER = re.compile(r"<{5,}|@@|diff --git |--- \S")
_TAGS = ("", "json", "xml", "tool_call", "tool_code", "tool_calls")
_FUNCTION = re.compile(r"<function=\s*([\w.-]+)\s*>")
_PARAMETER = re.compile(r"<parameter=\s*([\w.-]+)\s*>")
_MISTRAL = re.compile(
    r"\[TOOL_CALLS\]\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\]\s*)?(?=\{)"
)
_MISTRAL_LIST = re.compile(r"\[TOOL_CALLS\]\s*(?=\[)")
_GEMMA = re.compile(r"<start_function_call>\s*call:\s*([\w.-]+)\s*\{")
_GEMMA_ARGUMENT = re.compile(r"\s*,?\s*([\w.-]+)\s*:\s*<escape>(.*?)<escape>", re.DOTALL)
_QWEN = re.compile(r"<tool_call>\s*(?=[\[{])")
_BARE = re.compile(r"(?=[\[{])")
_LEFT = re.compile(r"[{\"]|</?parameter\b|</?function\b|<escape>")
_NAMES = ("name", "function", "tool", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input")


@dataclass(frozen=True, slots=True)
class Call:
    """One call as the reply states it."""

    name: str
    """Name of the tool."""
    arguments: Mapping[str, Value]
    """Its arguments; strings read leniently are `jsontext.Doubtful`."""


def calls_in(lines: Sequence[str]) -> tuple[Call, ...]:
    """The calls of a reply; empty if it does not begin its edit with one.

    Args:
        lines: The reply without its reasoning.

    Raises:
        EditError: a call is cut off or cannot be read.
    """
    start = _first(lines)
    if start is None:
        return ()
    return _read_all("\n".join(lines[start:]))


def is_call(line: str) -> bool:
    """Whether a line begins like a call that has a wrapper."""
    match = _OPENER.match(line.strip())
    return match is not None and line.strip()[0] in "<[" and not line.strip().startswith("[{")


def opens(lines: Sequence[str], at: int) -> bool:
    """Whether a call opens at this line; bare JSON must name a tool and its arguments."""
    line = lines[at].strip()
    if not line:
        return False
    if line[0] not in "{[" or line.startswith("[TOOL_CALLS]"):
        return _OPENER.match(line) is not None or _AFTER_PROSE.match(line) is not None
    if line in ("{", "[", "[{") or _OPENER.match(line):
        head = "\n".join(lines[at : at + 12])
        named = re.search(r'"(?:name|function|tool|tool_name)"\s*:\s*"\w', head)
        given = re.search(r'"(?:arguments|parameters|args|input)"\s*:\s*[{"]', head)
        return named is not None and given is not None
    return False


def span_of_call(text: str) -> tuple[int, int]:
    """Offsets at which the first call of a text begins and ends; both 0 if it has none.

    Raises:
        EditError: the call is cut off or cannot be read.
    """
    found = _next(text, 0)
    return (found[1], found[2]) if found else (0, 0)


def _first(lines: Sequence[str]) -> int | None:
    """The line of the first call, if no other kind of edit comes before it."""
    n_fences = sum(fence_at(line) is not None for line in lines)
    for index, line in enumerate(lines):
        fence = fence_at(line)
        if fence is not None:
            inside = next((i for i in range(index + 1, len(lines)) if lines[i].strip()), None)
            wraps = n_fences <= 2 and fence.info.lower() in _TAGS and inside is not None
            return inside if wraps and inside is not None and opens(lines, inside) else None
        if _OTHER.match(line):
            return None
        if opens(lines, index):
            return index
    return None


def _read_all(text: str) -> tuple[Call, ...]:
    """The calls one behind the other.

    What stands between and behind them must be no part of a call: a quote that was not escaped, or
    a closing mark within the text of a file, ends a call too early and leaves such a rest.
    """
    calls: list[Call] = []
    at = 0
    while (found := _next(text, at)) is not None:
        more, start, end = found
        _refuse_rest(text[at:start] if at else "")
        calls += more
        at = end
    _refuse_rest(text[at:])
    return tuple(calls)


def _refuse_rest(rest: str) -> None:
    if _LEFT.search(rest):
        raise EditError(
            "a call ends before its text does",
            'escape every quote as \\", and answer in another form if the file holds such calls',
        )


def _next(text: str, at: int) -> tuple[list[Call], int, int] | None:
    """The next call at or behind an offset, with its first offset and the one behind it."""
    readers = (
        (_GEMMA, _gemma),
        (_FUNCTION, _function),
        (_MISTRAL, _mistral),
        (_MISTRAL_LIST, _json),
        (_QWEN, _json),
    )
    hits = [(match.start(), match, read) for rx, read in readers if (match := rx.search(text, at))]
    if at == 0 and text.lstrip()[:1] in ("{", "["):
        bare = _BARE.search(text)
        if bare is not None and not text.lstrip().startswith("[TOOL_CALLS]"):
            hits = [(bare.start(), bare, _json)]
    if not hits:
        return None
    start, match, read = min(hits, key=lambda hit: hit[0])
    calls, end = read(text, match)
    return calls, start, end


def _json(text: str, match: re.Match[str]) -> tuple[list[Call], int]:
    value, end = jsontext.read(text, match.end())
    given = value if isinstance(value, list) else [value]
    return [_call(one) for one in given], end


def _mistral(text: str, match: re.Match[str]) -> tuple[list[Call], int]:
    value, end = jsontext.read(text, match.end())
    return [Call(match[1], value if isinstance(value, dict) else {})], end


def _gemma(text: str, match: re.Match[str]) -> tuple[list[Call], int]:
    at = match.end()
    arguments: dict[str, Value] = {}
    while argument := _GEMMA_ARGUMENT.match(text, at):
        arguments[argument[1]] = argument[2]
        at = argument.end()
    closing = re.compile(r"\s*\}").match(text, at)
    if closing is None:
        raise EditError("the reply ends inside a call", "answer again, to its last bracket")
    return [Call(match[1], arguments)], closing.end()


def _function(text: str, match: re.Match[str]) -> tuple[list[Call], int]:
    """Parameter bodies are raw: one line end is the form's own at either side, no more."""
    at = match.end()
    stop = text.find("</function>", at)
    following = _FUNCTION.search(text, at)
    if stop < 0 or (following is not None and following.start() < stop):
        raise EditError("the reply ends inside a call", "close it with </function>")
    arguments: dict[str, Value] = {}
    while (parameter := _PARAMETER.search(text, at, stop)) and not text[
        at : parameter.start()
    ].strip():
        close = text.find("</parameter>", parameter.end())
        again = _PARAMETER.search(text, parameter.end(), stop)
        if close < 0 or close > stop or (again is not None and again.start() < close):
            raise EditError(
                f"the parameter {parameter[1]} does not end", "close it with </parameter>"
            )
        body = text[parameter.end() : close].removeprefix("\n")
        body = body if body.endswith("\n") or "\n" not in body else f"{body}\n"
        if parameter[1] in arguments:
            raise EditError(f"the parameter {parameter[1]} is given twice", "give it once")
        arguments[parameter[1]] = body
        at = close + len("</parameter>")
    if text[at:stop].strip():
        raise EditError(
            "the text of a call holds the mark of its own end",
            "answer in another form: the file itself has lines like </parameter>",
        )
    return [Call(match[1], arguments)], stop + len("</function>")


def _call(value: Value) -> Call:
    """A call from its JSON object; fields that are null count as not given."""
    if not isinstance(value, dict):
        raise EditError("the JSON of the reply is no call", "give an object with its arguments")
    inner = value.get("function")
    if isinstance(inner, dict):
        return _call(inner)
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")
    given = next((value[key] for key in _ARGUMENTS if value.get(key) is not None), None)
    if isinstance(given, str):  # arguments as a string of JSON, as the OpenAI wire has them
        if jsontext.doubt_of(given):
            raise EditError("the arguments of the call cannot be read", "give them as an object")
        given, _ = jsontext.read(given)
    return Call(str(name), given if isinstance(given, dict) else {})
