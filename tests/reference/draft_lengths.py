"""Slow twins of survival estimates and draft lengths, written from their definitions."""

from functools import cache

N_TAIL, N_BEHIND, SURE = 16, 64, 0.999_999


def survival(drafts, k_max):
    """Pr(R ≥ k) for k = 1 … k_max of drafts (D, A), by the definition of Kaplan and Meier."""
    out, alive = [], 1.0
    for j in range(1, k_max + 1):
        verified = [(d, a) for d, a in drafts if d >= j and a >= j - 1]
        failed = [(d, a) for d, a in verified if a == j - 1]
        if not verified:
            return out
        alive *= 1.0 - len(failed) / len(verified)
        out.append(alive)
    return out


def least_time(hazards, times, room):
    """Least expected time through a copy for each length of its first draft.

    Args:
        hazards: of failing at position 1, 2, …; the mean of the last 16 holds behind them.
        times: T(1 + k) for k = 0, 1, ….
        room: most tokens of a draft.
    """
    n = len(hazards)
    tail = sum(hazards[-N_TAIL:]) / N_TAIL

    def holds(position):
        return 1.0 - min(SURE, hazards[position - 1] if position <= n else tail)

    def goes_on(j, k):
        chance = 1.0
        for position in range(j + 1, j + k + 2):
            chance *= holds(position)
        return chance

    @cache
    def least(j):
        if j >= n + N_BEHIND:
            return 0.0
        return min(of_length(j, k) for k in range(room + 1))

    def of_length(j, k):
        return times[k] + goes_on(j, k) * least(j + k + 1)

    for j in range(n + N_BEHIND, 0, -1):
        least(j)  # from the end, so that the recursion stays shallow
    return [of_length(0, k) for k in range(room + 1)]


def least_time_to_the_end(hazards, times, room):
    """The same where nothing is left to decode behind `room` + 1 tokens.

    Args:
        hazards: of failing at position 1, 2, …, as many as there is room.
        times: T(1 + k) for k = 0, 1, ….
        room: tokens that may be drafted before the reply is over.
    """

    def of_length(j, k):
        chance = 1.0
        for position in range(j + 1, min(j + k + 1, room) + 1):
            chance *= 1.0 - min(SURE, hazards[position - 1])
        return times[k] + (chance * least(j + k + 1) if j + k < room else 0.0)

    @cache
    def least(j):
        return min(of_length(j, k) for k in range(room - j + 1))

    return [of_length(0, k) for k in range(room + 1)]
