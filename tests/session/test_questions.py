import pytest

from agspec_tui.session.questions import is_question


@pytest.mark.parametrize(
    "text",
    [
        "what does this module do?",
        "What does calc.py do? ",
        "How do I add a room?",
        "Where is the price rounded?",
        "Hi, why is the total negative?",
        "Explain how the bookings are merged",
        "Is there a limit on the name?",
        "Please describe the parser.",
    ],
)
def test_questions_are_told(text):
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "total() gives the wrong sum",
        "Fix the total. Why does it subtract?",
        "Why does total() subtract? It should add.",
        "Can you fix the total?",
        "Could the parser be rewritten?",
        "Rename total to sum_of",
        "What is wrong?\n```\nTraceback (most recent call last):\n```",
        "How should it work? Fix it so that it does. OK?",
        "Explain the parser and fix it",
        "?",
        "",
    ],
)
def test_issues_are_no_questions(text):
    assert not is_question(text)
