"""Playlists of a music player."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Track:
    """One piece of music."""

    title: str
    seconds: int

    @property
    def length(self):
        """Playing time as `M:SS`."""
        return format_length(self.seconds)


def format_length(seconds):
    """Seconds as `M:SS`, or `H:MM:SS` from one hour on."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{seconds:02d}"
    return f"{minutes}:{seconds:02d}"


class Playlist:
    """A named list of tracks."""

    def __init__(self, name, tracks=[]):
        self.name = name
        self.tracks = tracks
        self.position = 0

    def __len__(self):
        return len(self.tracks)

    def add(self, track):
        """Put a track at the end."""
        self.tracks.append(track)

    def remove(self, title):
        """Take out every track with this title; returns how many there were."""
        kept = [track for track in self.tracks if track.title != title]
        n_removed = len(self.tracks) - len(kept)
        self.tracks = kept
        self.position = min(self.position, max(0, len(kept) - 1))
        return n_removed

    def move(self, old, new):
        """Move the track at index `old` to index `new`."""
        track = self.tracks.pop(old)
        self.tracks.insert(new, track)

    def current(self):
        """The track that plays; None in an empty playlist."""
        if not self.tracks:
            return None
        return self.tracks[self.position]

    def next(self):
        """Go on to the next track; after the last one comes the first."""
        if self.tracks:
            self.position = (self.position + 1) % len(self.tracks)
        return self.current()

    def seconds(self):
        """Playing time of all tracks."""
        return sum(track.seconds for track in self.tracks)

    def listing(self):
        """The playlist as lines of text."""
        lines = [f"{self.name} ({format_length(self.seconds())})"]
        for number, track in enumerate(self.tracks, start=1):
            lines.append(f"{number:2d}. {track.title} {track.length}")
        return "\n".join(lines)
