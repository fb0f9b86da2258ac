"""What tests of one loaded target have in common."""

import pytest


@pytest.fixture
def clean(backend):
    """The module's `backend`, its cache empty and nothing aborted."""
    for slot in range(4):
        assert backend.trim(slot, 0)
    backend.abort(on=False)
    return backend
