"""Counts what a text is made of."""

import re


def words(text):
    """The words of a text in lower case, in order."""
    return re.findall(r"[a-z']+", text.lower())


def counts(text):
    """How often each word occurs."""
    found = {}
    for word in words(text):
        found[word] = found.get(word, 0) + 1
    return found
