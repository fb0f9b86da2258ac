"""Means and differences of series of numbers."""


def mean(values):
    return sum(values) / len(values)


def moving_average(values, window):
    """The mean of each run of `window` neighbouring values, in order."""
    if window < 1:
        raise ValueError("window must be at least 1")
    means = []
    for start in range(len(values) - window):
        means.append(mean(values[start : start + window]))
    return means


def differences(values):
    """How much each value is above the one before it."""
    return [after - before for before, after in zip(values, values[1:])]
