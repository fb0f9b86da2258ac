import msgspec
import pytest

from agspec_tui.commands import Message
from agspec_tui.engine.recording import RecordedStep
from agspec_tui.policy.cost import Cost
from agspec_tui.replay.pass_times import as_recorded
from tests.replay.live import CODE, EDITED, ask, drafting, lines, scripted

MEASURED = Cost("before", [(1, 1.0), (2, 1.2), (4, 1.5), (8, 2.0), (16, 3.0), (32, 5.0), (64, 9.0)])


async def recording(make_client, load, *lengths):
    """Lines of replies that repeat a text, each with drafts of another length."""
    client, _ = make_client()
    await client.start(load, drafting("none", "off"))
    for request, n_drafted in enumerate(lengths, 1):
        await client.configure(drafting("agspec-sam", "fixed", fixed_k=n_drafted, min_match=8))
        await client.reset(keep_cache=True)
        message = Message("user", f"Edit this.\n{CODE}")
        await client.generate(ask(request, message, max_tokens=900))
    await client.close()
    return list(lines(load))


def timed(recorded, time_of):
    """The lines with passes of other times; `time_of(request, n_tokens)` in microseconds."""
    for line in recorded:
        if isinstance(line, RecordedStep):
            event = line.event
            us = time_of(event.request, 1 + event.n_drafted)
            event = msgspec.structs.replace(event, decode_us=us)
            line = msgspec.structs.replace(line, event=event)
        yield line


async def test_sizes_take_what_the_passes_of_the_run_took_in_units_of_their_own_reply(
    make_client, tmp_path
):
    load = scripted(tmp_path, *[EDITED + CODE] * 2)
    recorded = await recording(make_client, load, 3, 15)
    found = as_recorded(
        # The second reply comes in an hour in which everything takes twice as long.
        timed(recorded, lambda request, n: 100.0 * request * (1.0 if n == 1 else 0.25 * n + 1.0)),
        MEASURED,
    )
    assert found.at(1) == 1.0
    assert found.at(4) == pytest.approx(2.0, rel=0.01)
    assert found.at(16) == pytest.approx(5.0, rel=0.01)
    # Where no pass was, sizes are scaled as the range below.
    assert found.at(8) == pytest.approx(2.0 * 2.0 / 1.5, rel=0.01)
    assert found.at(32) == pytest.approx(5.0 * 5.0 / 3.0, rel=0.01)


async def test_replies_without_passes_of_one_token_say_nothing(make_client, tmp_path):
    load = scripted(tmp_path, EDITED + CODE)
    recorded = await recording(make_client, load, 15)
    few = [line for line in recorded if not isinstance(line, RecordedStep) or line.event.n_drafted]
    assert as_recorded(timed(few, lambda request, n: 1e6 * n), MEASURED).points == MEASURED.points
