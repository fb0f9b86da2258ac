import hashlib
import os
import stat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.drafting.corpus_file import (
    HEADER_BYTES,
    CorpusHeader,
    open_corpus,
    read_header,
    write_corpus,
)
from agspec_tui.drafting.global_corpus import GlobalCorpus
from agspec_tui.errors import DraftError

PRINT = bytes(range(32))
DOCUMENTS = [("one call 0 user", [1, 2, 3, 4, 5]), ("zwei ü", [9, 1, 2, 3, 7, 8]), ("", [4])]


def write(path, documents=DOCUMENTS, n_vocab=10):
    named = [(name, np.array(ids, dtype=np.int32)) for name, ids in documents]
    return write_corpus(path, named, PRINT, n_vocab)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "small.corpus"
    write(path)
    return path


def resealed(data, change):
    """The file with another header, its checksum right again."""
    fields = CorpusHeader.__dataclass_fields__
    path_header = change.pop("old")
    header = CorpusHeader(**{f: change.get(f, getattr(path_header, f)) for f in fields})
    return header.packed() + data[HEADER_BYTES:]


def test_what_was_written_is_read(corpus):
    file = open_corpus(corpus, PRINT, 10)
    assert file.ids.tolist() == [1, 2, 3, 4, 5, -1, 9, 1, 2, 3, 7, 8, -2, 4]
    assert file.array.check_integrity() == ""
    assert file.locate(0) == ("one call 0 user", 0)
    assert file.locate(4) == ("one call 0 user", 4)
    assert file.locate(6) == ("zwei ü", 0)
    assert file.locate(13) == ("", 0)
    assert file.header == read_header(corpus)
    assert file.header.n_bytes == corpus.stat().st_size
    assert (file.header.n_tokens, file.header.n_documents) == (14, 3)
    assert not file.ids.flags.writeable


def test_a_corpus_is_its_owner_s_alone_and_leaves_nothing_beside_it(corpus):
    assert stat.S_IMODE(corpus.stat().st_mode) == 0o600
    assert [path.name for path in corpus.parent.iterdir()] == [corpus.name]


def test_a_corpus_that_is_open_survives_its_replacement(corpus):
    file = open_corpus(corpus)
    write(corpus, [("new", [5])])
    assert file.array.check_integrity() == ""
    assert file.locate(6) == ("zwei ü", 0)
    assert open_corpus(corpus).ids.tolist() == [5]


def test_empty_documents_are_left_out(tmp_path):
    header = write(tmp_path / "c", [("a", []), ("b", [1]), ("c", [])])
    assert (header.n_documents, header.n_tokens) == (1, 1)
    assert open_corpus(tmp_path / "c").locate(0) == ("b", 0)


@pytest.mark.parametrize("documents", [[], [("a", [])], [("a", [10])], [("a", [1, -1])]])
def test_no_text_and_ids_out_of_range_are_refused(tmp_path, documents):
    with pytest.raises(DraftError):
        write(tmp_path / "c", documents)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_missing_or_closed_is_an_error(tmp_path):
    with pytest.raises(DraftError, match="cannot be written"):
        write(tmp_path / "none" / "c")
    with pytest.raises(DraftError, match="cannot be written"):
        write(tmp_path)


@pytest.mark.parametrize("n_bytes", [0, 1, HEADER_BYTES - 1])
def test_a_file_shorter_than_a_header_is_refused(tmp_path, n_bytes):
    path = tmp_path / "c"
    path.write_bytes(bytes(n_bytes))
    with pytest.raises(DraftError, match="less than a header"):
        open_corpus(path)


