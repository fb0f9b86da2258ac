import random
import re

import pytest

from agspec_tui.engine.loop_guard import Loop, LoopGuard
from agspec_tui.engine.reply import Reply
from tests.engine.test_reply import ByteBackend

WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def tokens(text: str) -> list[int]:
    """Words, runs of blanks, single marks: about the tokens of a model for code."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(word, len(numbers)) for word in WORDS.findall(text)]


def digits(text: str) -> list[int]:
    """As `tokens`, but digits one by one."""
    numbers: dict[str, int] = {}
    return [
        numbers.setdefault(word, len(numbers)) for word in re.findall(r"\d|[^\W\d]+|\s+|\W", text)
    ]


def loop_in(ids: list[int], prompt: list[int] | None = None) -> tuple[Loop, int] | None:
    """The loop, and how many tokens had been said."""
    guard = LoopGuard(prompt or [])
    for n_said, token in enumerate(ids, 1):
        loop = guard.take(token)
        if loop:
            return loop, n_said
    return None


PROSE = (
    "The function reads the file, splits it into lines and counts how often each word is there. "
    "It keeps the counts in a table that is sorted at the end, and returns the first few rows. "
)
FIELDS = ("price", "weight", "colour", "name", "size", "width", "height", "depth", "age", "rank")
MODULE = "\n".join(
    f"def step_{name}(items, limit):\n"
    f'    """Return the {name} items below a limit."""\n'
    f"    kept = [item for item in items if item.{name} < limit]\n"
    f"    return sorted(kept, key=lambda item: item.{name})[:{i + 3}]\n"
    for i, name in enumerate(FIELDS)
)

LOOPS = {
    "a sentence": "I will now submit the answer. " * 200,
    "a paragraph": PROSE * 40,
    "a line of code": "    result = result + price\n" * 200,
    "a statement behind a module": MODULE + "x = x + 1\n" * 300,
    "one word": "no " * 900,
    "one mark": "!" * 1500,
    "a row of zeros without an end": "0, " * 900,
    "two lines in turn": ("open the file\nclose the file again\n") * 120,
    "runs within a period": ("A " * 40 + "B ") * 60,
    "nested repeats": ("ab cd ab cd ef " * 3 + "gh ") * 60,
    "a long passage": MODULE[: len(MODULE) // 2] * 12,
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_reply_that_repeats_itself_is_a_loop(name):
    found = loop_in(tokens(LOOPS[name]))
    assert found is not None
    loop, n_said = found
    assert loop.n_times >= 3
    assert n_said < len(tokens(LOOPS[name]))


def test_the_period_and_how_often_it_was_said_are_reported():
    ids = [*range(1000, 1100), *list(range(30)) * 20]
    loop, n_said = loop_in(ids)
    assert loop.period == 30
    assert loop.n_times == (n_said - 100) // 30
    assert 192 <= n_said - 130 < 192 + 32


def test_a_loop_with_a_counter_in_it_is_seen():
    text = "".join(
        f"Step {n}: I will now open the file again and look at the lines around the place where "
        "the error is, then I will change the line, run the tests once more and read what they "
        "print, and if they fail I will go back to the first step of all and begin from there "
        "with the same file, the same lines, the same error, the same tests and the same plan, "
        "until nothing is left that I have not looked at before in this very same way. "
        for n in range(1, 60)
    )
    loop, n_said = loop_in(tokens(text))
    assert n_said < len(tokens(text)) / 2
    assert 0 < loop.period < 250


def table(n: int) -> str:
    rng = random.Random(3)
    return "".join(f"| item {i} | {rng.randint(10, 999)} | yes | no |\n" for i in range(n))


def json_rows(n: int) -> str:
    rng = random.Random(4)
    return "[\n" + "".join(
        f'  {{"id": {i}, "price": {rng.randint(100, 9999)}, "name": "item", "tags": []}},\n'
        for i in range(n)
    )


LEGITIMATE = {
    "a module of similar functions": MODULE,
    "a table": table(200),
    "rows of JSON with changing numbers": json_rows(200),
    "a list of cases": "".join(
        f"        case {i}:\n            return {i * 7}\n" for i in range(300)
    ),
    "a list of imports": "".join(f"from package.part{i} import name{i}\n" for i in range(200)),
    "assertions": "".join(f"    assert total([{i}, {i + 1}]) == {2 * i + 1}\n" for i in range(200)),
    "a board of zeros": ("[" + ", ".join("0" * 10) + "],\n") * 20,
    "a map of characters": ("#" + "." * 38 + "#\n") * 14,
    "a picture": "\n".join(" " * (20 - i) + "*" * (2 * i + 1) for i in range(20)),
    "rulers between sections": "".join(f"{'-' * 80}\n{i}. part {i * i}\n" for i in range(60)),
    "deep indentation": "".join(" " * (4 * i) + f"if a{i}:\n" for i in range(60)),
    "closing brackets": "(" * 60 + "x" + ")" * 60,
    "a line three times": "    total += price\n" * 3 + MODULE,
    "two files alike": MODULE + "\n# the other file\n" + MODULE,
}


@pytest.mark.parametrize("tokenize", [tokens, digits, lambda text: list(text.encode())])
@pytest.mark.parametrize("name", LEGITIMATE)
def test_code_that_repeats_itself_with_reason_is_no_loop(name, tokenize):
    assert loop_in(tokenize(LEGITIMATE[name])) is None


@pytest.mark.parametrize("text", [*LOOPS.values(), *LEGITIMATE.values()])
def test_a_copy_of_the_prompt_is_no_loop(text):
    ids = tokens(f"Here is the file:\n{text}\nChange the first line. The file:\n{text}\nend")
    half = tokens(f"Here is the file:\n{text}\n")
    assert loop_in(ids[len(half) :], prompt=ids[: len(half)]) is None


def test_a_loop_of_what_the_prompt_says_a_few_times_is_one():
    line = "    result = result + price\n"
    ids = tokens(MODULE + line * 30 + line * 300)
    n_prompt = len(tokens(MODULE + line * 30))
    loop, n_said = loop_in(ids[n_prompt:], prompt=ids[:n_prompt])
    assert loop.period == len(tokens(line * 2)) - len(tokens(line))
    assert n_said > len(tokens(line * 30))


@pytest.mark.parametrize("seed", range(4))
def test_random_tokens_of_few_kinds_are_no_loop(seed):
    rng = random.Random(seed)
    assert loop_in([rng.randrange(2 + seed * 5) for _ in range(6000)]) is None


def committed(ids: list[int], sizes: list[int]) -> Reply:
    reply = Reply(ByteBackend(0, eog=False), 10**6, (), guard=LoopGuard([]))
    at = 0
    for size in sizes:
        block = ids[at : at + size]
        reply.commit(block[:-1], block[-1])
        at += size
        if reply.stop_reason:
            break
    return reply


def test_a_loop_ends_the_reply_at_the_same_token_however_it_was_drafted():
    ids = list((PROSE * 30).encode())
    plain = committed(ids, [1] * len(ids))
    assert plain.stop_reason == "loop"
    assert plain.loop is not None
    assert plain.loop.period == len(PROSE)
    for seed in range(5):
        rng = random.Random(seed)
        drafted = committed(ids, [rng.randint(1, 40) for _ in ids])
        assert (drafted.ids, drafted.loop) == (plain.ids, plain.loop)


def test_a_reply_that_is_gone_on_with_ends_at_the_same_token():
    ids = list((PROSE * 30).encode())
    plain = committed(ids, [1] * len(ids))
    reply = Reply(ByteBackend(0, eog=False), 10**6, (), guard=LoopGuard([]))
    reply.resume(ids[:500])
    for token in ids[500:]:
        reply.commit([], token)
        if reply.stop_reason:
            break
    assert ids[:500] + reply.ids == plain.ids
