"""Writes the recorded sessions that tests and pictures replay: `tests/data/events/*.jsonl`.

The texts are given; the steps are computed. A small drafter in here copies from the prompt by
longest match with the draft length of the paper, so accept lengths, α and rejections hang together.
Run it from the repository's root: `python scripts/make_recordings.py`.
"""

import difflib
import json
import re
from pathlib import Path

import msgspec

from agspec_tui import events as e
from agspec_tui.session.recorded import write_events

FOLDER = Path("tests/data/events")
CAP, ETA, TAU = 16, 0.1, 0.65
PASS_US = {1: 41_000, 2: 66_000, 4: 98_000, 8: 171_000, 16: 244_000, 32: 402_000}
PREFILL_RATE = 212.0
TEST_COMMAND = "python -m pytest -q"
ISSUE = (
    "render(60) gives an empty string.\n"
    "A duration of exactly one minute, hour or day must be written as `1m`, `1h`, `1d`, "
    "and zero as `0s`."
)
PATH = "durations.py"

OLD = (FOLDER / "durations.py.txt").read_text()
FIRST = (
    OLD.replace(
        "largest units.\n\n    Args:\n        seconds: The duration; negative",
        "largest units.\n\n    A count of one is written too: `render(60)` gives `1m`.\n\n"
        "    Args:\n        seconds: The duration; negative",
    )
    .replace("    rest = abs(seconds)\n", "    left = abs(seconds)\n")
    .replace("        n, rest = divmod(rest, size)\n", "        count, left = divmod(left, size)\n")
    .replace("        if n > 1:\n", "        if count:\n")
    .replace('parts.append(f"{n}{unit}")', 'parts.append(f"{count}{unit}")')
)
SECOND = FIRST.replace(
    '    return sign + " ".join(parts)\n',
    '    if not parts:\n        return "0s"\n    return sign + " ".join(parts)\n',
)
PLAN = json.dumps(
    {
        "steps": [
            {
                "files": [PATH],
                "change": "In render, keep units whose count is one, and write 0s for zero.",
            }
        ]
    },
    indent=1,
)
FAIL_OUTPUT = """\
...F....                                                                 [100%]
=================================== FAILURES ===================================
_______________________________ test_render_zero _______________________________

    def test_render_zero():
>       assert render(0) == "0s"
E       AssertionError: assert '' == '0s'

tests/test_durations.py:24: AssertionError
=========================== short test summary info ============================
FAILED tests/test_durations.py::test_render_zero - AssertionError: assert '' == '0s'
1 failed, 7 passed in 0.11s
"""
PASS_OUTPUT = """\
........                                                                 [100%]
8 passed in 0.09s
"""


