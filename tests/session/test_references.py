import pytest

from agspec_tui.session.references import flow, likeness
from agspec_tui.session.tags import tags_of

TEXTS = {
    "a.py": "from b import middle\n\ndef top():\n    return middle()\n",
    "b.py": "from c import lowest\n\ndef middle():\n    return lowest()\n",
    "c.py": "def lowest():\n    return 1\n",
    "d.py": "def alone():\n    '''Ships parcels to a harbour.'''\n",
}
TAGS = {path: tags_of(path, text) for path, text in TEXTS.items()}


def test_interest_flows_along_references_and_shrinks_on_the_way():
    reached = flow(TAGS, {"a.py": 1.0})
    assert sum(reached.values()) == pytest.approx(1)
    assert reached["a.py"] > reached["b.py"] > reached["c.py"] > reached["d.py"] == 0


def test_nothing_flows_from_nowhere():
    assert set(flow(TAGS, {}).values()) == {0.0}
    assert flow({}, {}) == {}


def test_a_file_is_about_the_words_that_it_says_and_few_others_do():
    found = likeness(TAGS, "The harbour gets no parcel")
    assert max(found, key=found.get) == "d.py"
    assert likeness({}, "anything") == {}
    assert set(likeness(TAGS, "").values()) == {0.0}
