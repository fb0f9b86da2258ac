from pathlib import Path

import pytest

from tests.session.scripted import make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A small repository with a bug in `calc.py` and tests that find it."""
    return make_repo(tmp_path / "repo")
