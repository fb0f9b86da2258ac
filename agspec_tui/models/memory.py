"""How much memory a process may still take: the machine's, or its control group's where lower."""

from pathlib import Path

import psutil

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def available_bytes(cgroups: Path = _CGROUPS, membership: Path = _MEMBERSHIP) -> int:
    """Bytes that can be taken without swapping or being killed.

    Args:
        cgroups: where the control groups are mounted.
        membership: the file that says which ones this process is in.
    """
    available = int(psutil.virtual_memory().available)
    room = _cgroup_room(cgroups, membership)
    return available if room is None else min(available, room)


def _cgroup_room(cgroups: Path, membership: Path) -> int | None:
    """Room under the tightest limit of this process's groups and their parents; None if none."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return None
    rooms = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            top, limit, usage, cache = cgroups, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            top = cgroups / "memory"
            limit, usage = "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        folder = top / group.strip("/")
        while True:
            room = _room(folder / limit, folder / usage, folder / "memory.stat", cache)
            if room is not None:
                rooms.append(room)
            if folder == top or top not in folder.parents:
                break
            folder = folder.parent
    return min(rooms, default=None)


def _room(limit: Path, usage: Path, statistics: Path, cache: str) -> int | None:
    try:
        text = limit.read_text().strip()
        if not text.isdigit():  # `max`: no limit
            return None
        used = int(usage.read_text())
        # Cached file pages count as used, yet the kernel drops them before it kills anything.
        used -= _statistic(statistics.read_text(), cache)
    except (OSError, ValueError):
        return None
    return max(0, int(text) - max(0, used))


def _statistic(text: str, name: str) -> int:
    fields = (line.split() for line in text.splitlines())
    return next((int(field[1]) for field in fields if len(field) == 2 and field[0] == name), 0)
