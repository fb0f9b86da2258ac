import xml.etree.ElementTree as ET

from agspec_tui.replay.chart import as_svg
from tests.replay.reports import COSTS, SOURCES, report_of

SVG = "{http://www.w3.org/2000/svg}"


def test_it_is_one_xml_document_that_names_everything():
    root = ET.fromstring(as_svg(report_of()))
    assert root.tag == f"{SVG}svg"
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for name in (*SOURCES, "mean", "none", "pld", "agspec-sam, goodput", "agspec-sam, oracle"):
        assert name in texts
    assert [t for t in texts if t.endswith("speed-up (×)")] == [
        f"{cost} cost: speed-up (×)" for cost in COSTS
    ]


def test_bars_are_as_high_as_the_speedups():
    report = report_of()
    root = ET.fromstring(as_svg(report))
    bars = [r for r in root.iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None]
    n_series = 4
    assert len(bars) == n_series * (len(SOURCES) + 1) * len(COSTS)
    of_first = bars[: len(bars) // len(COSTS)]
    heights = {r.find(f"{SVG}title").text: float(r.get("height")) for r in of_first}
    plain = heights["none, own, aider: 1.00×"]
    for row in report.rows:
        shown = f"{row.drafter}, {row.policy}, {row.source}: {row.speedup:.2f}×"
        if row.cost == "cheap" and (row.role, row.turn) == ("all", "all") and shown in heights:
            assert abs(heights[shown] - row.speedup * plain) < 0.2 * plain / 10


def test_everything_lies_within_the_picture():
    root = ET.fromstring(as_svg(report_of()))
    width, height = float(root.get("width")), float(root.get("height"))
    for rect in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        assert min(x, y, w, h) >= 0
        assert x + w <= width
        assert y + h <= height


def test_a_report_without_rows_is_an_empty_chart():
    ET.fromstring(as_svg(report_of(rows=(), traces=())))
