import unittest

from playlist import Playlist, Track, format_length

SUNRISE = Track("Sunrise", 180)
RIVER = Track("River", 245)
NIGHT = Track("Night", 61)


class LengthTest(unittest.TestCase):
    def test_lengths_have_minutes_and_seconds(self):
        self.assertEqual([t.length for t in (SUNRISE, RIVER, NIGHT)], ["3:00", "4:05", "1:01"])

    def test_long_lengths_have_hours(self):
        self.assertEqual(format_length(3723), "1:02:03")


class PlaylistTest(unittest.TestCase):
    def make(self):
        return Playlist("Day", [SUNRISE, RIVER, NIGHT])

    def test_a_track_is_added_at_the_end(self):
        playlist = self.make()
        playlist.add(SUNRISE)
        self.assertEqual(playlist.tracks[-1], SUNRISE)
        self.assertEqual(len(playlist), 4)

    def test_a_new_playlist_is_empty(self):
        Playlist("Morning").add(SUNRISE)
        self.assertEqual(len(Playlist("Evening")), 0)

    def test_all_tracks_of_a_title_are_removed(self):
        playlist = self.make()
        playlist.add(RIVER)
        self.assertEqual(playlist.remove("River"), 2)
        self.assertEqual(playlist.tracks, [SUNRISE, NIGHT])

    def test_a_track_is_moved(self):
        playlist = self.make()
        playlist.move(2, 0)
        self.assertEqual(playlist.tracks, [NIGHT, SUNRISE, RIVER])

    def test_the_first_track_follows_the_last(self):
        playlist = self.make()
        played = [playlist.next() for _ in range(3)]
        self.assertEqual(played, [RIVER, NIGHT, SUNRISE])

    def test_an_empty_playlist_plays_nothing(self):
        self.assertIsNone(Playlist("Silence", []).next())

    def test_the_listing_numbers_the_tracks(self):
        lines = self.make().listing().splitlines()
        self.assertEqual(lines[0], "Day (8:06)")
        self.assertEqual(lines[2], " 2. River 4:05")


if __name__ == "__main__":
    unittest.main()
