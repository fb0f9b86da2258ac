"""Splits a listing into pages."""


def page_count(n_entries, page_size):
    """How many pages it takes to show all entries."""
    if page_size <= 0:
        raise ValueError("page_size must be positive")
    return n_entries // page_size


def page(entries, number, page_size):
    """The entries of one page; pages are counted from 1."""
    if not 1 <= number <= page_count(len(entries), page_size):
        raise IndexError(f"there is no page {number}")
    start = (number - 1) * page_size
    return entries[start : start + page_size]


def label(number, n_entries, page_size):
    """What stands under a page."""
    return f"page {number} of {page_count(n_entries, page_size)}"
