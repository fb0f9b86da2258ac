"""Copies that go on after an edit, followed one token at a time over plain lists."""

from dataclasses import dataclass


@dataclass
class Copy:
    text: list[int]
    """The whole text that is copied from."""
    at: int
    """Index of the token that comes next in it."""
    n_agreeing: int
    """Tokens of the context's end that agree with the text before it."""


def n_same_before(text, at, context, most):
    n = 0
    while n < min(at, len(context), most) and text[at - 1 - n] == context[len(context) - 1 - n]:
        n += 1
    return n


def window(copy):
    """What was copied last, at most 16 tokens, and the next 64 of the text."""
    back = min(copy.n_agreeing, 16)
    return copy.text[copy.at - back : copy.at + 64], back


def place_to_go_on(left, context, match_length):
    """The nearest place behind the one that was left at which the context's end fits."""
    around, back = left
    for at in range(back, len(around)):
        n = n_same_before(around, at, context, 16)
        fits = n >= match_length if n < 2 else n >= match_length - 1
        if n > 0 and at - back <= 8 * n and fits:
            return at - back, n
    return None


class NaiveCopies:
    """Told of every token with the longest live match there, as a text and an index in it."""

    def __init__(self, context):
        self.context = list(context)
        self.copy = None
        self.left = None
        self.n_earlier = 0

    def begin(self, match_length, text, at):
        if match_length >= 8 and text is not None:
            self.copy, self.left, self.n_earlier = Copy(text, at, match_length), None, 0

    def feed(self, token, match_length, text, at):
        copy = self.copy
        if copy is not None and copy.at < len(copy.text) and copy.text[copy.at] == token:
            copy.at += 1
            copy.n_agreeing += 1
            self.context.append(token)
            return
        if copy is not None and copy.n_agreeing >= 4:
            self.n_earlier = min(64, copy.n_agreeing + self.n_earlier // 2)
            around, back = window(copy)
            self.left = copy.text, copy.at, around, back
            self.n_inserted = 0
        self.copy = None
        self.context.append(token)
        if self.left is not None:
            self.n_inserted += 1
            if self.n_inserted > 64:
                self.left = None
        if self.left is not None:
            source, place, around, back = self.left
            found = place_to_go_on((around, back), self.context, match_length)
            if found is not None:
                n_skipped, n = found
                self.copy = Copy(source, place + n_skipped, n)
                return
        self.begin(match_length, text, at)

    def resumed(self):
        """The copy that goes on after an edit; None without one."""
        return self.copy if self.n_earlier and self.copy is not None else None
