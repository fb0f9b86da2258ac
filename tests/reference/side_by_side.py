"""Calls side by side as one would do it by hand: a pass at a time, a list of places."""


def passes_of(drafted, batch):
    """Of each pass the calls in it and what they draft, from D of each step of each call."""
    waiting = list(range(len(drafted)))
    step = [0] * len(drafted)
    places, passes = [], []
    while waiting or places:
        while waiting and len(places) < batch:
            places.append(waiting.pop(0))
        passes.append([(call, drafted[call][step[call]]) for call in places])
        for call in places:
            step[call] += 1
        places = [call for call in places if step[call] < len(drafted[call])]
    return passes


def cost_of(passes, time):
    """ΣT(n + ΣD) over passes, for a function from tokens to time."""
    return sum(time(len(each) + sum(d for _, d in each)) for each in passes)


def shares_of(passes, time, n_calls):
    """What each call pays: its part of T(n), and of the rest by its own D."""
    paid = [0.0] * n_calls
    for each in passes:
        n, together = len(each), sum(d for _, d in each)
        for call, d in each:
            paid[call] += time(n) / n
            if together:
                paid[call] += (time(n + together) - time(n)) * d / together
    return paid


def walk(calls, batch, decide):
    """D and A of each step of each call, where all calls of a pass are decided over together.

    Args:
        calls: of each its role, and of each position its evidence, the tokens of the longest draft
            and how many of them are right.
        batch: most calls at once.
        decide: from (role, evidence, room) of each call in a pass to their lengths.
    """
    steps = [[] for _ in calls]
    at = [0] * len(calls)
    waiting, places = list(range(len(calls))), []
    while waiting or places:
        while waiting and len(places) < batch:
            places.append(waiting.pop(0))
        asked = [(calls[c][0], calls[c][1][at[c]][0], len(calls[c][1]) - at[c] - 1) for c in places]
        for call, k in zip(places, decide(asked), strict=True):
            _, n_draft, n_right = calls[call][1][at[call]]
            drafted = min(k, n_draft)
            accepted = min(drafted, n_right)
            steps[call].append((drafted, accepted))
            at[call] += accepted + 1
        places = [call for call in places if at[call] < len(calls[call][1])]
    return steps
