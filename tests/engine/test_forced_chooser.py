import asyncio

import msgspec
import numpy as np
import pytest

from agspec_tui.commands import ConfigureDrafting, Generate, LoadModel, Message
from agspec_tui.engine.forced_chooser import ForcedChooser
from agspec_tui.errors import EngineError

REPLY = (5, 6, 7, 8, 9)
TEXT = "Write this again: the quick brown fox jumps over the lazy dog. The quick brown fox"


def chosen_with(drafts):
    """The whole reply, step by step, and how much of each draft was accepted."""
    chooser, ids, accepted = ForcedChooser(REPLY), [], []
    for draft in drafts:
        n_accepted, bonus = chooser.verify(np.zeros((len(draft) + 1, 10), np.float32), draft)
        ids += [*draft[:n_accepted], bonus]
        accepted.append(n_accepted)
    return tuple(ids), accepted


@pytest.mark.parametrize(
    ("drafts", "accepted"),
    [
        ([[], [], [], [], []], [0, 0, 0, 0, 0]),
        ([[5, 6, 7, 8]], [4]),
        ([[5, 6, 1], [8]], [2, 1]),
        ([[1, 2], [6, 1], [8]], [0, 1, 1]),
        ([[5, 6, 7, 8, 9, 9]], [4]),
    ],
)
def test_the_reply_is_said_whatever_is_drafted(drafts, accepted):
    assert chosen_with(drafts) == (REPLY, accepted)


def test_behind_the_reply_nothing_can_be_chosen():
    chooser = ForcedChooser(REPLY[:1])
    chooser.verify(np.zeros((1, 10), np.float32), [])
    with pytest.raises(EngineError, match="no token is left"):
        chooser.verify(np.zeros((1, 10), np.float32), [])
    with pytest.raises(EngineError, match="no token is left"):
        ForcedChooser(())


def test_a_reply_is_taken_up_where_it_was():
    chooser = ForcedChooser(REPLY)
    chooser.resume(REPLY[:3])
    assert chooser.verify(np.zeros((2, 10), np.float32), [8]) == (1, 9)


@pytest.mark.parametrize(
    ("max_tokens", "n_said", "n_most"),
    [(100, 0, 5), (5, 0, 5), (3, 0, 3), (98, 2, 3), (1, 2, 1), (95, 5, 0)],
)
def test_a_forced_reply_is_no_longer_than_what_is_forced(max_tokens, n_said, n_most):
    command = Generate(
        request=1,
        sequence="coder",
        turn=1,
        role="coder",
        messages=(),
        max_tokens=max_tokens,
        said=REPLY[:n_said],
        forced=REPLY,
    )
    assert command.n_most == n_most


@pytest.mark.parametrize("drafter", ["none", "agspec-sam"])
async def test_a_real_target_says_a_forced_reply_and_is_free_again(drafter, make_client, smollm2):
    client, _ = make_client()
    load = LoadModel(path=str(smollm2), name="small", n_ctx=1024, n_threads=1)
    await client.start(load, ConfigureDrafting(drafter=drafter))
    free = Generate(
        request=1,
        sequence="coder",
        turn=1,
        role="coder",
        messages=(Message("user", TEXT),),
        max_tokens=24,
    )
    own = await client.generate(free)
    forced = (*own.ids[:8], *reversed(own.ids[8:]), *own.ids[:6])
    settings = {"forced": forced, "max_tokens": 1000}
    said = await client.generate(replaced(free, request=2, **settings))
    assert (said.ids, said.n_tokens, said.stop_reason) == (forced, len(forced), "length")
    again = await client.generate(replaced(free, request=3))
    assert again.ids == own.ids


async def test_forced_replies_stay_apart_when_asked_at_once(make_client, smollm2):
    client, _ = make_client()
    load = LoadModel(path=str(smollm2), name="small", n_ctx=1024, n_threads=1)
    await client.start(load, ConfigureDrafting())
    replies = [tuple(range(100 + 50 * one, 112 + 50 * one)) for one in range(3)]
    said = await asyncio.gather(
        *(
            client.generate(
                Generate(
                    request=number,
                    sequence=f"s{number}",
                    turn=1,
                    role="coder",
                    messages=(Message("user", TEXT),),
                    forced=reply,
                )
            )
            for number, reply in enumerate(replies, 1)
        )
    )
    assert [one.ids for one in said] == replies


def replaced(command: Generate, **fields: object) -> Generate:
    return msgspec.structs.replace(command, **fields)
