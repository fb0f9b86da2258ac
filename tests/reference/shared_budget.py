"""Slow twins of the shared budget of a batch: every way to share it is looked at."""

from itertools import product


def most_saved(worths, times, n_tokens):
    """The largest Σ worth − T(n) over all lengths of all drafts, T at n = 0, 1, …."""
    best = None
    for lengths in product(*(range(len(each) + 1) for each in worths)):
        n = sum(lengths)
        if n > n_tokens:
            continue
        saved = saved_by(worths, times, lengths)
        best = saved if best is None or saved > best else best
    return best


def saved_by(worths, times, lengths):
    """Σ worth − T(n) of one way to share."""
    gained = sum(sum(each[:k]) for each, k in zip(worths, lengths, strict=True))
    return gained - times[sum(lengths)]


def lower_hull(values):
    """The lower convex hull of values at 0, 1, …: the lowest chord over each place."""
    out = []
    for k in range(len(values)):
        chords = [
            values[i] + (values[j] - values[i]) * (k - i) / (j - i) if j > i else values[k]
            for i in range(k + 1)
            for j in range(k, len(values))
        ]
        out.append(min(chords))
    return out


def most_saved_in_order(worths, chances, times, n_tokens):
    """The largest Σ worth − T(n) of n ≤ `n_tokens` positions, the likeliest first.

    Of equals the first positions of each draft come first, then the first draft.
    """
    positions = sorted(
        (-chance, depth, owner, worth)
        for owner, (of, each) in enumerate(zip(chances, worths, strict=True))
        for depth, (chance, worth) in enumerate(zip(of, each, strict=True))
    )
    gained = [0.0]
    for *_, worth in positions[:n_tokens]:
        gained.append(gained[-1] + worth)
    return max(gain - times[n] for n, gain in enumerate(gained))
