"""What the bytes of a file are: text with its line ends made equal, or what else."""

_TYPES = (
    (b"\x89PNG", "PNG image"),
    (b"GIF8", "GIF image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"%PDF", "PDF document"),
    (b"\x1f\x8b", "gzip archive"),
    (b"7z\xbc\xaf", "7-Zip archive"),
    (b"\x7fELF", "ELF program"),
    (b"\0asm", "WebAssembly module"),
    (b"SQLite format 3", "SQLite database"),
    (b"GGUF", "GGUF model"),
)
_ZIPPED = {
    "docx": "Word document",
    "jar": "Java archive",
    "odp": "OpenDocument presentation",
    "ods": "OpenDocument spreadsheet",
    "odt": "OpenDocument text",
    "pptx": "PowerPoint presentation",
    "whl": "Python wheel",
    "xlsx": "Excel spreadsheet",
}


def decoded(data: bytes | None) -> str | None:
    """Text with `\\n` line ends and no byte order mark; None if it is no UTF-8 text."""
    if data is None or b"\0" in data:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def not_text(path: str, data: bytes) -> str:
    """Why bytes are no text, as `binary, N bytes, type X`; empty if they are UTF-8 text."""
    if b"\0" in data or data.startswith(b"%PDF"):
        return f"binary, {len(data)} bytes, type {_type(path, data)}"
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        kind = _type(path, data)
        if kind != "unknown":
            return f"binary, {len(data)} bytes, type {kind}"
        return f"not UTF-8 text (byte {error.start}), {len(data)} bytes"
    return ""


def _type(path: str, data: bytes) -> str:
    extension = path.rpartition(".")[2].lower()
    if data.startswith(b"PK\x03\x04"):
        return _ZIPPED.get(extension, "zip archive")
    return next((name for mark, name in _TYPES if data.startswith(mark)), "unknown")
