"""Print what to install, one requirement a line, read from pyproject.toml.

`requirements.py run` names the run-time dependencies and the build tools, `dev` the development
tools, `llama` the pinned llama-cpp-python alone. llama-cpp-python is never among `run`: it is
compiled with our flags by `llama_wheel.py`.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LLAMA = "llama-cpp-python"
BUILD_TOOLS = ("cmake", "ninja", "pybind11", "scikit-build-core")


def name_of(requirement: str) -> str:
    """`cmake` of `cmake>=3.24,<4`."""
    for index, character in enumerate(requirement):
        if character in "<>=!~[; ":
            return requirement[:index].lower()
    return requirement.lower()


def requirements(kind: str) -> list[str]:
    """Requirements of one kind: `run`, `dev` or `llama`.

    Raises:
        KeyError: no such kind, or pyproject.toml lacks what is asked for.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    run = project["dependencies"]
    dev = project["optional-dependencies"]["dev"]
    return {
        "run": [r for r in run if name_of(r) != LLAMA]
        + [r for r in dev if name_of(r) in BUILD_TOOLS],
        "dev": dev,
        "llama": [r for r in run if name_of(r) == LLAMA],
    }[kind]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
