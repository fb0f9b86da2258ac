"""Counts open internet sockets, so that `nothing leaves the machine` is measured, not claimed."""

import os
from collections.abc import Iterable

import psutil


def count_sockets(pids: Iterable[int | None]) -> int:
    """Open internet sockets, TCP and UDP, of these processes; gone ones have none."""
    n_sockets = 0
    for pid in pids:
        if pid is None:
            continue
        try:
            n_sockets += len(psutil.Process(pid).net_connections(kind="inet"))
        except psutil.Error:
            continue
    return n_sockets


class EgressMeter:
    """The most internet sockets seen open at once, over the whole session."""

    def __init__(self) -> None:
        self.n_max = 0
        """Most sockets seen so far."""

    def sample(self, engine_pid: int | None) -> int:
        """Count the sockets of this process and the engine process now."""
        self.n_max = max(self.n_max, count_sockets((os.getpid(), engine_pid)))
        return self.n_max
