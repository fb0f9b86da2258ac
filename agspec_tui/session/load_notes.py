"""What a person must be told once a model is loaded."""

import sys

from agspec_tui.engine_events import ModelLoaded


def load_notes(event: ModelLoaded) -> list[tuple[str, str]]:
    """Messages with their hints: what leaves the machine, and what is not as it could be."""
    notes = []
    if event.servers:
        notes.append(
            (
                f"what the model reads and writes goes to {', '.join(event.servers)}",
                "these RPC servers hold layers of it; without --rpc nothing leaves this machine",
            )
        )
    if not event.rollback:
        reason = event.no_rollback or "this memory cannot be wound back"
        notes.append((f"drafting is off: {reason}", "replies are decoded token by token"))
    if event.no_template:
        message = "messages are set in ChatML, not in the model's own template"
        notes.append((f"{message}: {event.no_template}", "if replies are odd, try another file"))
    return notes


def show_load_notes(event: ModelLoaded) -> None:
    """Print them as warnings to stderr."""
    for message, hint in load_notes(event):
        print(f"warning: {message} ({hint})", file=sys.stderr)