class Recorder:
    """Collects events, and keeps the clock and each role's α and cache."""

    def __init__(self) -> None:
        self.events: list[e.Event] = []
        self.t_s = 0.0
        self.alpha: dict[str, float] = {}
        self.cached: dict[str, int] = {}
        self.request = 0

    def add(self, event: e.Event, after_s: float = 0.02) -> None:
        """Stamp and keep an event."""
        self.t_s = round(self.t_s + after_s, 6)
        self.events.append(msgspec.structs.replace(event, seq=len(self.events) + 1, t_s=self.t_s))

    def open(self) -> None:
        """The model is loaded and a task submitted."""
        self.add(
            e.ModelLoaded(
                model="qwen2.5-coder-1.5b",
                device="CPU, 2 threads",
                n_ctx=16384,
                n_vocab=151936,
                n_threads=2,
                load_s=1.4,
                n_exact=1,
                rollback=True,
            ),
            1.4,
        )
        self.add(
            e.SessionStarted(
                session_id="recorded",
                repo="durations",
                model="qwen2.5-coder-1.5b",
                roles=("planner", "coder", "executor"),
                drafter="agspec-sam",
                policy="agspec",
                test_command=TEST_COMMAND,
            )
        )
        self.add(e.TaskSubmitted(text=ISSUE), 0.5)

    def turn(self, role: str, turn: int, form: str, prompt: str, reply: str) -> None:
        """One whole turn: prefill, steps, numbers."""
        self.add(e.TurnStarted(role=role, turn=turn, form=form))
        n_prompt, n_reused = self.prefill(role, turn, prompt)
        first = len(self.events)
        started = self.t_s
        self.generate(role, turn, prompt, reply)
        steps = [event for event in self.events[first:] if isinstance(event, e.StepCommitted)]
        ids = tuple(token for step in steps for token in step.ids)
        n_drafted = sum(step.n_drafted for step in steps)
        n_accepted = sum(step.n_accepted for step in steps)
        decode_s = self.t_s - started
        same = {
            "role": role,
            "turn": turn,
            "stop_reason": "eog",
            "n_prompt": n_prompt,
            "n_reused": n_reused,
            "broken_by": "",
            "n_tokens": len(ids),
            "n_steps": len(steps),
            "n_drafted": n_drafted,
            "n_accepted": n_accepted,
            "alpha": self.alpha[role],
        }
        self.add(
            e.GenerationFinished(
                request=self.request,
                text=reply,
                ids=ids,
                prefill_s=round((n_prompt - n_reused) / PREFILL_RATE, 3),
                decode_s=round(decode_s, 3),
                **same,
            )
        )
        self.add(
            e.TurnFinished(
                accept_length=round(sum(s.n_accepted + 1 for s in steps) / len(steps), 3),
                rejected=n_drafted - n_accepted,
                tok_per_s=round(len(ids) / decode_s, 2),
                **same,
            )
        )

    def prefill(self, role: str, turn: int, prompt: str, *, upto: float = 1.0) -> tuple[int, int]:
        """Read a prompt in batches of 256 tokens."""
        self.request += 1
        n_prompt = len(tokens(prompt)) + 180
        n_reused = min(self.cached.get(role, 0), n_prompt - 64)
        done = n_reused
        while done < n_prompt * upto:
            step = min(256, n_prompt - done)
            done += step
            self.add(
                e.PrefillProgressed(
                    request=self.request,
                    role=role,
                    turn=turn,
                    n_done=done,
                    n_total=n_prompt,
                    n_reused=n_reused,
                    tok_per_s=PREFILL_RATE,
                ),
                step / PREFILL_RATE,
            )
        self.cached[role] = n_prompt
        return n_prompt, n_reused

    def generate(
        self, role: str, turn: int, prompt: str, reply: str, *, share: float = 1.0
    ) -> None:
        """Decode `reply`, drafting from the prompt and from what was generated."""
        context, target = tokens(prompt), tokens(reply)
        n_known, step = len(context), 0
        stop = int(len(target) * share)
        at = 0
        while at < stop:
            m, begin = longest_match(context)
            alpha = self.alpha.setdefault(role, 1.0)
            budget = min(max(round(alpha * m), 1), CAP) if m else 0
            draft = context[begin : begin + min(budget, len(target) - at - 1)] if m else []
            n_accepted = 0
            while n_accepted < len(draft) and draft[n_accepted] == target[at + n_accepted]:
                n_accepted += 1
            if draft and (n_accepted < len(draft) or budget < CAP):
                alpha = min(max(alpha + ETA * (TAU - (n_accepted < len(draft))), 1 / 16), 4.0)
                self.alpha[role] = alpha
            committed = target[at : at + n_accepted + 1]
            at += len(committed)
            context += committed
            step += 1
            pass_us = next(us for n, us in PASS_US.items() if n >= len(draft) + 1)
            self.cached[role] = self.cached.get(role, 0) + len(committed)
            self.add(
                e.StepCommitted(
                    request=self.request,
                    role=role,
                    turn=turn,
                    step=step,
                    ids=tuple(number(token) for token in committed),
                    text="".join(committed),
                    n_accepted_chars=sum(map(len, committed[:n_accepted])),
                    n_drafted=len(draft),
                    n_accepted=n_accepted,
                    match_len=m,
                    source=("workspace" if begin < n_known else "session") if draft else "",
                    document=PATH if draft else "",
                    offset=begin if draft else 0,
                    budget=budget,
                    cap=CAP,
                    alpha=round(alpha, 4),
                    decode_us=pass_us,
                    draft_us=58.0,
                    n_context=self.cached[role],
                ),
                pass_us / 1e6,
            )

    def edit(self, turn: int, before: str, after: str, call_id: int) -> None:
        """An edit is proposed, approved and written."""
        diff = "".join(
            difflib.unified_diff(
                before.splitlines(True), after.splitlines(True), f"a/{PATH}", f"b/{PATH}"
            )
        )
        self.add(e.EditProposed(role="coder", turn=turn, form="whole", files=(PATH,), diff=diff))
        summary = f"write 1 file: {PATH}"
        self.add(e.ApprovalRequested(turn=turn, call_id=call_id, summary=summary, diff=diff))
        self.add(e.ApprovalAnswered(turn=turn, call_id=call_id, approved=True), 2.0)
        self.add(e.EditApplied(role="coder", turn=turn, files=(PATH,)))

    def tests(self, turn: int, output: str, passed: int, failed: int) -> None:
        """The tests run."""
        self.add(e.CommandStarted(turn=turn, role="executor", command=TEST_COMMAND))
        self.add(
            e.CommandFinished(
                turn=turn,
                role="executor",
                command=TEST_COMMAND,
                exit_code=1 if failed else 0,
                timed_out=False,
                output=output,
                wall_s=0.6,
                passed=passed,
                failed=failed,
            ),
            0.6,
        )


