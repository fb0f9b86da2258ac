"""Cached sequences on disk: written when a session asks, taken up again when it is resumed.

A folder holds one file a sequence and an index. The index is bound to the model file, the
tokenizer, the context and the build of llama.cpp, and holds a hash of every file: llama.cpp trusts
what it reads, so nothing is given to it that is not exactly what was written. The files hold what
the model has read, so only their owner may read them.
"""

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from agspec_tui.commands import LoadModel
from agspec_tui.engine.cache import KvCache
from agspec_tui.engine.scripted import SCHEME
from agspec_tui.engine.types import Backend
from agspec_tui.errors import EngineError

_INDEX = "index.json"
_SUFFIX = ".cells"
_NEW = ".new"
_BLOCK = 1 << 20
_N_SAMPLES = 64
_SAMPLE = 1 << 16
_BESIDE_THE_CONTEXT = frozenset(
    ("path", "name", "record", "n_batch", "n_threads", "n_threads_batch", "n_seq_max", "spoken")
)
"""Settings of `LoadModel` that a cell does not depend on."""


class SavedSequence(msgspec.Struct, frozen=True):
    """One sequence in a folder."""

    name: str
    """Name of the sequence."""
    file: str
    """Its file in the folder."""
    n_tokens: int
    """Tokens in its cells."""
    digest: str
    """Hash of the file, hex."""


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a folder holds, and for which model."""

    schema: int
    """Number of this format; 1."""
    binding: str
    """What the cells depend on, hashed: model file, tokenizer, context, build."""
    sequences: tuple[SavedSequence, ...]
    """The sequences, the one used last first."""


def binding(load: LoadModel, backend: Backend) -> str:
    """What cells of a loaded model depend on, as a hash in hex.

    Of a large model file its size and evenly spaced parts are hashed, which takes no time and
    tells files apart that were not made to look alike.
    """
    settings = msgspec.to_builtins(load)
    kept = {key: settings[key] for key in sorted(settings) if key not in _BESIDE_THE_CONTEXT}
    digest = hashlib.blake2b(msgspec.json.encode([kept, backend.n_ctx]), digest_size=32)
    digest.update(backend.fingerprint())
    with contextlib.suppress(PackageNotFoundError):
        digest.update(version("llama-cpp-python").encode())
    path = Path(load.path.removeprefix(SCHEME))
    size = path.stat().st_size
    digest.update(b"%d" % size)
    with path.open("rb") as file:
        for part in range(_N_SAMPLES):
            file.seek(max(0, size - _SAMPLE) * part // (_N_SAMPLES - 1))
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def save(cache: KvCache, bound_to: str, folder: Path) -> tuple[Index, int]:
    """Write every cached sequence to a folder, replacing what is there.

    Whoever reads the folder meanwhile, or after a crash, finds the old state or the new one.

    Returns:
        What the folder holds now, and the size of its files in bytes.

    Raises:
        EngineError: it cannot be written.
    """
    sequences, n_bytes = [], 0
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, tokens in cache.named():
            path = folder / f"{secrets.token_hex(8)}{_SUFFIX}"
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            n_bytes += cache.save(name, path)
            sequences.append(SavedSequence(name, path.name, len(tokens), _digest(path)))
        index = Index(1, bound_to, tuple(sequences))
        new = folder / f"{secrets.token_hex(8)}{_NEW}"
        with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(msgspec.json.encode(index))
        new.replace(folder / _INDEX)
    except OSError as error:
        raise EngineError(
            f"the cache could not be saved: {error}", "free some space, or choose another folder"
        ) from error
    finally:
        _remove_unnamed(folder)
    return index, n_bytes


def restore(
    cache: KvCache, bound_to: str, folder: Path
) -> tuple[list[SavedSequence], tuple[str, ...]]:
    """Take up what a folder holds, as far as it is for this model, whole, and there is room.

    Returns:
        The sequences that are cached again, and a line for everything that was left out.
    """
    try:
        index = msgspec.json.decode((folder / _INDEX).read_bytes(), type=Index)
    except FileNotFoundError:
        return [], ("nothing is saved there",)
    except (OSError, msgspec.DecodeError) as error:
        return [], (f"what is saved there cannot be read: {error}",)
    if index.schema != 1 or index.binding != bound_to:
        return [], ("what is saved there is of another model, context or build",)
    taken, notes = [], []
    for one in index.sequences:
        note = _restored(cache, one, folder)
        if note:
            notes.append(f"{one.name}: {note}")
        else:
            taken.append(one)
    return taken, tuple(notes)


def _restored(cache: KvCache, saved: SavedSequence, folder: Path) -> str:
    """Take up one sequence; returns why not, empty if it was."""
    path = folder / Path(saved.file).name
    try:
        whole = _digest(path) == saved.digest
    except OSError as error:
        return f"its file cannot be read: {error.strerror}"
    if not whole:
        return "its file is damaged"
    if not cache.restore(saved.name, saved.n_tokens, path):
        return "there is no room for it"
    return ""


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=32)
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def _remove_unnamed(folder: Path) -> None:
    """Remove the files that the index does not name: older ones, or those of a failed save."""
    kept: set[str] = set()
    with contextlib.suppress(OSError, msgspec.DecodeError):
        index = msgspec.json.decode((folder / _INDEX).read_bytes(), type=Index)
        kept = {one.file for one in index.sequences}
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.suffix in (_SUFFIX, _NEW) and path.name not in kept:
                path.unlink()