def test_what_is_no_corpus_file_is_refused(tmp_path):
    other = tmp_path / "c"
    other.write_bytes(os.urandom(500))
    os.mkfifo(tmp_path / "pipe")
    for path, fault in [
        (other, "no corpus file"),
        (tmp_path, "no file"),
        (tmp_path / "pipe", "no file"),
        (tmp_path / "none", "does not exist"),
        (tmp_path / ("x" * 300), "cannot be read"),
    ]:
        with pytest.raises(DraftError, match=fault) as caught:
            open_corpus(path)
        assert caught.value.hint
        assert "\n" not in caught.value.one_line()


@pytest.mark.parametrize(("fingerprint", "n_vocab"), [(bytes(32), 10), (PRINT, 11), (b"", 10)])
def test_a_corpus_of_another_tokenizer_is_refused(corpus, fingerprint, n_vocab):
    with pytest.raises(DraftError, match="another model"):
        open_corpus(corpus, fingerprint, n_vocab)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"version": 2}, "version 2"),
        ({"n_tokens": 13}, "bytes"),
        ({"n_tokens": 2**40}, "bytes"),
        ({"n_documents": 0, "n_name_bytes": 36 + 22}, "no text"),
        ({"n_documents": 2, "n_name_bytes": 12 + 22}, "documents do not fill"),
        ({"created_s": 2**63}, "date"),
        ({"n_vocab": 9}, "n_vocab"),
        ({"n_vocab": 2**31}, "n_vocab"),
    ],
)
def test_headers_that_lie_under_a_right_checksum_are_refused(corpus, change, fault):
    old = read_header(corpus)
    corpus.write_bytes(resealed(corpus.read_bytes(), {"old": old, **change}))
    with pytest.raises(DraftError, match=fault):
        open_corpus(corpus)


@pytest.fixture(scope="module")
def forged(tmp_path_factory):
    """A function that writes the small corpus with one byte changed under right checksums."""
    path = tmp_path_factory.mktemp("forged") / "c"
    write(path)
    old, data = read_header(path), path.read_bytes()

    def forge(at, bits):
        payload = bytearray(data[HEADER_BYTES:])
        payload[at] ^= bits
        digest = hashlib.blake2b(payload, digest_size=32).digest()
        header = resealed(b"", {"old": old, "payload_digest": digest})
        path.write_bytes(header[:HEADER_BYTES] + payload)
        return path

    return forge


@settings(max_examples=200, deadline=None)
@given(at=st.integers(0, 14 * 9 + 36 + 21), bits=st.integers(1, 255), token=st.integers(0, 9))
def test_a_forged_payload_is_refused_or_harmless(forged, at, bits, token):
    try:
        walked = GlobalCorpus(open_corpus(forged(at, bits), PRINT, 10))
    except DraftError:
        return
    for read in ([1, 2], [token], [3], [token, 4]):
        walked.feed(read)
        assert walked.match_length() <= 6
        ids, _, offset = walked.draft(5)
        assert len(ids) <= 5
        assert offset >= 0


def test_a_file_cut_at_any_byte_is_refused(corpus):
    data = corpus.read_bytes()
    for n in range(len(data)):
        corpus.write_bytes(data[:n])
        with pytest.raises(DraftError):
            open_corpus(corpus)
    corpus.write_bytes(data + b"\0")
    with pytest.raises(DraftError, match="damaged"):
        open_corpus(corpus)


def test_a_file_with_any_byte_changed_is_refused(corpus):
    data = bytearray(corpus.read_bytes())
    random = np.random.default_rng(1)
    for n in range(len(data)):
        bits = int(random.integers(1, 256))
        data[n] ^= bits
        corpus.write_bytes(data)
        with pytest.raises(DraftError):
            open_corpus(corpus)
        data[n] ^= bits
    corpus.write_bytes(data)
    assert open_corpus(corpus).header.n_tokens == 14


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_behind_a_right_beginning_are_refused(forged, junk):
    path = forged(0, 0)
    header = path.read_bytes()[:HEADER_BYTES]
    for data in (junk, b"AGSPECGC" + junk, header + junk):
        path.write_bytes(data)
        with pytest.raises(DraftError):
            open_corpus(path)
