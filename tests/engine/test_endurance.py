import asyncio

import pytest

from bench.endurance import MOST_GROWTH, measure


@pytest.mark.timeout(600)
def test_an_engine_that_says_many_short_replies_does_not_grow(tmp_path, smollm2):
    report = asyncio.run(measure(str(smollm2), 120, 2))
    assert report["n_deaths"] == 0
    # The first tenth of so few is not enough for the allocator to have settled.
    assert report["growth"] < 3 * MOST_GROWTH, report
    assert report["n_fds"]["end"] == report["n_fds"]["settled"], report
    assert report["n_threads"]["end"] == report["n_threads"]["settled"], report
