"""Rows of the bug log about the engine itself; each test names its row."""

import os

import pytest

from agspec_tui.commands import ConfigureDrafting, LoadModel, Sampling
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.off import Off
from tests.engine.one_reply import reply_of

pytestmark = pytest.mark.model

WISH = "Count: " + " ".join(str(n) for n in range(1, 25))


@pytest.mark.parametrize(("n_ctx", "n_batch", "k"), [(256, 16, 64), (192, 32, 15), (192, 512, 400)])
def test_e03_drafts_end_where_context_and_batch_end(smollm2, n_ctx, n_batch, k):
    load = LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=n_ctx, n_batch=n_batch)
    backend = LlamaBackend(load)
    try:
        # It never ends by itself, so the context ends it.
        never = tuple((token, -1e9) for token in range(backend.n_vocab) if backend.is_eog(token))
        more = {"sampling": Sampling(logit_bias=never), "max_tokens": 10_000}
        plain = reply_of(backend, make_drafter("none"), Off(), WISH, **more)
        drafted = reply_of(backend, make_drafter("agspec-sam"), Fixed(k), WISH, **more)
        n_ctx = backend.n_ctx  # llama.cpp rounds it up
    finally:
        backend.close()
    assert (plain.stop_reason, drafted.stop_reason) == ("context", "context")
    assert drafted.ids == plain.ids
    assert drafted.n_prompt + drafted.n_tokens <= n_ctx
    assert drafted.n_drafted > 0


async def test_e07_loading_a_model_leaves_the_outputs_of_this_process_alone(
    make_client, smollm2, capfd
):
    before = [os.fstat(fd) for fd in (1, 2)]
    client, _ = make_client()
    await client.start(LoadModel(path=str(smollm2), name="m", n_ctx=256), ConfigureDrafting())
    os.write(1, b"still here\n")
    assert [(s.st_dev, s.st_ino) for s in map(os.fstat, (1, 2))] == [
        (s.st_dev, s.st_ino) for s in before
    ]
    assert capfd.readouterr() == ("still here\n", "")