def tokens(text: str) -> list[str]:
    """Pieces of about a token's size."""
    return re.findall(r" ?[A-Za-z_]{1,7}|\d|\n+ *|[^\w\s]{1,2}|\s", text)


def number(token: str) -> int:
    """A stable number for a piece."""
    value = 7
    for byte in token.encode():
        value = (value * 131 + byte) % 151_643
    return value


def longest_match(context: list[str]) -> tuple[int, int]:
    """Length of the longest earlier match of the suffix (up to 24), and where it goes on."""
    best, begin = 0, 0
    last = len(context) - 1
    for end in range(last - 1, -1, -1):
        m = 0
        while m < 24 and m <= end and context[end - m] == context[last - m]:
            m += 1
        if m > best:
            best, begin = m, end + 1
    return best, begin


def whole(text: str) -> str:
    """The coder's reply with a whole file."""
    return f"{PATH}\n```python\n{text}```\n"


def full_session() -> list[e.Event]:
    """Planner, coder, approval, tests fail, coder again, tests pass."""
    record = Recorder()
    record.open()
    record.turn("planner", 1, "plan", f"{ISSUE}\n{PATH}\n{OLD}", PLAN)
    step = e.PlanStep(files=(PATH,), change=json.loads(PLAN)["steps"][0]["change"])
    record.add(e.PlanProposed(role="planner", turn=1, steps=(step,)))
    coder = f"{PLAN}\n{PATH}\n```python\n{OLD}```\n"
    record.turn("coder", 2, "whole", coder, whole(FIRST))
    record.edit(2, OLD, FIRST, 1)
    record.tests(3, FAIL_OUTPUT, 7, 1)
    reason = "FAIL test_render_zero: render(0) gives an empty string instead of 0s."
    record.turn("executor", 3, "verdict", f"{TEST_COMMAND}\n{FAIL_OUTPUT}", reason)
    record.add(e.VerdictReached(role="executor", turn=3, passed=False, reason=reason[5:]))
    coder += whole(FIRST) + FAIL_OUTPUT
    record.turn("coder", 4, "whole", coder, whole(SECOND))
    record.edit(4, FIRST, SECOND, 2)
    record.tests(5, PASS_OUTPUT, 8, 0)
    reason = "PASS all 8 tests pass."
    record.turn("executor", 5, "verdict", f"{TEST_COMMAND}\n{PASS_OUTPUT}", reason)
    record.add(e.VerdictReached(role="executor", turn=5, passed=True, reason=reason[5:]))
    record.add(
        e.TaskFinished(
            status="fixed",
            summary="render keeps units whose count is one, and writes 0s for zero.\n"
            "Tests: 7 of 8 passed after the first edit, 8 of 8 after the second.",
            diff="",
            wall_s=round(record.t_s - 2.0, 1),
        )
    )
    return record.events


def in_generation() -> list[e.Event]:
    """Ends in the middle of the coder's first reply."""
    record = Recorder()
    record.open()
    record.turn("planner", 1, "plan", f"{ISSUE}\n{PATH}\n{OLD}", PLAN)
    step = e.PlanStep(files=(PATH,), change=json.loads(PLAN)["steps"][0]["change"])
    record.add(e.PlanProposed(role="planner", turn=1, steps=(step,)))
    coder = f"{PLAN}\n{PATH}\n```python\n{OLD}```\n"
    record.add(e.TurnStarted(role="coder", turn=2, form="whole"))
    record.prefill("coder", 2, coder)
    record.generate("coder", 2, coder, whole(FIRST), share=0.62)
    return record.events


def main() -> None:
    """Write both recordings."""
    for name, events in (("fixed", full_session()), ("in_generation", in_generation())):
        write_events(FOLDER / f"{name}.jsonl", events)
        n_steps = sum(isinstance(event, e.StepCommitted) for event in events)
        print(f"{name}: {len(events)} events, {n_steps} steps")


if __name__ == "__main__":
    main()
