"""The best draft lengths for a reply that is known: what no policy can do better than.

The oracle of `replay.oracle` drafts all that will be accepted, R. Where T(n) is a stair that is not
always best: a shorter draft may cost less than its tokens save, or the next position may have the
longer one. With R known at every position, the shortest way through the reply is found backwards:

    V(n) = 0,  V(i) = min over 0 ≤ k ≤ min(R_i, K) of  T(1 + k) + V(i + k + 1)
"""

from collections.abc import Sequence


def best_time(reusable: Sequence[int], times: Sequence[float]) -> float:
    """Least time in which the tokens of a reply can be decoded.

    Args:
        reusable: R at every position: leading tokens of the longest draft there that the reply
            repeats; shape (n,).
        times: T(1 + k) for drafts of k = 0 … K tokens, K being the longest that may be drafted;
            shape (K + 1,).

    Returns:
        V(0), in the unit of `times`; 0 for an empty reply.
    """
    n = len(reusable)
    longest = len(times) - 1
    left = [0.0] * (n + 1)
    for i in range(n - 1, -1, -1):
        # A draft that reaches the last token leaves nothing for the bonus token.
        most = min(reusable[i], longest, n - 1 - i)
        left[i] = min(times[k] + left[i + k + 1] for k in range(most + 1))
    return left[0]
