"""Replies that did not end by themselves: nothing of them is ever applied."""

from agspec_tui.errors import EditError

_COMPLETE = ("eog", "stop", "")


def refuse_cut(stop_reason: str, n_tokens: int) -> None:
    """Refuse a reply by the reason it ended for, before any of it is read.

    A part of a reply may well look complete: an edit whose last hunk is missing, a file whose last
    lines are.

    Args:
        stop_reason: Why the engine ended the reply.
        n_tokens: Its length, for the message.

    Raises:
        EditError: it was cut off, repeated itself, was cancelled or failed.
    """
    if stop_reason in _COMPLETE:
        return
    if stop_reason == "loop":
        raise EditError(
            f"the reply repeated itself and was ended after {n_tokens} tokens",
            "write each line once",
        )
    why = "cut off" if stop_reason in ("length", "context") else f"ended ({stop_reason})"
    raise EditError(f"the reply was {why} after {n_tokens} tokens", "answer more briefly")
