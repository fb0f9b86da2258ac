import typing

import pytest

from agspec_tui.events import (
    CacheRestored,
    ContextReported,
    EngineFailed,
    Event,
    ModelLoaded,
    SessionStarted,
    StepCommitted,
    TurnFinished,
)
from agspec_tui.session.bus import Bus
from agspec_tui.session.recorded import read_events
from agspec_tui.tui.bridge import (
    Bridge,
    CommandGroup,
    ContextGroup,
    EditGroup,
    EngineGroup,
    ReplyGroup,
    TaskGroup,
    TurnGroup,
)
from agspec_tui.tui.state import HISTORY, UiState
from tests.tui.driving import FIXED, IN_GENERATION


class ListView:
    """A view that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.streamed = ""
        self.marked = ""
        self.alerts: list[str] = []
        self.asked: list[int] = []

    def write(self, lines):
        self.lines.extend(item.text() for item in lines)

    def stream(self, text, style, gutter, origin=None):
        self.streamed += text
        self.marked += text if style == "accepted" else ""

    def ask(self, question):
        self.asked.append(question.call_id)

    def settled(self, call_id):
        self.asked.remove(call_id)

    def alert(self, message, severity):
        self.alerts.append(message)


def shown(events: list[Event]) -> tuple[UiState, ListView]:
    bus, state, view = Bus(), UiState(), ListView()
    bridge = Bridge(bus.subscribe(), state, view)
    for event in events:
        bus.publish(event)
    assert bridge.pump() == len(events)
    return state, view


def test_every_event_belongs_to_exactly_one_group():
    groups = (
        EngineGroup,
        ContextGroup,
        ReplyGroup,
        TaskGroup,
        TurnGroup,
        EditGroup,
        CommandGroup,
    )
    members = [kind for group in groups for kind in typing.get_args(group)]
    assert len(members) == len(set(members))
    assert set(members) == set(typing.get_args(Event))


def test_the_numbers_of_the_panels_are_those_of_the_report():
    events = read_events(FIXED)
    state, _ = shown(events)
    for role, series in state.roles.items():
        turns = [e for e in events if isinstance(e, TurnFinished) and e.role == role]
        steps = [e for e in events if isinstance(e, StepCommitted) and e.role == role]
        mean = sum(step.n_accepted + 1 for step in steps) / len(steps)
        assert series.accept_mean == pytest.approx(mean)
        assert list(series.accept) == [step.n_accepted + 1 for step in steps][-HISTORY:]
        assert list(series.alpha) == [step.alpha for step in steps][-HISTORY:]
        assert [(t.turn, t.n_rejected) for t in series.rejections] == [
            (turn.turn, turn.rejected) for turn in turns
        ]


def test_history_is_bounded_and_the_mean_is_not():
    step = next(e for e in read_events(FIXED) if isinstance(e, StepCommitted))
    state, _ = shown([step] * 1000)
    series = state.series(step.role)
    assert (len(series.accept), series.n_steps) == (HISTORY, 1000)


def test_the_streamed_text_is_the_reply_and_the_marks_are_the_accepted_part():
    events = read_events(IN_GENERATION)
    steps = [e for e in events if isinstance(e, StepCommitted)]
    _, view = shown(events)
    assert view.streamed == "".join(step.text for step in steps)
    assert view.marked == "".join(step.text[: step.n_accepted_chars] for step in steps)
    assert 0 < len(view.marked) < len(view.streamed)


def test_the_rate_of_a_running_turn_is_tokens_over_the_time_of_its_passes():
    events = read_events(IN_GENERATION)
    steps = [e for e in events if isinstance(e, StepCommitted) and e.turn == 2]
    state, _ = shown(events)
    us = sum(step.decode_us + step.draft_us for step in steps)
    assert state.tok_per_s == pytest.approx(sum(len(step.ids) for step in steps) / us * 1e6)


def test_a_dead_engine_empties_the_cache_and_is_told_everywhere():
    events = read_events(IN_GENERATION)
    dead = EngineFailed(message="killed", hint="", log_path="/log", restarting=True)
    state, view = shown([*events, dead])
    assert state.n_context == 0
    sentence = "engine process ended: killed; it is started again and goes on from there"
    assert view.alerts == [sentence]
    assert sentence in view.lines


def test_an_event_that_cannot_be_shown_is_a_line_and_the_next_one_is_shown():
    class Broken(ListView):
        def ask(self, question):
            raise RuntimeError("no room")

    bus, view = Bus(), Broken()
    bridge = Bridge(bus.subscribe(), UiState(), view)
    for event in read_events(FIXED):
        bus.publish(event)
    bridge.pump()
    assert view.lines.count("RuntimeError: no room") == 2
    assert any("fixed" in text for text in view.lines)


def test_the_log_says_how_full_the_context_is_and_what_was_left_out_of_it():
    report = ContextReported(
        role="coder",
        n_prompt=1500,
        n_reply=512,
        n_ctx=2048,
        dropped=("the test output",),
        summarised=("earlier attempts",),
    )
    restored = CacheRestored(
        request=-1, sequences=("coder",), n_tokens=900, notes=("planner: its file is damaged",)
    )
    _, view = shown([report, restored])
    text = "\n".join(view.lines)
    assert "context 1 500 + 512 of 2 048" in text
    assert "! left out, to fit: the test output" in text
    assert "! summarised, to fit: earlier attempts" in text
    assert "took up 900 tokens" in text
    assert "not taken up: planner: its file is damaged" in text


@pytest.mark.parametrize(
    ("drafter", "policy", "rollback", "shown"),
    [
        ("agspec-sam", "goodput", True, "on (agspec-sam · goodput)"),
        ("none", "goodput", True, "off"),
        ("agspec-sam", "off", True, "off"),
        ("agspec-sam", "goodput", False, "off (it has no past)"),
    ],
)
def test_e08_one_word_says_whether_anything_is_drafted(drafter, policy, rollback, shown):
    state = UiState()
    state.session_started(
        SessionStarted(
            session_id="s",
            repo="r",
            model="m",
            drafter=drafter,
            policy=policy,
            roles=("coder",),
            test_command="",
        )
    )
    state.model_loaded(
        ModelLoaded(
            model="m",
            device="CPU",
            n_ctx=512,
            n_vocab=9,
            n_threads=1,
            load_s=0.1,
            n_exact=7,
            rollback=rollback,
            no_rollback="" if rollback else "it has no past",
        )
    )
    assert state.drafting == shown
