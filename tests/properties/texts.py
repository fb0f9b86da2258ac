"""Texts of token ids for the engines: random ones, and those that are hard for suffix structures.

A negative id is a separator.
"""

from hypothesis import strategies as st


def texts(min_size=0, max_size=60):
    """Small alphabets, so that most substrings occur again; a few separators."""
    token = st.one_of(st.integers(0, 2), st.integers(0, 2), st.integers(0, 5), st.just(-1))
    return st.lists(token, min_size=min_size, max_size=max_size)


def fibonacci_word(n):
    """The first `n` tokens of the infinite Fibonacci word over 0 and 1."""
    shorter, word = [0], [0, 1]
    while len(word) < n:
        shorter, word = word, word + shorter
    return word[:n]


def with_separators(text, every):
    """The text with a separator behind each `every` tokens."""
    parted = []
    for i, token in enumerate(text, 1):
        parted += [token, -i] if i % every == 0 else [token]
    return parted


runs = st.builds(
    lambda n, tail: [1] * n + tail,
    st.integers(1, 160),
    texts(max_size=12),
)

broken_runs = st.builds(
    lambda lengths, breaks: [
        token
        for length, other in zip(lengths, breaks, strict=False)
        for token in [1] * length + [other]
    ],
    st.lists(st.integers(0, 90), min_size=1, max_size=4),
    st.lists(st.integers(-1, 2), min_size=4, max_size=4),
)

periodic = st.builds(
    lambda period, n, tail: (period * n)[:160] + tail,
    st.lists(st.integers(0, 2), min_size=1, max_size=40),
    st.integers(1, 160),
    texts(max_size=8),
)

fibonacci = st.builds(
    lambda n, tail: fibonacci_word(n) + tail,
    st.integers(1, 150),
    texts(max_size=8),
)

parted = st.builds(
    with_separators,
    st.one_of(texts(max_size=120), periodic, fibonacci),
    st.integers(1, 9),
)

adversarial = st.one_of(runs, broken_runs, periodic, fibonacci, parted)
"""Runs of one token, broken runs, periods, Fibonacci words, and any of them between separators."""

any_text = st.one_of(texts(), texts(), adversarial)
