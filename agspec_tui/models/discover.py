"""Finds GGUF files that other programs have fetched. Only looks; never writes or moves anything."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from agspec_tui.config import models_dir
from agspec_tui.models.catalogue import entry_named

_MAX_DEPTH = 6
_MAX_FOLDERS = 5000
_MAX_MANIFEST_BYTES = 1 << 20
_OLLAMA_MODEL = "application/vnd.ollama.image.model"


class FoundModel(msgspec.Struct, frozen=True):
    """A GGUF file on this machine that is not of the catalogue."""

    name: str
    """File stem, or `model:tag` for Ollama; a model can be named by it."""
    path: Path
    """The file."""
    n_bytes: int
    """Its size in bytes."""
    place: str
    """Whose folder it is in: `models folder`, `hub`, `LM Studio`, `llama.cpp` or `Ollama`."""


class _Layer(msgspec.Struct, rename="camel"):
    media_type: str = ""
    """What the layer is."""
    digest: str = ""
    """Hash that names its blob, `sha256:…`."""


class _Manifest(msgspec.Struct):
    layers: list[_Layer] = []
    """The files of one model."""


def discover() -> list[FoundModel]:
    """Every GGUF in the usual places, by name; of several with one name the first place wins."""
    found: dict[str, FoundModel] = {}
    for place, folder in _folders():
        models = _ollama(folder) if place == "Ollama" else _files(folder, place)
        for model in models:
            found.setdefault(model.name, model)
    return sorted(found.values(), key=lambda model: model.name.lower())


def _folders() -> list[tuple[str, Path]]:
    home = Path.home()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    hub_home = Path(os.environ.get("HF_HOME") or cache / "huggingface")
    return [
        ("models folder", models_dir()),
        ("hub", Path(os.environ.get("HF_HUB_CACHE") or hub_home / "hub")),
        ("LM Studio", home / ".lmstudio" / "models"),
        ("LM Studio", cache / "lm-studio" / "models"),
        ("llama.cpp", Path(os.environ.get("LLAMA_CACHE") or cache / "llama.cpp")),
        ("llama.cpp", home / "Library" / "Caches" / "llama.cpp"),
        ("Ollama", Path(os.environ.get("OLLAMA_MODELS") or home / ".ollama" / "models")),
        ("Ollama", Path("/usr/share/ollama/.ollama/models")),
    ]


def _files(folder: Path, place: str) -> Iterator[FoundModel]:
    for path in _walk(folder):
        if path.suffix.lower() != ".gguf":
            continue
        # A projector is no language model, and a shard no whole one.
        if path.stem.lower().startswith("mmproj") or "-of-0" in path.stem:
            continue
        if place == "models folder" and entry_named(path.stem) is not None:
            continue
        n_bytes = _size(path)
        if n_bytes:
            yield FoundModel(path.stem, path, n_bytes, place)


def _ollama(folder: Path) -> Iterator[FoundModel]:
    """Models of Ollama: a manifest names the blob that is the GGUF."""
    for path in _walk(folder / "manifests"):
        try:
            with path.open("rb") as stream:
                content = stream.read(_MAX_MANIFEST_BYTES)
            manifest = msgspec.json.decode(content, type=_Manifest)
        except (OSError, msgspec.DecodeError):
            continue
        for layer in manifest.layers:
            digest = layer.digest.replace(":", "-")
            if layer.media_type != _OLLAMA_MODEL or not digest.removeprefix("sha256-").isalnum():
                continue
            blob = folder / "blobs" / digest
            n_bytes = _size(blob)
            if n_bytes:
                yield FoundModel(f"{path.parent.name}:{path.name}", blob, n_bytes, "Ollama")


def _walk(folder: Path) -> Iterator[Path]:
    """Files below a folder, in order of name, within a bounded depth and number of folders."""
    base_depth = len(folder.parts)
    for parent, folders, names in islice(os.walk(folder), _MAX_FOLDERS):
        folders.sort()
        if len(Path(parent).parts) - base_depth >= _MAX_DEPTH:
            folders.clear()
        for name in sorted(names):
            yield Path(parent) / name


def _size(path: Path) -> int:
    """Size of a regular file, links followed; 0 if there is none."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
