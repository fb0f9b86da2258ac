"""A tokenizer that needs no model: every word and every other character is a token."""

import re
import zlib

import numpy as np

from agspec_tui.drafting.types import Ids


class Words:
    """Ids are hashes, so that every instance gives the same ones."""

    n_vocab = 1 << 20

    def __init__(self) -> None:
        self.n_texts = 0

    def tokenize(self, text: str, *, special: bool) -> Ids:
        self.n_texts += 1
        data = text.encode("utf-8", "surrogatepass")
        return np.array([zlib.crc32(word) % self.n_vocab for word in _PART.findall(data)], np.int32)

    def fingerprint(self) -> bytes:
        return b"words".ljust(32, b".")


_PART = re.compile(rb" ?\w+|\s+|.")
