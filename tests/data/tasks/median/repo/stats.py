"""Simple statistics."""


def mean(values):
    """The mean; raises ValueError if there are no values."""
    if not values:
        raise ValueError("no values")
    return sum(values) / len(values)


def spread(values):
    """Largest minus smallest; raises ValueError if there are no values."""
    if not values:
        raise ValueError("no values")
    return max(values) - min(values)


def statistics_of(values):
    """All of them by name."""
    return {"mean": mean(values), "spread": spread(values)}
