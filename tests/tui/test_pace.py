from agspec_tui.tui.pace import LONGEST_S, SHARE, SHORTEST_S, Pace


def frames(cost_s, n=30):
    """Times between frames that cost so much."""
    pace, now, cpu, found = Pace(), 0.0, 0.0, []
    for _ in range(n):
        pace.begins(now, cpu)
        cpu += cost_s
        pace.ends(now, cpu)
        found.append(pace.due_s - now)
        now = pace.due_s
        cpu += 1.0  # between frames others may use the processor
    return found


def test_cheap_frames_come_as_often_as_eyes_can_use_them():
    assert all(abs(wait - SHORTEST_S) < 1e-9 for wait in frames(0.001))


def test_dear_frames_come_so_seldom_that_they_keep_to_their_share():
    assert abs(frames(0.015)[-1] - 0.015 / SHARE) < 0.01


def test_nobody_waits_longer_than_the_longest_time():
    assert abs(frames(0.2)[-1] - LONGEST_S) < 1e-9


def test_one_dear_frame_among_others_changes_little():
    pace = Pace()
    for cost_s in (*[0.002] * 10, 0.02, 0.002):
        pace.begins(0.0, 0.0)
        pace.ends(0.0, cost_s)
    assert pace.due_s == SHORTEST_S


def test_no_frame_is_due_while_one_is_drawn():
    pace = Pace()
    pace.begins(5.0, 1.0)
    assert pace.due_s == 5.0 + LONGEST_S
