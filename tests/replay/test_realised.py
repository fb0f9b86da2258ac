import pytest

from agspec_tui.commands import Message
from agspec_tui.engine.recording import RecordedReset
from agspec_tui.errors import UsageError
from agspec_tui.events import StepCommitted
from agspec_tui.replay.realised import realised
from tests.replay.live import CODE, EDITED, ask, document, drafting, lines, scripted


def agreed(events, request):
    """(position, D, A) of each step of a generation."""
    i, steps = 0, []
    for event in events:
        if isinstance(event, StepCommitted) and event.request == request:
            steps.append((i, event.n_drafted, event.n_accepted))
            i += event.n_accepted + 1
    return steps


async def recorded(make_client, load, *settings, drafting_of=lambda request: True):
    """Two turns in one sequence, then the first one again after a reset, for each setting."""
    client, events = make_client()
    await client.start(load, settings[0])
    request = 0
    for each in settings:
        await client.configure(each)
        await client.reset(keep_cache=True)
        await client.index(document("clamp.py", CODE))
        messages = [Message("user", f"Edit this.\n{CODE}")]
        for _ in range(2):
            request += 1
            on = drafting_of(request)
            done = await client.generate(ask(request, *messages, drafting=on, max_tokens=900))
            messages += [Message("assistant", done.text, done.ids), Message("user", "Once more.")]
    await client.close()
    return events


@pytest.mark.parametrize("policy", ["fixed", "goodput", "agspec"])
async def test_drafts_held_in_the_engine_as_far_as_they_hold_here(make_client, tmp_path, policy):
    load = scripted(tmp_path, *[EDITED, EDITED + CODE] * 2)
    events = await recorded(
        make_client, load, drafting("agspec-sam", policy), drafting("agspec-suffix", policy)
    )
    found = {each.request: each.reusable for each in realised(lines(load))}
    assert set(found) == {1, 2, 3, 4}
    for request, reusable in found.items():
        assert max(reusable) > 50
        steps = agreed(events, request)
        assert sum(n_accepted for _, _, n_accepted in steps) > 100
        for i, n_drafted, n_accepted in steps:
            assert n_accepted == min(n_drafted, reusable[i])


async def test_drafts_that_resume_held_in_the_engine_as_far_as_they_hold_here(
    make_client, tmp_path
):
    load = scripted(tmp_path, *[EDITED, EDITED + CODE] * 2)
    plain, resuming = (drafting("agspec-sam", "fixed", resume=on) for on in (False, True))
    events = await recorded(make_client, load, plain, resuming)
    found = {each.request: each.reusable for each in realised(lines(load))}
    for request, reusable in found.items():
        for i, n_drafted, n_accepted in agreed(events, request):
            assert n_accepted == min(n_drafted, reusable[i])
    assert found[1] != found[3]  # the edits interrupt copies that one of them goes on with


async def test_a_position_stands_for_every_token_and_the_end_has_none(make_client, tmp_path):
    load = scripted(tmp_path, EDITED, CODE)
    await recorded(make_client, load, drafting("agspec-sam"))
    first, second = realised(lines(load))
    assert len(first.reusable) == len(EDITED) + 1
    assert len(second.reusable) == len(CODE) + 1
    assert first.reusable[-1] == second.reusable[-1] == 0


async def test_without_a_drafter_or_with_drafting_off_nothing_holds(make_client, tmp_path):
    load = scripted(tmp_path, *[EDITED, CODE] * 2)
    await recorded(
        make_client,
        load,
        drafting("none"),
        drafting("agspec-sam"),
        drafting_of=lambda request: request != 3,
    )
    found = {each.request: max(each.reusable) for each in realised(lines(load))}
    assert found[1] == found[2] == found[3] == 0
    assert found[4] > 50


async def test_drafters_that_depend_on_their_earlier_drafts_are_left_out(make_client, tmp_path):
    load = scripted(tmp_path, *[EDITED, CODE] * 2)
    await recorded(make_client, load, drafting("llama-ngram-mod"), drafting("agspec-sam"))
    assert [each.request for each in realised(lines(load))] == [3, 4]


def test_a_recording_without_a_model_is_refused():
    with pytest.raises(UsageError, match="does not begin with a model"):
        list(realised([RecordedReset(keep_cache=True)]))
